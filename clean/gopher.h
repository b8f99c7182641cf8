/*
 * The rules of Gopher (Rae et al. 2021, arXiv:2112.11446, appendix A.1.1) on
 * repetition and quality, measured as datatrove does, with words as what
 * stands between white space.
 */
#ifndef CLEAN_GOPHER_H
#define CLEAN_GOPHER_H

#include <stddef.h>
#include <stdint.h>

/* In the order in which they are judged. */
enum gopher {
    G_DUP_PARAGRAPHS,      /* share of paragraphs that were there before */
    G_DUP_PARAGRAPH_CHARS, /* their characters, as a share of the text's */
    G_DUP_LINES,
    G_DUP_LINE_CHARS,
    G_TOP_2,
    G_TOP_3,
    G_TOP_4, /* characters of the most frequent 2-gram */
    G_DUP_5,
    G_DUP_6,
    G_DUP_7,
    G_DUP_8,
    G_DUP_9,
    G_DUP_10,
    G_REPETITION, /* number of those above */
    G_FEW_WORDS = G_REPETITION,
    G_MANY_WORDS,
    G_SHORT_WORDS,
    G_LONG_WORDS, /* characters a word */
    G_HASHES,
    G_ELLIPSES, /* a word */
    G_BULLETS,
    G_CUT_LINES,      /* share of lines that begin or end so */
    G_FEW_ALPHABETIC, /* share of words with a letter */
    G_END
};

/* A text's first words, by which repetition is measured. */
#define GOPHER_WORDS ((size_t)1 << 18)

struct gopher_scratch;
struct gopher_scratch *gopher_new(void);
void gopher_free(struct gopher_scratch *s);

/* The rule's name in reports, such as "dup-5-gram". */
const char *gopher_name(enum gopher g);
/* Does value break the rule? */
int gopher_breaks(enum gopher g, double value);

/* Prepare a text (UTF-8), then measure rules of repetition < G_REPETITION of
 * it, in any order. */
void gopher_begin(struct gopher_scratch *s, const char *text, size_t n);
double gopher_measure(struct gopher_scratch *s, enum gopher g);

/* value[g - G_FEW_WORDS] of all rules of quality; 0 where nothing divides. */
void gopher_quality(const char *text, size_t n,
    double value[G_END - G_REPETITION]);

#endif
