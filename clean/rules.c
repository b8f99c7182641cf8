/* Rules for one text; see rules.h. */
#include "rules.h"

#include "text/count.h"

int
rules_any(const struct rules *r)
{
    return r->min_chars || r->max_chars || r->min_words || r->max_words ||
        r->repetition || r->quality;
}

static enum reason
judge_length(const struct rules *r, const char *text, size_t n, double *value)
{
    const size_t chars = count_chars(text, n), words = count_words(text, n);

    *value = (double)chars;
    if (chars < r->min_chars)
        return R_MIN_CHARS;
    if (r->max_chars && chars > r->max_chars)
        return R_MAX_CHARS;
    *value = (double)words;
    if (words < r->min_words)
        return R_MIN_WORDS;
    return r->max_words && words > r->max_words ? R_MAX_WORDS : R_NONE;
}

static enum reason
judge_gopher(enum gopher g, double measured, double *value)
{
    *value = measured;
    return gopher_breaks(g, measured) ? R_GOPHER + g : R_NONE;
}

enum reason
rules_judge(const struct rules *r, struct gopher_scratch *s, const char *text,
    size_t n, double *value)
{
    enum reason reason = R_NONE;
    double v[G_END];

    if (r->min_chars || r->max_chars || r->min_words || r->max_words)
        reason = judge_length(r, text, n, value);
    if (reason == R_NONE && r->quality) {
        gopher_quality(text, n, v + G_REPETITION);
        for (int g = G_REPETITION; g < G_END && reason == R_NONE; g++)
            reason = judge_gopher((enum gopher)g, v[g], value);
    }
    if (reason != R_NONE || !r->repetition)
        return reason;
    gopher_begin(s, text, n);
    for (int g = 0; g < G_REPETITION && reason == R_NONE; g++)
        reason = judge_gopher((enum gopher)g, gopher_measure(s, (enum gopher)g),
            value);
    return reason;
}
