/* How texts are sampled where nothing else is said. */
#include "gen/defaults.h"
#include "../lib/tap.h"

#include <string.h>
#include <sys/stat.h>

/* The defaults of a program for a model folder whose generation_config.json is
 * `text`; NULL: there is none. */
static int
read_of(enum defaults_of what, const char *text, struct sampling *s,
    struct err *e)
{
    FILE *f;

    mkdir("m", 0700);
    remove("m/generation_config.json");
    if (text != NULL && (f = fopen("m/generation_config.json", "w")) != NULL) {
        fputs(text, f);
        fclose(f);
    }
    return defaults_read(s, what, "m", e);
}

static int
is(const struct sampling *s, double temperature, size_t top_k, double top_p,
    double repetition)
{
    return s->temperature == temperature && s->top_k == top_k &&
        s->top_p == top_p && s->repetition == repetition && s->typical == 1.0;
}

static void
test_tables(void)
{
    static const char full[] = "{\"do_sample\": true, \"temperature\": 0.6, "
                               "\"top_k\": 20, \"top_p\": 0.8, \"min_p\": 0.1, "
                               "\"repetition_penalty\": 1.1, "
                               "\"max_new_tokens\": 2048, \"eos_token_id\": 2}";
    struct sampling s;
    struct err e;

    ok(read_of(DEFAULTS_RUN, NULL, &s, &e) == 0 && is(&s, 0, 0, 1, 1),
        "generate run takes the most probable token");
    ok(read_of(DEFAULTS_CHAT, NULL, &s, &e) == 0 && is(&s, 0.7, 0, 0.95, 1),
        "a chat has 0.7 and 0.95 where the model says nothing");
    ok(read_of(DEFAULTS_SERVE, NULL, &s, &e) == 0 && is(&s, 1, 0, 1, 1),
        "a server has 1 and 1 where the model says nothing");
    ok(read_of(DEFAULTS_RUN, full, &s, &e) == 0 && is(&s, 0, 0, 1, 1),
        "generate run does not look at the model");
    ok(read_of(DEFAULTS_CHAT, full, &s, &e) == 0 && is(&s, 0.6, 20, 0.8, 1.1) &&
            s.min_p == 0.1,
        "a chat has the model's values");
    ok(read_of(DEFAULTS_SERVE, full, &s, &e) == 0 &&
            is(&s, 0.6, 20, 0.8, 1.1) && s.min_p == 0.1,
        "a server has the model's values");
}

static void
test_do_sample(void)
{
    struct sampling s;
    struct err e;

    ok(read_of(DEFAULTS_CHAT,
           "{\"do_sample\": false, \"temperature\": 0.6, "
           "\"repetition_penalty\": 1.2}",
           &s, &e) == 0 &&
            is(&s, 0, 0, 0.95, 1.2),
        "do_sample false takes the most probable token");
    ok(read_of(DEFAULTS_CHAT, "{\"do_sample\": true, \"top_k\": 64}", &s, &e) ==
                0 &&
            is(&s, 1, 64, 1, 1),
        "do_sample true alone means 1 and 1");
    ok(read_of(DEFAULTS_CHAT, "{\"top_p\": null, \"temperature\": 0.3}", &s,
           &e) == 0 &&
            is(&s, 0.3, 0, 0.95, 1),
        "null is no value");
}

static void
test_refusals(void)
{
    static const struct {
        const char *text, *told;
    } bad[] = { { "{\"top_p\": 2}", "top_p" },
        { "{\"temperature\": \"warm\"}", "temperature" },
        { "{\"do_sample\": 3}", "do_sample" }, { "[", "m/generation" } };
    struct sampling s;
    struct err e;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ok(read_of(DEFAULTS_CHAT, bad[i].text, &s, &e) < 0 &&
                strstr(e.msg, bad[i].told) != NULL &&
                strstr(e.msg, "generation_config.json") != NULL,
            "a file with %s is refused by name", bad[i].text);
}

static void
test_fill(void)
{
    struct sampling s = SAMPLING_OPEN;
    const struct sampling by = { 0.5, 7, 0.6, 0.1, 0.9, 1.3, 0, 0, NULL, 0 };

    s.top_p = 0.2;
    defaults_fill(&s, &by);
    ok(s.temperature == 0.5 && s.top_k == 7 && s.top_p == 0.2 &&
            s.min_p == 0.1 && s.typical == 0.9 && s.repetition == 1.3,
        "options that are given stay, and the others are filled in");
}

int
main(void)
{
    test_tables();
    test_do_sample();
    test_refusals();
    test_fill();
    return done_testing();
}
