/*
 * The pre-tokenizer of DeepSeek-V3 and R1.  Its patterns are, one after
 * another,
 *
 *   \p{N}{1,3}
 *   [U+4E00-U+9FA5 U+3040-U+309F U+30A0-U+30FF]+
 *   [!-/:-@[-`{-~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+
 *   | ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
 *
 * each cutting the pieces that the pattern before it has made.  So the third
 * sees only a segment: a run of Chinese and Japanese characters, or of other
 * characters up to a number.  A run of characters that nothing matches
 * (controls, unassigned ones) is a piece.
 */
#include "tok/split.h"
#include "text/unicode.h"

/* Kinds of characters.  END: the segment ends before the character. */
enum kind { END, NUMBER, LETTER, SPACE, PUNCT, ODD };

/* A segment: whether it is Chinese or Japanese, and where the text ends. */
struct segment {
    const unsigned char *end; /* of the text */
    int han;
};

static int
is_han(uint32_t c)
{
    return (c >= 0x4e00 && c <= 0x9fa5) || (c >= 0x3040 && c <= 0x30ff);
}

/* The kind of the character at p, and its length, 0 at the end of the text. */
static enum kind
kind_at(const struct segment *s, const unsigned char *p, size_t *len)
{
    uint32_t c;
    unsigned cls;

    *len = 0;
    if (p == s->end)
        return END;
    *len = 1;
    c = *p < 0x80 ? *p : utf8_next(p, s->end, len);
    cls = uni_class(c);
    if (cls & U_N)
        return NUMBER;
    if (is_han(c) != s->han)
        return END;
    return cls & (U_L | U_M)               ? LETTER
        : cls & U_S                        ? SPACE
        : c != UTF8_BAD && uni_is_punct(c) ? PUNCT
                                           : ODD;
}

/* End of the run of at most `most` characters of this kind at p. */
static const unsigned char *
end_of_kind(const struct segment *s, const unsigned char *p, enum kind kind,
    size_t most)
{
    size_t k;

    for (; most > 0 && kind_at(s, p, &k) == kind; most--)
        p += k;
    return p;
}

static int
is_latin(unsigned char c)
{
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

/* End of \s*[\r\n]+|\s+(?!\S)|\s+ at p, where white space is. */
static const unsigned char *
end_of_space(const struct segment *s, const unsigned char *p)
{
    const unsigned char *const run = end_of_kind(s, p, SPACE, SIZE_MAX);
    const unsigned char *q = run;
    size_t k;
    enum kind next;

    while (q > p && q[-1] != '\r' && q[-1] != '\n')
        q--;
    if (q > p)
        return q;
    next = kind_at(s, run, &k);
    q = uni_before(run, p);
    return next == END || next == NUMBER || q == p ? run : q;
}

/* End of [\p{P}\p{S}]+[\r\n]* at p. */
static const unsigned char *
end_of_punct(const struct segment *s, const unsigned char *p)
{
    p = end_of_kind(s, p, PUNCT, SIZE_MAX);
    while (!s->han && p < s->end && (*p == '\r' || *p == '\n'))
        p++;
    return p;
}

/* End of a run of characters that no pattern matches.  A character right before
 * letters is not part of the run, but of the letters' match; if the character
 * at p is such a one, returns the end of that match. */
static const unsigned char *
end_of_odd(const struct segment *s, const unsigned char *p)
{
    const unsigned char *q = p;
    size_t k, k1;

    while (kind_at(s, q, &k) == ODD) {
        if (kind_at(s, q + k, &k1) == LETTER)
            return q > p ? q : end_of_kind(s, q + k, LETTER, SIZE_MAX);
        q += k;
    }
    return q;
}

size_t
split_deepseek(const unsigned char *p, const unsigned char *end)
{
    struct segment s = { end, 0 };
    size_t k, k1;
    enum kind kind = kind_at(&s, p, &k), next;
    const unsigned char *q = p + k;

    if (kind == END) {
        s.han = 1;
        kind = kind_at(&s, p, &k);
    }
    next = kind_at(&s, q, &k1);
    switch (kind) {
    case NUMBER: return (size_t)(end_of_kind(&s, p, NUMBER, 3) - p);
    case LETTER: return (size_t)(end_of_kind(&s, p, LETTER, SIZE_MAX) - p);
    case PUNCT:
        if (*p >= 0x80 || q == end || !is_latin(*q))
            return (size_t)(end_of_punct(&s, p) - p);
        while (q < end && is_latin(*q))
            q++;
        return (size_t)(q - p);
    case SPACE:
        if (next == LETTER && *p != '\r' && *p != '\n')
            return (size_t)(end_of_kind(&s, q, LETTER, SIZE_MAX) - p);
        if (next == PUNCT && *p == ' ')
            return (size_t)(end_of_punct(&s, q) - p);
        return (size_t)(end_of_space(&s, p) - p);
    default: return (size_t)(end_of_odd(&s, p) - p);
    }
}
