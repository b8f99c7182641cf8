/* States of texts in `linear` blocks, for generation: the state of each value
 * head of the gated delta rule, and the rows that the convolution still spans.
 * A text's state has a fixed size and belongs to its last token, so texts
 * cannot share a common beginning.  Private to lib/model. */
#ifndef MODEL_TEXT_STATES_H
#define MODEL_TEXT_STATES_H

#include "model/pass/run.h"

struct text_states {
    const struct config *c;
    size_t *block; /* [L] index of a block among the `linear` blocks */
    float *state;  /* [texts,blocks,values] states (delta_state floats each) */
    float *window; /* [texts,blocks,rows,C] inputs of the convolution for the
                    * last `rows` tokens; position p is in row p % rows */
    size_t blocks;
};
/* Allocate for `texts` texts; nothing if no block of m is `linear`. */
void text_states_lay(struct text_states *d, const struct model *m, size_t texts,
    struct arena *a);

/* n rows of a tile, from row `row` on, that are tokens of a text from position
 * pos on. */
struct text_run {
    size_t text, row, n, pos;
};
/* Run the rule over n runs of different texts: from u->a.qkv to u->a.att. */
void text_states_rule(const struct text_states *d, struct run *u,
    const struct text_run *run, size_t n);
/* For the engine of generation.  text_states_before: the convolution's input
 * [C] for the token that comes `back` tokens before row `row`, which is of run
 * `run`; NULL: the text begins later.  text_states_keep: after the convolution
 * of n runs, copy their last inputs to the windows of their texts. */
const float *text_states_before(const struct text_states *d,
    const struct run *u, const struct text_run *run, size_t row, size_t back);
void text_states_keep(const struct text_states *d, struct run *u,
    const struct text_run *run, size_t n);

#endif
