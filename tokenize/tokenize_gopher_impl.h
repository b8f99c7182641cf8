/* What the two files of Gopher's rules share; see tokenize_gopher.h:
 * tokenize_gopher.c has texts in memory, tokenize_gopher_parts.c in parts. */
#ifndef TOKENIZE_GOPHER_IMPL_H
#define TOKENIZE_GOPHER_IMPL_H

#include "tokenize_gopher.h"

#include "data/unicode.h"

#include <string.h>

struct slot {
    uint64_t key;
    uint32_t round, count;  /* of another round: free */
};

struct gopher_scratch {
    const char *text;
    size_t n, chars;
    struct slot *slot;
    size_t nslot;           /* a power of 2 */
    uint32_t round;
    uint64_t *word, *gram;  /* hashes of nword words, and of runs of them */
    uint32_t *len;          /* characters of each */
    size_t nword, cap;
};

struct quality {
    size_t words, real, real_chars, alphabetic;
    size_t hashes, ellipses, lines, bullets, cut;
};

static inline size_t
gopher_chars(const char *p, size_t n)
{
    size_t k = 0;

    for (size_t i = 0; i < n; i++)
        k += ((unsigned char)p[i] & 0xc0) != 0x80;
    return k;
}

/* Bytes of white space at p < end; 0: none. */
static inline size_t
gopher_space(const char *p, const char *end)
{
    size_t k = 1;

    if ((unsigned char)*p < 0x80)
        return (uni_class((unsigned char)*p) & U_S) != 0;
    return uni_class(uni_next((const unsigned char *)p,
        (const unsigned char *)end, &k)) & U_S ? k : 0;
}

static inline double
gopher_share(size_t part, size_t whole)
{
    return whole ? (double)part / (double)whole : 0.0;
}

static inline int
gopher_is_ellipsis(const char *p, size_t n)
{
    return n >= 3 && (memcmp(p, "...", 3) == 0 ||
        memcmp(p, "\xe2\x80\xa6", 3) == 0);
}

/* One more word: its hash and its characters. */
void gopher_add_word(struct gopher_scratch *s, uint64_t hash, size_t length);
/* gopher_measure of rules from G_TOP_2 on, of the words added. */
double gopher_grams(struct gopher_scratch *s, enum gopher g);

/* Classes (data/unicode.h) of characters of p[n], up to a letter, with those
 * seen before. */
unsigned gopher_classes(unsigned seen, const char *p, size_t n);
void gopher_judge_word(struct quality *q, unsigned seen, size_t length);
void gopher_shares(const struct quality *q,
    double value[G_END - G_REPETITION]);

#endif
