/* serve: requests as lm-eval 0.4.13 and EuroEval 16.11 send them
 * (tests/golden/serve) */
#include "client.h"

static const char model[] = "tests/golden/gguf/chat.gguf";
static int port;
static size_t chats, scored, cut;

/* Send a request.  The token of the byte 0, which jansson takes for the name of
 * no member, is read as that of the byte 1. */
static void
send_request(const char *path, const json_t *body, struct answer *a)
{
    char *text = json_dumps(body, 0);

    ask(port, path, text, a);
    for (char *p = a->body.p; p != NULL && (p = strstr(p, "\"\\u0000\"")); p++)
        p[6] = '1';
    json_decref(a->json);
    a->json = a->body.p != NULL ? json_loads(a->body.p, 0, NULL) : NULL;
    free(text);
}

/* Does generate run write the text of the answer to this chat? */
static int
written_alike(const json_t *body, const json_t *answer)
{
    char *line = json_dumps(body, 0), command[300];
    FILE *f = fopen("asked.jsonl", "w");
    const json_t *schema = member(body, "response_format.json_schema.schema");
    json_t *j;
    int same;

    fprintf(f, "%s\n", line);
    fclose(f);
    free(line);
    if (schema != NULL)
        json_dump_file(schema, "schema.json", 0);
    snprintf(command, sizeof command,
        "\"${BUILD:-build}/bin/generate\" run -q -m %s --prompts asked.jsonl "
        "%s >text",
        model, schema != NULL ? "--schema schema.json" : "");
    if (system(command) != 0 || (f = fopen("text", "r")) == NULL)
        return 0;
    j = json_loadf(f, JSON_DISABLE_EOF_CHECK, NULL);
    fclose(f);
    same = j != NULL &&
        json_equal(member(j, "text"),
            member(answer, "choices.0.message.content"));
    json_decref(j);
    return same;
}

/* Does choice k have what lm-eval reads: for each id of its prompt, and for the
 * one new token, a log probability and the most probable token?  The first id
 * has neither. */
static int
has_scores(const json_t *body, const json_t *answer, size_t k)
{
    char path[60];
    const json_t *logp, *top;
    const size_t n =
        json_array_size(json_array_get(member(body, "prompt"), k)) + 1;

    snprintf(path, sizeof path, "choices.%zu.logprobs.token_logprobs", k);
    logp = member(answer, path);
    snprintf(path, sizeof path, "choices.%zu.logprobs.top_logprobs", k);
    top = member(answer, path);
    if (json_array_size(logp) != n || json_array_size(top) != n ||
        !json_is_null(json_array_get(logp, 0)))
        return 0;
    for (size_t i = 1; i < n; i++)
        if (!(json_number_value(json_array_get(logp, i)) < 0.0) ||
            json_object_size(json_array_get(top, i)) == 0)
            return 0;
    return 1;
}

/* Has prompt k, asked for alone, the scores that it has in `answer`? */
static int
scored_alike(const json_t *body, const json_t *answer, size_t k)
{
    json_t *one = json_deep_copy(body);
    struct answer a;
    char path[60];
    int same;

    json_object_set_new(one, "prompt",
        json_deep_copy(json_array_get(member(body, "prompt"), k)));
    send_request("/v1/completions", one, &a);
    snprintf(path, sizeof path, "choices.%zu.logprobs", k);
    same = a.status == 200 &&
        json_equal(member(a.json, "choices.0.logprobs"), member(answer, path));
    answer_release(&a);
    json_decref(one);
    return same;
}

static void
test_scores(const json_t *body, const json_t *answer)
{
    const size_t n = json_array_size(member(body, "prompt"));
    size_t whole = 0, alike = 0;

    for (size_t k = 0; k < n; k++) {
        whole += (size_t)has_scores(body, answer, k);
        alike += (size_t)scored_alike(body, answer, k);
    }
    scored++;
    ok(n > 1 && whole == n, "request %zu for scores: each id of %zu has one",
        scored, n);
    ok(alike == n, "request %zu for scores: prompts alone have the same ones",
        scored);
}

static void
test_request(const json_t *line)
{
    const char *path = text_of(line, "path");
    const json_t *body = member(line, "body");
    struct answer a;

    send_request(path, body, &a);
    if (a.status != 200)
        printf("# %s: %d %s\n", path, a.status, a.body.p);
    if (strcmp(path, "/v1/chat/completions") == 0) {
        chats++;
        ok(a.status == 200 && written_alike(body, a.json),
            "chat %zu has the text that generate run writes", chats);
    } else if (strcmp(path, "/v1/completions") == 0) {
        test_scores(body, a.json);
    } else {
        cut++;
        ok(a.status == 200 && number_of(a.json, "count") > 4 &&
                (long long)json_array_size(member(a.json, "tokens")) ==
                    number_of(a.json, "count"),
            "text %zu is made into ids", cut);
    }
    answer_release(&a);
}

static void
test_file(FILE *f)
{
    json_t *line;

    while ((line = json_loadf(f, JSON_DISABLE_EOF_CHECK, NULL)) != NULL) {
        test_request(line);
        json_decref(line);
    }
    fclose(f);
}

int
main(void)
{
    const char *const args[] = { "-m", model, "--name", "M", NULL };
    FILE *lm_eval = fopen("tests/golden/serve/lm-eval.jsonl", "r");
    FILE *euroeval = fopen("tests/golden/serve/euroeval.jsonl", "r");
    struct server s;

    tap_scratch();
    if (lm_eval == NULL || euroeval == NULL) {
        printf("Bail out! tests/golden/serve lacks a file\n");
        return 1;
    }
    server_start(&s, args);
    port = s.port;
    test_file(lm_eval);
    ok(chats == 3 && scored == 3 && cut == 2,
        "all requests of lm-eval were sent");
    test_file(euroeval);
    ok(chats == 6, "all requests of EuroEval were sent");
    ok(server_end(&s, SIGTERM) == 0, "the server ends with status 0");
    return done_testing();
}
