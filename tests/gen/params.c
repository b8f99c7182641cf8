/* Parameters of requests, as OpenAI's and vLLM's clients send them. */
#include "gen/params.h"
#include "../lib/tap.h"

#include <string.h>

enum { V = 100 };

static const struct gen_params defaults = { .most = 16,
    .n = 1,
    .how = SAMPLING_DEFAULTS };

/* Read the parameters in the object `text`.  Returns 0, or -1 and *e. */
static int
read_text(const char *text, struct gen_params *p, struct err *e)
{
    json_t *j = json_loads(text, 0, NULL);
    int r;

    params_copy(p, &defaults);
    r = params_read(p, j, V, e);
    json_decref(j);
    return r;
}

static void
test_values(void)
{
    struct gen_params p, q;
    struct err e;

    ok(read_text("{\"max_tokens\": 7, \"min_tokens\": 2, \"n\": 3, \"seed\": 5,"
                 "\"temperature\": 0.5, \"top_p\": 0.9, \"top_k\": 40,"
                 "\"min_p\": 0.1, \"typical_p\": 0.8,"
                 "\"repetition_penalty\": 1.1, \"presence_penalty\": 1,"
                 "\"frequency_penalty\": -1, \"ignore_eos\": true,"
                 "\"skip_special_tokens\": true, \"user\": \"x\"}",
           &p, &e) == 0,
        "every number is read");
    ok(p.most == 7 && p.least == 2 && p.n == 3 && p.seed == 5 && p.past_eos &&
            p.hide_special && p.how.temperature == 0.5 && p.how.top_p == 0.9 &&
            p.how.top_k == 40 && p.how.min_p == 0.1 && p.how.typical == 0.8 &&
            p.how.repetition == 1.1 && p.how.presence == 1.0 &&
            p.how.frequency == -1.0 && !p.logprobs,
        "numbers have their values");
    params_release(&p);
    ok(read_text("{\"stop\": [\"a\", \"b\\n\"], \"stop_token_ids\": [1, 99],"
                 "\"logit_bias\": {\"9\": -100, \"3\": 2.5}, \"logprobs\": 2,"
                 "\"top_k\": -1}",
           &p, &e) == 0,
        "lists are read");
    params_copy(&q, &p);
    params_release(&p);
    ok(q.nstop == 2 && strcmp(q.stop[1], "b\n") == 0 && q.nend == 2 &&
            q.end[1] == 99 && q.how.biases == 2 && q.how.bias[0].id == 3 &&
            q.how.bias[0].add == 2.5f && q.logprobs && q.top == 2 &&
            q.how.top_k == 0,
        "a copy has the lists");
    params_release(&q);
    ok(read_text("{\"stop\": \"a\", \"logprobs\": true, \"top_logprobs\": 4,"
                 "\"max_completion_tokens\": 3, \"temperature\": null}",
           &p, &e) == 0 &&
            p.nstop == 1 && p.logprobs && p.top == 4 && p.most == 3,
        "the names of chat requests are read");
    params_release(&p);
    ok(read_text("{\"max_new_tokens\": 7}", &p, &e) == 0 && p.most == 7 &&
            read_text("{\"max_tokens\": 5, \"max_new_tokens\": 7}", &p, &e) ==
                0 &&
            p.most == 5,
        "max_new_tokens counts where max_tokens is missing");
    params_release(&p);
    ok(read_text("{\"logprobs\": false, \"stop\": null, \"n\": null}", &p,
           &e) == 0 &&
            !p.logprobs && p.nstop == 0 && p.n == 1,
        "null and false change nothing");
    params_release(&p);
}

static void
test_refused(void)
{
    static const char *const bad[] = { "{\"max_tokens\": -1}",
        "{\"max_tokens\": 1.5}", "{\"n\": 0}", "{\"n\": 100000}",
        "{\"seed\": \"x\"}", "{\"temperature\": -1}", "{\"temperature\": 1e-5}",
        "{\"top_p\": 0}", "{\"top_k\": -2}", "{\"min_p\": 1.1}",
        "{\"logprobs\": 1000}", "{\"logprobs\": \"a\"}", "{\"stop\": 3}",
        "{\"stop\": [\"\"]}", "{\"stop\": [1]}", "{\"stop_token_ids\": [100]}",
        "{\"stop_token_ids\": 1}", "{\"logit_bias\": {\"100\": 1}}",
        "{\"logit_bias\": {\"a\": 1}}", "{\"logit_bias\": {\"1\": \"a\"}}",
        "{\"logit_bias\": {\"1\": 101}}",
        "{\"logit_bias\": {\"1\": 1, \"01\": 1}}", "{\"logit_bias\": []}",
        "{\"ignore_eos\": 1}" };
    const size_t n = sizeof bad / sizeof *bad;
    size_t good = 0;

    for (size_t i = 0; i < n; i++) {
        const size_t name = strcspn(bad[i] + 2, "\"");
        struct gen_params p;
        struct err e;

        if (read_text(bad[i], &p, &e) < 0 && e.code == EX_INPUT &&
            strncmp(e.msg, bad[i] + 2, name) == 0 && e.msg[name] == ':')
            good++;
        else
            printf("# not refused by name: %s\n", bad[i]);
        params_release(&p);
    }
    ok(good == n, "a bad value is refused by its name: %zu of %zu", good, n);
}

int
main(void)
{
    test_values();
    test_refused();
    return done_testing();
}
