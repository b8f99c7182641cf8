/* How often each source counts in training: --weights. */
#ifndef BPE_WEIGHTS_H
#define BPE_WEIGHTS_H

#include "docs/inputs.h"

struct weights {
    uint64_t *factor; /* [n] a source's text counts factor / unit times */
    uint64_t unit;
    int equal; /* 1: weights_balance is to balance the sources by their bytes */
    size_t n;  /* number of sources */
};

/* Parse a list such as "equal,a=2,b=0.5"; NULL: all sources count once.  The
 * caller frees *w by weights_release.  0, or -1 and *e (EX_USAGE). */
int weights_parse(struct weights *w, const char *list, const struct inputs *in,
    struct err *e);
/* For `equal`, when the bytes [n] of the sources are known: multiply each
 * source's weight by the largest source's bytes / this source's bytes, rounded
 * to 2^-20.  A weight that overflows becomes 2^64 - 1. */
void weights_balance(struct weights *w, const uint64_t *bytes);
void weights_release(struct weights *w);

#endif
