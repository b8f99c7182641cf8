/*
 * The passes of training: forward, which keeps what the backward pass needs,
 * and backward, block by block.
 *
 * Gradients are sums, not means: the caller scales once by 1/N.  Each row's
 * (sequence's) contribution is added in row order, so the bits depend neither
 * on how rows are grouped into calls nor on the number of threads.
 */
#ifndef MODEL_BACKWARD_H
#define MODEL_BACKWARD_H

#include "model/forward.h"
#include "model/tmodel.h"

/*
 * Activations kept for the backward pass of B rows.  BWD_RECOMPUTE: only the
 * inputs of blocks are kept.  BWD_BF16: all other kept activations are rounded
 * to bfloat16.  With both, recomputed activations are rounded as kept ones
 * would be, so that BWD_RECOMPUTE never changes a bit.
 */
enum { BWD_RECOMPUTE = 1, BWD_BF16 = 2 };
struct bwd;
/* Allocate room for B rows of T tokens; how: BWD_*.  For a model in pipeline
 * stages, only this rank's stages have room, each for stages_ahead pieces. */
struct bwd *bwd_new(struct tmodel *t, struct pool *pool, size_t B, size_t T,
    int how);
/* Relative error |rounded - x| / |x| of rounding to bf16, measured on the first
 * gate projection's output in the first forward pass; 0 without BWD_BF16. */
double bwd_rounding(const struct bwd *b);
/* Relative error of rounding to bf16, measured on the first block gradients
 * that were rounded. */
double bwd_grad_rounding(const struct bwd *b);
void bwd_free(struct bwd *b);
/* Bytes of memory that the passes touch.  tokens: of a step, from one bwd_flush
 * to the next.  A step holds back the gradients of at most that many rows of a
 * tied embedding; the buffers of other rows are never touched. */
size_t bwd_bytes(const struct bwd *b, size_t tokens);

/* Choose this rank's stage and the piece of the rows for the calls below (a
 * model without pipeline stages needs no call).  Returns the number, below
 * bwd_lanes, of the set of buffers that the piece uses: pieces whose backward
 * pass is still to come have different sets. */
size_t bwd_stage(struct bwd *b, size_t stage, size_t piece);
size_t bwd_lanes(const struct bwd *b);
/* Arrays [B,T,d] that stages pass on.  bwd_input: the stage's input, unless it
 * is the first, to be kept until its backward pass.  bwd_output: its output.
 * bwd_dx: before bwd_backward the gradient at its output, after it that at its
 * input. */
float *bwd_input(struct bwd *b);
const float *bwd_output(const struct bwd *b);
float *bwd_dx(struct bwd *b);

/* Forward through all blocks: after it bwd_hidden(b, i) is the output of
 * block i [B,T,d] and bwd_final(b) the normed final states. */
void bwd_forward(struct bwd *b, const struct rows *r);
const float *bwd_hidden(const struct bwd *b, size_t i);
float *bwd_final(struct bwd *b);
/* Scratch arrays [B,T,d] for the caller: both are free between bwd_forward and
 * bwd_backward, but only X inside `add`. */
enum bwd_spare { BWD_SPARE_X, BWD_SPARE_Y };
float *bwd_spare(struct bwd *b, enum bwd_spare which);
/* Backward: bwd_final now holds the gradient at the normed final states; add
 * (called before block i's backward, may be NULL) adds to dx [B,T,d], the
 * gradient at the output of block i.  Adds to the groups' g, including the
 * embedding's input side; the head's own gradient is added by the loss. */
void bwd_backward(struct bwd *b, const struct rows *r,
    void (*add)(void *ctx, size_t i, float *dx), void *ctx);
/* With a tied head, the gradient of the embedding's input side is held back and
 * added here, after all of the head's part, however the rows were grouped.
 * Call it after the last bwd_backward, before g is used; with t->take,
 * bwd_backward ends with it. */
void bwd_flush(struct bwd *b);

#endif
