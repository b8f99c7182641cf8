/* How often each source counts in training: --weights. */
#ifndef BPE_WEIGHTS_H
#define BPE_WEIGHTS_H

#include "docs/inputs.h"

struct weights {
    uint64_t *factor; /* [nsource] its text counts factor / unit times */
    uint64_t unit;
    int equal; /* and as if each source had as many bytes */
    size_t n;  /* sources */
};

/* Read a list such as "equal,a=2,b=0.5"; NULL: all sources count once.
 * EX_USAGE.  Released by weights_release. */
int weights_parse(struct weights *w, const char *list, const struct inputs *in,
    struct err *e);
/* For `equal`, when bytes[n] of the sources are known: the source with most
 * bytes keeps its weight, each other's is multiplied by the quotient of the
 * bytes, rounded to 2^-20.  What is too much becomes 2^64 - 1. */
void weights_balance(struct weights *w, const uint64_t *bytes);
void weights_release(struct weights *w);

#endif
