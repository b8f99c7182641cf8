/* States of texts in blocks with the gated delta rule, for generation: the
 * state of each value head, and the rows that the convolution still spans.  A
 * text's state has a fixed size and belongs to its last token, so texts cannot
 * share a common beginning.  Private to lib/model. */
#ifndef MODEL_DELTA_KV_H
#define MODEL_DELTA_KV_H

#include "model/pass/run.h"

struct delta_kv {
    const struct config *c;
    size_t *block; /* [L] index of a block among the blocks with the rule */
    float *state;  /* [texts,blocks,values] states (delta_state floats each) */
    float *window; /* [texts,blocks,conv-1,C] last rows, the oldest first */
    size_t blocks;
};
/* Allocate for `texts` texts; nothing if no block of m has the rule. */
void delta_kv_lay(struct delta_kv *d, const struct model *m, size_t texts,
    struct arena *a);

/* n rows of a tile, from row `row` on, that are tokens of a text from position
 * pos on. */
struct delta_run {
    size_t text, row, n, pos;
};
/* Run the rule over n runs of different texts: from u->a.qkv to u->a.att. */
void delta_kv_rule(const struct delta_kv *d, struct run *u,
    const struct delta_run *run, size_t n);

#endif
