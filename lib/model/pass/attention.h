/* Attention as part of a block: what latent attention and generation use of
 * it.  Private to lib/model. */
#ifndef MODEL_ATTENTION_H
#define MODEL_ATTENTION_H

#include "model/pass/run.h"

/* Of the engine of batches (struct engine). */
void batch_heads(struct run *u);
const float *batch_angles(const struct run *u, const struct row *r,
    size_t *position);
/* Set u->see of a block with attention. */
void batch_sight(struct run *u);
/* Position of a token (not padding) from the start of its stem, or of its piece
 * if it has no stem. */
size_t position(const struct fwd *f, const struct rows *r, size_t b, size_t t);

/* Turn q and k of a row [q | k | v] by its angles, and scale q as its position
 * asks (angles_query).  dir -1: qkv has gradients, which are turned back and
 * scaled. */
void turn_heads(const struct run *u, const struct row *r, float *qkv, int dir);

/* in->out = the product of W_O with the outputs of heads. */
void heads_output(struct run *u, const struct branch *in, const float *heads);

/* Run the heads backward: from g->datt to g->dqkv, the gradients of the rows of
 * a.qkv before they were turned. */
void heads_backward(struct run *u, const struct branch *in);
void attention_backward(struct run *u, const struct branch *in);

/* Attention of sequence b. */
struct attn attention_of(const struct run *u, size_t b);

#endif
