/*
 * Gopher's rules on repetition and quality (Rae et al. 2021, arXiv:2112.11446,
 * appendix A.1.1), measured as datatrove does.  Words are separated by white
 * space.
 */
#ifndef CLEAN_GOPHER_H
#define CLEAN_GOPHER_H

#include <stddef.h>
#include <stdint.h>

/* Gopher's rules, those on repetition before those on quality.  clean applies
 * the rules on quality first, and each kind in this order. */
enum gopher {
    G_DUP_PARAGRAPHS,      /* share of paragraphs that repeat an earlier one */
    G_DUP_PARAGRAPH_CHARS, /* share of characters in repeated paragraphs */
    G_DUP_LINES,           /* share of lines that repeat an earlier one */
    G_DUP_LINE_CHARS,
    G_TOP_2, /* share of characters in the most frequent 2-gram */
    G_TOP_3,
    G_TOP_4,
    G_DUP_5, /* share of characters in 5-grams that occurred before */
    G_DUP_6,
    G_DUP_7,
    G_DUP_8,
    G_DUP_9,
    G_DUP_10,
    G_REPETITION, /* number of the rules above, which look for repetition */
    G_FEW_WORDS = G_REPETITION,
    G_MANY_WORDS,
    G_SHORT_WORDS,    /* mean characters of a word: lower limit */
    G_LONG_WORDS,     /* upper limit of the same mean */
    G_HASHES,         /* number of '#' over number of words */
    G_ELLIPSES,       /* number of ellipses over number of words */
    G_BULLETS,        /* share of lines that begin with a bullet */
    G_CUT_LINES,      /* share of lines that end with an ellipsis */
    G_FEW_ALPHABETIC, /* share of words with a letter */
    G_END
};

/* Repetition is measured on the first words of a text, up to this many. */
#define GOPHER_WORDS ((size_t)1 << 18)

struct gopher_scratch;
struct gopher_scratch *gopher_new(void);
void gopher_free(struct gopher_scratch *s);

/* The rule's name in reports, such as "dup-5-gram". */
const char *gopher_name(enum gopher g);
/* Does the value break rule g? */
int gopher_breaks(enum gopher g, double value);

/* gopher_begin takes a UTF-8 text, which must stay valid.  gopher_measure then
 * returns the text's value for rule g on repetition, g < G_REPETITION.  Rules
 * may come in any order. */
void gopher_begin(struct gopher_scratch *s, const char *text, size_t n);
double gopher_measure(struct gopher_scratch *s, enum gopher g);

/* Set value[g - G_FEW_WORDS] for all rules g on quality; 0 / 0 counts as 0. */
void gopher_quality(const char *text, size_t n,
    double value[G_END - G_REPETITION]);

#endif
