/* Rules of Gopher against datatrove (scripts/oracle/gopher.py). */
#include "clean/gopher.c"

#include "../lib/tap.h"

#include <jansson.h>

/* datatrove's names of our rules, in our order */
static const char *const other[G_END] = { "dup_para_frac", "dup_para_char_frac",
    "dup_line_frac", "dup_line_char_frac", "top_2_gram", "top_3_gram",
    "top_4_gram", "duplicated_5_n_grams", "duplicated_6_n_grams",
    "duplicated_7_n_grams", "duplicated_8_n_grams", "duplicated_9_n_grams",
    "duplicated_10_n_grams", "gopher_short_doc", "gopher_long_doc",
    "gopher_below_avg_threshold", "gopher_above_avg_threshold",
    "gopher_too_many_hashes", "gopher_too_many_ellipsis",
    "gopher_too_many_bullets", "gopher_too_many_end_ellipsis",
    "gopher_below_alpha_threshold" };

static void
one_text(struct gopher_scratch *s, const json_t *j, int line)
{
    const json_t *text = json_object_get(j, "text");
    const json_t *want = json_object_get(j, "fractions");
    const char *p = json_string_value(text), *repetition = "", *quality = "";
    const size_t n = json_string_length(text);
    double v[G_END - G_REPETITION];
    int bad = 0;

    gopher_begin(s, p, n);
    for (int g = 0; g < G_REPETITION; g++) {
        const double got = gopher_measure(s, (enum gopher)g);

        if (!near(got, json_real_value(json_array_get(want, (size_t)g)), 2e-9,
                0.0)) {
            printf("# %s\n", gopher_name((enum gopher)g));
            bad++;
        }
        if (!*repetition && gopher_breaks((enum gopher)g, got))
            repetition = other[g];
    }
    ok(bad == 0, "line %d: fractions", line);
    ok(strcmp(repetition,
           json_string_value(json_object_get(j, "repetition"))) == 0,
        "line %d: repetition: %s", line, repetition);
    gopher_quality(p, n, v);
    for (int g = G_REPETITION; g < G_END && !*quality; g++)
        if (gopher_breaks((enum gopher)g, v[g - G_REPETITION]))
            quality = other[g];
    ok(strcmp(quality, json_string_value(json_object_get(j, "quality"))) == 0,
        "line %d: quality: %s", line, quality);
}

int
main(void)
{
    const char *top = getenv("RETORT_TOP");
    char path[4096];
    struct gopher_scratch *s = gopher_new();
    json_error_t je;
    json_t *j;
    FILE *f;
    int line = 0;

    snprintf(path, sizeof path, "%s/tests/golden/clean/gopher.jsonl",
        top ? top : ".");
    f = fopen(path, "r");
    ok(f != NULL, "the file opens");
    if (!f)
        return done_testing();
    while ((j = json_loadf(f, JSON_DISABLE_EOF_CHECK, &je)) != NULL) {
        one_text(s, j, ++line);
        json_decref(j);
    }
    ok(line == 80, "all of the file: %d", line);
    fclose(f);
    gopher_free(s);
    return done_testing();
}
