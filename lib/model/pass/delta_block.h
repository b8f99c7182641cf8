/* The gated delta rule (delta.h) as part of a block: forward in delta_block.c,
 * backward in delta_backward.c.  Private to lib/model. */
#ifndef MODEL_DELTA_BLOCK_H
#define MODEL_DELTA_BLOCK_H

#include "model/pass/backward_block.h"
#include "model/pass/delta.h"

/* Work space, f->room[ROOM_DELTA]. */
struct delta_room {
    float *mix, *rate;      /* [B,Tp,C], [B,Tp,2*values] */
    struct delta_weights w; /* of the block that is run */
};
struct delta_room *delta_room(const struct fwd *f);

/* Of the engine of batches (struct engine). */
void batch_rule(struct run *u);

/* For the backward pass: delta_mix adds the stage that computes mix and
 * rate again; delta_convolve_at computes the convolution of a token, before
 * SiLU. */
void delta_mix(struct run *u, const struct branch *in);
void delta_convolve_at(const struct run *u, const struct row *r, float *x);

/* States are computed again from kept ones, some tokens at a time; for that
 * each thread has room for about (16 + T / 16) states of DELTA_COLS columns. */
void delta_backward(struct run *u, const struct branch *in);

void delta_lay_back(struct grads *g, const struct fwd *f, size_t rows,
    size_t tokens, struct arena *a);

#endif
