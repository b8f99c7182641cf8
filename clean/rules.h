/* Rules that a text keeps or breaks by itself: its length, and Gopher's. */
#ifndef CLEAN_RULES_H
#define CLEAN_RULES_H

#include "reason.h"

struct rules {
    size_t min_chars, max_chars, min_words, max_words; /* 0: no bound */
    int repetition, quality;                           /* rules of Gopher */
};

/* Is any rule set? */
int rules_any(const struct rules *r);
/* The first rule that text[n] breaks, or R_NONE; *value: the measured number,
 * set if a rule is broken.  s is memory of the thread. */
enum reason rules_judge(const struct rules *r, struct gopher_scratch *s,
    const char *text, size_t n, double *value);

#endif
