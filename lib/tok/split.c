/*
 * Pre-tokenizers: scanners written by hand for the patterns in use, in one
 * pass, without backtracking beyond a run of white space.
 *
 * GPT-2:  's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+
 *         |\s+(?!\S)|\s+
 * cl100k: (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}
 *         | ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
 * Tekken: with U = [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}], W = the same with \p{Ll}
 *         instead of \p{Lu}\p{Lt}:
 *         [^\r\n\p{L}\p{N}]?U*W+|[^\r\n\p{L}\p{N}]?U+W*|\p{N}
 *         | ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
 * o200k:  Tekken's with \p{N}{1,3}, and (?i:'s|'t|'re|'ve|'m|'ll|'d)? behind
 *         both kinds of words
 */
#include "tok/split.h"
#include "text/unicode.h"

/* End of the run of characters whose class has a bit of mask (want 1) or has
 * none (want 0). */
static inline const unsigned char *
run_of(const unsigned char *p, const unsigned char *end, unsigned mask,
    unsigned want)
{
    size_t k;

    for (; p < end; p += k) {
        const unsigned c = uni_class_at(p, end, &k);

        if (want ? !(c & mask) : (c & mask))
            break;
    }
    return p;
}

/* Length of \s+(?!\S)|\s+ for white space at p: the whole run if the text ends
 * there or a character of class `cut` follows, else all but its last
 * character. */
static size_t
split_space(const unsigned char *p, const unsigned char *end, unsigned cut)
{
    const unsigned char *q = p, *last = p;
    size_t k;
    unsigned c = U_S;

    while (q < end && ((c = uni_class_at(q, end, &k)) & U_S)) {
        last = q;
        q += k;
    }
    if (q == end || (c & cut) || last == p)
        return (size_t)(q - p);
    return (size_t)(last - p);
}

size_t
split_contraction_i(const unsigned char *p, const unsigned char *end)
{
    const size_t n = (size_t)(end - p);

    if (n < 2)
        return 0;
    switch (p[1] | 0x20) {
    case 's':
    case 't':
    case 'm':
    case 'd': return p[1] < 0x80 ? 2 : 0;
    case 'r':
    case 'v': return n > 2 && (p[2] | 0x20) == 'e' ? 3 : 0;
    case 'l': return n > 2 && (p[2] | 0x20) == 'l' ? 3 : 0;
    }
    return n > 2 && p[1] == 0xc5 && p[2] == 0xbf ? 3 : 0;
}

size_t
split_contraction(const unsigned char *p, const unsigned char *end)
{
    const size_t n = split_contraction_i(p, end);

    for (size_t i = 1; i < n; i++)
        if (p[i] < 'a' || p[i] > 'z')
            return 0;
    return n;
}

static inline size_t
piece_gpt2(const unsigned char *p, const unsigned char *end, unsigned cut)
{
    const unsigned char *q = p;
    size_t k;
    unsigned c = uni_class_at(p, end, &k);

    if (c & cut)
        return k;
    if (*p == '\'') {
        const size_t n = split_contraction(p, end);

        if (n)
            return n;
    } else if (*p == ' ' && p + 1 < end) {
        size_t k1;
        const unsigned c1 = uni_class_at(p + 1, end, &k1);

        if (!(c1 & (U_S | cut))) {
            q = p + 1;
            c = c1;
            k = k1;
        }
    }
    if (c & U_S)
        return split_space(p, end, cut);
    if (c & U_L)
        q = run_of(q + k, end, U_L, 1);
    else if (c & U_N)
        q = run_of(q + k, end, U_N, 1);
    else
        q = run_of(q + k, end, U_L | U_N | U_S | cut, 0);
    return (size_t)(q - p);
}

/* Length of \s*[\r\n]+|\s+(?!\S)|\s+ at p. */
static size_t
split_space_lines(const unsigned char *p, const unsigned char *end)
{
    const unsigned char *q = run_of(p, end, U_S, 1);

    while (q > p && q[-1] != '\r' && q[-1] != '\n')
        q--;
    return q > p ? (size_t)(q - p) : split_space(p, end, 0);
}

/* Length of at most `most` characters of \p{N} at p. */
static inline size_t
split_numbers(const unsigned char *p, const unsigned char *end, size_t most)
{
    const unsigned char *q = p;
    size_t k;

    for (; most > 0 && q < end && (uni_class_at(q, end, &k) & U_N); most--)
        q += k;
    return (size_t)(q - p);
}

/* Length of the piece at p of the cl100k pattern, with at most `most` digits in
 * a number.  letter: the classes that count as letters: U_L, in Qwen 3.5 also
 * U_M. */
static inline size_t
piece_cl100k(const unsigned char *p, const unsigned char *end, size_t most,
    unsigned letter)
{
    const unsigned char *q;
    size_t k, k1 = 0;
    const unsigned c = uni_class_at(p, end, &k);
    unsigned c1 = U_S;

    if (*p == '\'') {
        const size_t n = split_contraction_i(p, end);

        if (n)
            return n;
    }
    if (c & letter)
        return (size_t)(run_of(p + k, end, letter, 1) - p);
    if (c & U_N)
        return split_numbers(p, end, most);
    if (p + k < end)
        c1 = uni_class_at(p + k, end, &k1);
    if (*p != '\r' && *p != '\n' && (c1 & letter))
        return (size_t)(run_of(p + k + k1, end, letter, 1) - p);
    q = p + k;
    if (c & U_S) {
        if (*p != ' ' || (c1 & (U_S | U_N)))
            return split_space_lines(p, end);
        q += k1;
    }
    q = run_of(q, end, letter | U_N | U_S, 0);
    while (q < end && (*q == '\r' || *q == '\n'))
        q++;
    return (size_t)(q - p);
}

/* Are all characters of p[n] \p{Lu} or \p{Lt}? */
static int
is_upper(const unsigned char *p, size_t n)
{
    const unsigned char *const end = p + n;

    return run_of(p, end, U_UP, 1) == end;
}

/* Length of U*W+|U+W* at p, 0: none. */
static size_t
split_tekken_word(const unsigned char *p, const unsigned char *end)
{
    const unsigned char *q = p, *both = NULL;
    unsigned c = 0;
    size_t k = 0;

    for (; q < end; q += k) {
        c = uni_class_at(q, end, &k);
        if (!(c & (U_L | U_M)) || (c & U_LOW))
            break;
        if (!(c & U_UP))
            both = q + k; /* a match of W+ may begin and end here */
    }
    if (q < end && (c & U_LOW)) {
        for (; q < end; q += k) {
            c = uni_class_at(q, end, &k);
            if (!(c & (U_L | U_M)) || (c & U_UP))
                break;
        }
        both = q;
    }
    return (size_t)((both ? both : q) - p);
}

/* n plus the length of the contraction at p + n, if there is one. */
static inline size_t
contracted(const unsigned char *p, const unsigned char *end, size_t n)
{
    return p + n < end && p[n] == '\'' ? n + split_contraction_i(p + n, end)
                                       : n;
}

/* Length of the piece at p of the Tekken pattern; o200k: of the o200k pattern,
 * with contractions and numbers of 3 digits. */
static inline size_t
piece_tekken(const unsigned char *p, const unsigned char *end, int o200k)
{
    const unsigned char *q = p;
    size_t k, n, k1;
    const unsigned c = uni_class_at(p, end, &k);

    if (c & U_N)
        return o200k ? split_numbers(p, end, 3) : k;
    if (c & U_L) {
        n = split_tekken_word(p, end);
        return o200k ? contracted(p, end, n) : n;
    }
    if (*p != '\r' && *p != '\n' && (n = split_tekken_word(p + k, end)) > 0) {
        /* The mark at p alone matches U*W+, which is tried before U+W*. */
        if ((c & U_M) && is_upper(p + k, n))
            return k;
        return o200k ? contracted(p, end, k + n) : k + n;
    }
    if (c & U_M)
        return o200k ? contracted(p, end, k) : k;
    if (c & U_S) {
        if (*p != ' ' || p + 1 == end ||
            (uni_class_at(p + 1, end, &k1) & (U_S | U_L | U_N)))
            return split_space_lines(p, end);
        q++;
    }
    q = run_of(q, end, U_L | U_N | U_S, 0);
    while (q < end && (*q == '\r' || *q == '\n' || *q == '/'))
        q++;
    return (size_t)(q - p);
}

size_t
split_piece(enum split kind, const unsigned char *p, const unsigned char *end)
{
    switch (kind) {
    case SPLIT_GPT2: return piece_gpt2(p, end, 0);
    case SPLIT_GPT2_DIGITS: return piece_gpt2(p, end, U_DIGIT);
    case SPLIT_CL100K: return piece_cl100k(p, end, 3, U_L);
    case SPLIT_CL100K_1: return piece_cl100k(p, end, 1, U_L);
    case SPLIT_QWEN35: return piece_cl100k(p, end, 1, U_L | U_M);
    case SPLIT_TEKKEN: return piece_tekken(p, end, 0);
    case SPLIT_O200K: return piece_tekken(p, end, 1);
    case SPLIT_DEEPSEEK: return split_deepseek(p, end);
    case SPLIT_NONE: break;
    }
    return (size_t)(end - p);
}
