/* serve: requests with echo are exact, others are computed in integers. */
#include "client.h"

#define QUANTISED "tests/golden/gguf/q4_1.gguf"

/* The choices of an answer as text; NULL: an error.  The caller frees it. */
static char *
choices_of(int port, const char *body)
{
    struct answer a;
    char *text = NULL;

    ask(port, "/v1/completions", body, &a);
    if (a.status == 200)
        text = json_dumps(member(a.json, "choices"), JSON_SORT_KEYS);
    answer_release(&a);
    return text;
}

/* 1: the choices of both servers are the same; 0: they differ; -1: an error. */
static int
same_choices(int a, int b, const char *body)
{
    char *x = choices_of(a, body), *y = choices_of(b, body);
    const int same = x && y ? strcmp(x, y) == 0 : -1;

    free(x);
    free(y);
    return same;
}

int
main(void)
{
    static const char *const usual[] = { "-m", QUANTISED, NULL };
    static const char *const all_exact[] = { "-m", QUANTISED, "--exact", NULL };
    static const char prompt[] = "{\"prompt\": [7, 40, 200, 3, 90, 120], "
                                 "\"max_tokens\": 6, \"temperature\": 0, "
                                 "\"ignore_eos\": true, \"logprobs\": 2}";
    static const char echo[] = "{\"prompt\": [7, 40, 200, 3, 90, 120], "
                               "\"max_tokens\": 6, \"temperature\": 0, "
                               "\"ignore_eos\": true, \"logprobs\": 2, "
                               "\"echo\": true}";
    struct server s, exact;

    tap_scratch();
    server_start(&s, usual);
    server_start(&exact, all_exact);
    ok(same_choices(s.port, exact.port, echo) == 1,
        "a request with echo has the bits of exact products");
    ok(same_choices(s.port, exact.port, prompt) == 0,
        "a request without echo is computed in integers");
    ok(same_choices(s.port, exact.port, echo) == 1,
        "a prompt that integers have computed is computed again for scores");
    ok(server_end(&s, SIGTERM) == 0 && server_end(&exact, SIGTERM) == 0,
        "servers with one and with two arithmetics end with status 0");
    return done_testing();
}
