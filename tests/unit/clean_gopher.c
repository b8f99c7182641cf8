/* Rules of Gopher against datatrove (scripts/oracle/gopher.py). */
#include "../../tokenize/tokenize_gopher.c"
#include "../../tokenize/tokenize_gopher_parts.c"
#include "../../tokenize/tokenize_keys.c"

#include "../tap.h"

#include <jansson.h>

/* datatrove's names of our rules, in our order */
static const char *const other[G_END] = {
    "dup_para_frac", "dup_para_char_frac", "dup_line_frac",
    "dup_line_char_frac", "top_2_gram", "top_3_gram", "top_4_gram",
    "duplicated_5_n_grams", "duplicated_6_n_grams", "duplicated_7_n_grams",
    "duplicated_8_n_grams", "duplicated_9_n_grams", "duplicated_10_n_grams",
    "gopher_short_doc", "gopher_long_doc", "gopher_below_avg_threshold",
    "gopher_above_avg_threshold", "gopher_too_many_hashes",
    "gopher_too_many_ellipsis", "gopher_too_many_bullets",
    "gopher_too_many_end_ellipsis", "gopher_below_alpha_threshold"
};

/* In parts of some characters all is as it is in one. */
static int
parts_differ(struct gopher_scratch *s, const char *p, size_t n, size_t most)
{
    struct gopher_parts *g = gopher_parts_new(s);
    double got[G_END], want[G_END];
    size_t nchars, nwords, chars, words;
    struct err e;
    int bad = 0;

    for (size_t i = 0, k; i < n; i += k) {
        for (k = most; i + k < n && ((unsigned char)p[i + k] & 0xc0) == 0x80;
            k++)
            ;
        k = i + k < n ? k : n - i;
        bad |= gopher_part(g, p + i, k, &e) < 0;
    }
    bad |= gopher_parts_end(g, &nchars, &nwords, got, &e) < 0;
    gopher_parts_free(g);
    gopher_begin(s, p, n);
    for (int i = 0; i < G_REPETITION; i++)
        want[i] = gopher_measure(s, (enum gopher)i);
    gopher_quality(p, n, want + G_REPETITION);
    for (int i = 0; i < G_END; i++)
        if (memcmp(&got[i], &want[i], sizeof *got) != 0) {
            printf("# parts of %zu: %s: %g, not %g\n", most,
                gopher_name((enum gopher)i), got[i], want[i]);
            bad = 1;
        }
    gopher_count(p, n, &chars, &words);
    return bad || nchars != chars || nwords != words;
}

/* A text of more words than are measured, with lines and paragraphs that come
 * again and lines of white space. */
static void
long_text(struct gopher_scratch *s)
{
    static const char *const end[] = { " ", "\n", "... ", "\n\n", " \n", "  ",
        "\xe2\x80\xa6\n", " # ", "\n- ", "\n\xc2\xa0\n", "\n\n\n\t\n" };
    struct buf b = { 0 };
    uint64_t x = 1;

    buf_adds(&b, "\n\n");
    for (size_t i = 0; i < GOPHER_WORDS + 5000; i++) {
        x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
        buf_addf(&b, "w\xc3\xa4%u%s", (unsigned)(x >> 33) % 300,
            end[(x >> 50) % 11]);
    }
    ok(!parts_differ(s, b.p, b.n, 4096), "a long text in parts");
    ok(!parts_differ(s, b.p, b.n, 77), "in small ones");
    buf_release(&b);
}

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

        if (!near(got, json_real_value(json_array_get(want, (size_t)g)),
            2e-9, 0.0)) {
            printf("# %s\n", gopher_name((enum gopher)g));
            bad++;
        }
        if (!*repetition && gopher_breaks((enum gopher)g, got))
            repetition = other[g];
    }
    ok(bad == 0, "line %d: fractions", line);
    ok(strcmp(repetition, json_string_value(json_object_get(j,
        "repetition"))) == 0, "line %d: repetition: %s", line, repetition);
    gopher_quality(p, n, v);
    for (int g = G_REPETITION; g < G_END && !*quality; g++)
        if (gopher_breaks((enum gopher)g, v[g - G_REPETITION]))
            quality = other[g];
    ok(!parts_differ(s, p, n, 1) && !parts_differ(s, p, n, 7),
        "line %d: in parts", line);
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
    long_text(s);
    gopher_free(s);
    return done_testing();
}
