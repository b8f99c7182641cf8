/*
 * The passes of training: forward, which keeps what the backward pass needs,
 * and backward, block by block.
 *
 * Gradients are sums, not means: the caller scales once by 1/N.  Each row's
 * (sequence's) contribution is added in row order, so how rows are grouped
 * into calls does not matter to the bit; nor does the thread count.
 */
#ifndef MODEL_BACKWARD_H
#define MODEL_BACKWARD_H

#include "model/forward.h"
#include "model/tmodel.h"

/*
 * Activations kept for the backward pass of B rows.  BWD_RECOMPUTE: only the
 * inputs of blocks are kept.  BWD_BF16: what is kept beside them is rounded to
 * bfloat16; with both, what is made anew is rounded as the kept would be, so
 * that BWD_RECOMPUTE never changes a bit.
 */
enum { BWD_RECOMPUTE = 1, BWD_BF16 = 2 };
struct bwd;
/* Room for B rows of T tokens; how: BWD_*.  Of a model in stages, room for this
 * rank's stages alone, each with as many pieces as stages_ahead says. */
struct bwd *bwd_new(struct tmodel *t, struct pool *pool, size_t B, size_t T,
    int how);
/* |rounded - x| / |x| over what the first gate gave in the first forward pass;
 * 0 without BWD_BF16. */
double bwd_rounding(const struct bwd *b);
/* |rounded - x| / |x| over the first block's gradients that were rounded to
 * bf16. */
double bwd_grad_rounding(const struct bwd *b);
void bwd_free(struct bwd *b);
/* Memory that it will have touched.  tokens: of a step, from one bwd_flush to
 * the next; of a tied embedding no more rows than these have a gradient that is
 * held back, and room for the others is never touched. */
size_t bwd_bytes(const struct bwd *b, size_t tokens);

/* Choose the stage of this rank and the piece of the rows that the calls below
 * work on (of a whole model the first stage, which needs no call).  Returns the
 * number, below bwd_lanes, of its room, which the pieces ahead of its backward
 * pass do not share. */
size_t bwd_stage(struct bwd *b, size_t stage, size_t piece);
size_t bwd_lanes(const struct bwd *b);
/* Arrays [B,T,d] that stages pass on: the input of the stage, where it is not
 * the first, until its backward pass; its output; and between their backward
 * passes the gradient, at the output before, and at the input after
 * bwd_backward. */
float *bwd_input(struct bwd *b);
const float *bwd_output(const struct bwd *b);
float *bwd_dx(struct bwd *b);

/* Forward through all blocks: after it bwd_hidden(b, i) is the output of
 * block i [B,T,d] and bwd_final(b) the normed final states. */
void bwd_forward(struct bwd *b, const struct rows *r);
const float *bwd_hidden(const struct bwd *b, size_t i);
float *bwd_final(struct bwd *b);
/* Room of [B,T,d] for the caller: between bwd_forward and bwd_backward all of
 * it, in `add` X alone. */
enum bwd_spare { BWD_SPARE_X, BWD_SPARE_Y };
float *bwd_spare(struct bwd *b, enum bwd_spare which);
/* Backward: bwd_final now holds the gradient at the normed final states; add
 * (called before block i's backward, may be NULL) adds to dx [B,T,d], the
 * gradient at the output of block i.  Adds to the groups' g, including the
 * embedding's input side; the head's own gradient is added by the loss. */
void bwd_backward(struct bwd *b, const struct rows *r,
    void (*add)(void *ctx, size_t i, float *dx), void *ctx);
/* With a tied head, what the input side adds to the embedding is held back
 * until here, so that it follows the whole of the head's part however the rows
 * were grouped.  Call it after the last bwd_backward, before g is used; with
 * t->take, bwd_backward ends with it. */
void bwd_flush(struct bwd *b);

#endif
