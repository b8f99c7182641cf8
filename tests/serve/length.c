/* serve: longrope and dynamic RoPE follow the length of each text: it is the
 * same beside other texts, alone in a server with another --longest, and
 * written by generate run. */
#include "client.h"

enum { TEXTS = 4 };

static const char file[] = "p.jsonl";
static const char served[] =
    ", \"logprobs\": 2, \"return_tokens_as_token_ids\": true, "
    "\"skip_special_tokens\": false";

/* Request number i: a text that stays short, one that becomes long, one whose
 * prompt is long, and one with scores of its prompt that becomes long.  more:
 * further members, or "". */
static char *
body_of(size_t i, const char *more)
{
    static const int words[TEXTS] = { 0, 1, 3, 0 },
                     n[TEXTS] = { 8, 60, 30, 40 };
    struct buf b = { 0 };

    buf_addf(&b, "{\"prompt\": \"The river");
    for (int k = 0; k < words[i]; k++)
        buf_addf(&b, " and the other river");
    buf_addf(&b,
        "\", \"max_tokens\": %d, \"temperature\": 0, \"ignore_eos\": "
        "true, " NO_NUL "%s%s}\n",
        n[i], more, i == 3 ? ", \"echo\": true" : "");
    return b.p;
}

static char *
choices_of(const struct answer *a)
{
    return json_dumps(member(a->json, "choices"), JSON_SORT_KEYS);
}

/* Ask for all texts at once; want: choices of each. */
static void
ask_together(int port, char *want[TEXTS])
{
    int fd[TEXTS];

    for (size_t i = 0; i < TEXTS; i++) {
        char *body = body_of(i, served);

        fd[i] = dial(port);
        put_request(fd[i], "/v1/completions", "", body);
        free(body);
    }
    for (size_t i = 0; i < TEXTS; i++) {
        struct answer a;

        get_answer(fd[i], &a);
        close(fd[i]);
        want[i] = choices_of(&a);
        answer_release(&a);
    }
}

/* Does generate run write this text for request i? */
static int
written_alike(const char *kind, size_t i, const char *text)
{
    char *body = body_of(i, ""), command[200];
    FILE *f = fopen(file, "w");
    json_t *j;
    int same;

    fputs(body, f);
    fclose(f);
    free(body);
    snprintf(command, sizeof command,
        "\"${BUILD:-build}/bin/generate\" run -q -m %s --prompts %s >text",
        kind, file);
    if (system(command) != 0 || (f = fopen("text", "r")) == NULL)
        return 0;
    j = json_loadf(f, JSON_DISABLE_EOF_CHECK, NULL);
    fclose(f);
    same = j != NULL && strcmp(text_of(j, "text"), text) == 0;
    json_decref(j);
    return same;
}

static void
test_kind(const char *kind)
{
    const char *const wide[] = { "-m", kind, "--longest", "128", NULL };
    const char *const narrow[] = { "-m", kind, "--longest", "90", "--at-once",
        "1", "--slice", "7", NULL };
    struct server s, t;
    char *want[TEXTS], command[200];
    size_t same = 0, written = 0;

    snprintf(command, sizeof command,
        ". tests/lib/by_length.sh && by_length " SMALL_MODEL " %s", kind);
    if (system(command) != 0) {
        printf("Bail out! no model\n");
        exit(1);
    }
    server_start(&s, wide);
    server_start(&t, narrow);
    ask_together(s.port, want);
    for (size_t i = 0; i < TEXTS; i++) {
        char *body = body_of(i, served), *alone;
        struct answer a;

        ask(t.port, "/v1/completions", body, &a);
        alone = choices_of(&a);
        same +=
            a.status == 200 && want[i] != NULL && strcmp(alone, want[i]) == 0;
        if (i < 3)
            written +=
                written_alike(kind, i, text_of(a.json, "choices.0.text"));
        answer_release(&a);
        free(alone);
        free(body);
        free(want[i]);
    }
    ok(same == TEXTS,
        "%s: %zu of %d texts are the same beside others and alone with "
        "another --longest",
        kind, same, TEXTS);
    ok(written == 3, "%s: %zu of 3 texts are those of generate run", kind,
        written);
    ok(server_end(&s, SIGTERM) == 0 && server_end(&t, SIGTERM) == 0,
        "%s: the servers end with status 0", kind);
}

int
main(void)
{
    tap_scratch();
    test_kind("longrope");
    test_kind("dynamic");
    return done_testing();
}
