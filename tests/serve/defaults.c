/* serve: how texts are sampled where a request does not say it. */
#include "client.h"

/* The text of a completion with these members more, of a server that was
 * started for a model; the caller frees it. */
static char *
text_by(const char *model, const char *more)
{
    const char *const args[] = { "-m", model, NULL };
    struct server s;
    struct answer a;
    char *body, *text;

    server_start(&s, args);
    body = xasprintf("{\"prompt\": \"The river\", \"max_tokens\": 24, "
                     "\"seed\": 3, %s%s}",
        NO_NUL, more);
    ask(s.port, "/v1/completions", body, &a);
    text = xstrdup(text_of(a.json, "choices.0.text"));
    answer_release(&a);
    free(body);
    server_end(&s, SIGTERM);
    return text;
}

int
main(void)
{
    char *plain, *one, *greedy, *still, *drawn;
    FILE *f;

    if (system("cp -r " SMALL_MODEL " still.serve") != 0 ||
        (f = fopen("still.serve/generation_config.json", "w")) == NULL)
        return 1;
    fputs("{\"do_sample\": false, \"temperature\": 0.5}", f);
    fclose(f);
    plain = text_by(SMALL_MODEL, "");
    one = text_by(SMALL_MODEL, ", \"temperature\": 1, \"top_p\": 1");
    greedy = text_by(SMALL_MODEL, ", \"temperature\": 0");
    still = text_by("still.serve", "");
    drawn = text_by("still.serve", ", \"temperature\": 1");
    ok(strcmp(plain, one) == 0, "a model that says nothing has 1 and 1");
    ok(strcmp(plain, greedy) != 0, "that is not the most probable text");
    ok(strcmp(still, greedy) == 0, "do_sample false is greedy");
    ok(strcmp(drawn, one) == 0, "a request overrides the model");
    free(plain);
    free(one);
    free(greedy);
    free(still);
    free(drawn);
    return done_testing();
}
