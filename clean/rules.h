/* Rules that need only the text itself: on its length, and Gopher's. */
#ifndef CLEAN_RULES_H
#define CLEAN_RULES_H

#include "reason.h"

struct rules {
    size_t min_chars, max_chars, min_words, max_words; /* 0: no bound */
    int repetition, quality; /* apply Gopher's rules of that kind */
};

/* Is any rule set? */
int rules_any(const struct rules *r);
/* Returns the first rule that text[n] breaks, with the measurement in *value,
 * or R_NONE.  s: scratch memory of the calling thread. */
enum reason rules_judge(const struct rules *r, struct gopher_scratch *s,
    const char *text, size_t n, double *value);

#endif
