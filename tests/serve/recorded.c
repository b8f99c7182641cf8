/* serve: requests as lm-eval 0.4.13 and EuroEval 16.11 send them
 * (tests/golden/serve) */
#include "client.h"

#include <math.h>

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

/* ---- three prompts of one task, as HPLT-E scores them ---- */

enum { PROMPTS = 3, ITEMS = 8 };

/* Return the sum of the log probabilities of the ids of choice k from number
 * `from` on.  The last one does not count: serve wrote it, it was not asked
 * for. */
static double
sum_of(const json_t *answer, size_t k, size_t from)
{
    char path[60];
    const json_t *logp;
    double sum = 0.0;

    snprintf(path, sizeof path, "choices.%zu.logprobs.token_logprobs", k);
    logp = member(answer, path);
    for (size_t i = from; i + 1 < json_array_size(logp); i++)
        sum += json_number_value(json_array_get(logp, i));
    return sum;
}

/* Score the answers as lm-eval does: acc [PROMPTS] becomes the share of items
 * whose right choice is the more probable one.  Returns the number of choices
 * whose log probability is within 1e-5, relative, of what lm-eval logged. */
static size_t
read_scores(json_t *const *answers, double *acc)
{
    FILE *f = fopen("tests/golden/serve/prompts.tsv", "r");
    double sum[PROMPTS][ITEMS][2] = { { { 0 } } };
    size_t right[PROMPTS][ITEMS] = { { 0 } }, n = 0;
    size_t p, item, choice, is, request, k, from;
    char line[200];
    double logp;

    while (f != NULL && fgets(line, sizeof line, f))
        if (sscanf(line, "copa_p%zu %zu %zu %zu %zu %zu %zu %lf", &p, &item,
                &choice, &is, &request, &k, &from, &logp) == 8) {
            sum[p][item][choice] = sum_of(answers[request], k, from);
            right[p][item] = is ? choice : right[p][item];
            n += fabs(sum[p][item][choice] / logp - 1) <= 1e-5;
        }
    if (f != NULL)
        fclose(f);
    for (p = 0; p < PROMPTS; p++)
        for (item = 0; item < ITEMS; item++)
            acc[p] +=
                (sum[p][item][right[p][item]] > sum[p][item][!right[p][item]]) /
                (double)ITEMS;
    return n;
}

/* The figure acc that evaltask gives `source`: (best) or (median). */
static double
evaltask_acc(const char *source)
{
    FILE *f = fopen("scores", "r");
    char line[1000], name[100];
    double acc = NAN, x;

    while (f != NULL && fgets(line, sizeof line, f))
        if (sscanf(line, "%*s %99s %*s %*s %*s %*s %lf", name, &x) == 2 &&
            strcmp(name, source) == 0)
            acc = x;
    if (f != NULL)
        fclose(f);
    return acc;
}

/* Score the same items by evaltask, with a form for each of the three prompts;
 * its table becomes the file scores.  Returns 0 if it ends with status 0. */
static int
run_evaltask(void)
{
    static const char *const contexts[PROMPTS] = { "{premise}",
        "{premise} {question}:", "{question}:" };
    char command[600];

    for (size_t p = 0; p < PROMPTS; p++) {
        char name[20];
        FILE *f;

        snprintf(name, sizeof name, "copa_p%zu.form", p);
        if ((f = fopen(name, "w")) == NULL)
            return -1;
        fprintf(f,
            "kind choice\ncontext %s\nchoice {choice1}\nchoice {choice2}\n"
            "answer {label}\n",
            contexts[p]);
        fclose(f);
    }
    snprintf(command, sizeof command,
        "items=tests/golden/serve/prompts-items.jsonl; "
        "\"${BUILD:-build}/bin/evaltask\" -q -m %s --format tsv "
        "--task copa_p0.form=$items --task copa_p1.form=$items "
        "--task copa_p2.form=$items >scores",
        model);
    return system(command);
}

static void
test_prompts(FILE *f)
{
    json_t *answers[8] = { NULL }, *line;
    double acc[PROMPTS] = { 0 }, best, middle;
    size_t n = 0, near;

    while (
        n < 8 && (line = json_loadf(f, JSON_DISABLE_EOF_CHECK, NULL)) != NULL) {
        struct answer a;

        send_request(text_of(line, "path"), member(line, "body"), &a);
        answers[n++] = json_incref(a.json);
        answer_release(&a);
        json_decref(line);
    }
    fclose(f);
    near = n == 6 ? read_scores(answers, acc) : 0;
    ok(near == 2 * PROMPTS * ITEMS,
        "answers to 6 requests have the %zu log probabilities that lm-eval "
        "logged",
        near);
    while (n > 0)
        json_decref(answers[--n]);
    best = fmax(acc[0], fmax(acc[1], acc[2]));
    middle =
        acc[0] + acc[1] + acc[2] - best - fmin(acc[0], fmin(acc[1], acc[2]));
    ok(best == 0.625 && middle == 0.5,
        "the best and the median of three prompts are lm-eval's (%g, %g)", best,
        middle);
    ok(run_evaltask() == 0 && evaltask_acc("(best)") == best &&
            evaltask_acc("(median)") == middle,
        "evaltask has the same best and median");
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
    FILE *prompts = fopen("tests/golden/serve/prompts.jsonl", "r");
    struct server s;

    tap_scratch();
    if (lm_eval == NULL || euroeval == NULL || prompts == NULL) {
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
    test_prompts(prompts);
    ok(server_end(&s, SIGTERM) == 0, "the server ends with status 0");
    return done_testing();
}
