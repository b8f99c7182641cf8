/*
 * What generation keeps of each text for `linear` blocks, which have no keys
 * and values: the states of the gated delta rule, one for each value head, and
 * the last inputs of the convolution.  Their size does not grow with the text.
 * They describe the text up to its last token only, so two texts cannot share
 * them for a common beginning.  Private to lib/model.
 */
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

/* n tokens of one text that lie in rows row..row+n-1 of a tile.  The first of
 * them has position pos in the text. */
struct text_run {
    size_t text, row, n, pos;
};
/* Run the gated delta rule over n runs of different texts.  It reads u->a.qkv,
 * updates the states, and writes u->a.att. */
void text_states_rule(const struct text_states *d, struct run *u,
    const struct text_run *run, size_t n);
/* The convolution's input [C] of the token that is `back` tokens before the one
 * in row `row`, which belongs to `run`.  NULL: the text has no such token. */
const float *text_states_before(const struct text_states *d,
    const struct run *u, const struct text_run *run, size_t row, size_t back);
/* Save the last inputs of the convolution of each of n runs, because the
 * convolution of the next tokens of that text reads them.  Call it after the
 * convolution of these runs. */
void text_states_keep(const struct text_states *d, struct run *u,
    const struct text_run *run, size_t n);

#endif
