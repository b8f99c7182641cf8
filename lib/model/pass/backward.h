/*
 * The passes of training.  The forward pass keeps what the backward pass needs;
 * the backward pass goes block by block.
 *
 * Gradients are sums, not means: the caller divides them once, at the end.  The
 * contributions of rows (sequences) are added in row order.  So the bits depend
 * neither on how rows are grouped into calls nor on the number of threads.
 */
#ifndef MODEL_BACKWARD_H
#define MODEL_BACKWARD_H

#include "model/pass/forward.h"
#include "model/pass/tmodel.h"

/*
 * How activations of B rows are kept for the backward pass.
 *   BWD_RECOMPUTE: only the inputs of blocks are kept; all other activations
 *   are recomputed.
 *   BWD_BF16: activations other than these inputs are rounded to bfloat16, also
 *   the recomputed ones.  So BWD_RECOMPUTE never changes a bit.
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
/* Bytes of memory that the passes touch.  tokens: how many tokens a step has,
 * from one bwd_flush to the next.  If the embedding is tied, gradients of at
 * most this many of its rows are held back in a step; the buffers of its other
 * rows are never touched. */
size_t bwd_bytes(const struct bwd *b, size_t tokens);

/* Choose this rank's stage, and the piece of the rows, for the calls below;
 * without pipeline stages no call is needed.  Returns which set of buffers,
 * 0..bwd_lanes-1, the piece uses: pieces whose backward pass is still to come
 * use different sets. */
size_t bwd_stage(struct bwd *b, size_t stage, size_t piece);
size_t bwd_lanes(const struct bwd *b);
/*
 * Arrays [B,T,d] that stages pass on.
 *   bwd_input: the caller puts the stage's input here (but for the model's
 *   first stage) and leaves it until the backward pass.
 *   bwd_output: the stage's output.
 *   bwd_dx: before bwd_backward the gradient of the stage's output, after
 *   bwd_backward the gradient of the stage's input.
 */
float *bwd_input(struct bwd *b);
const float *bwd_output(const struct bwd *b);
float *bwd_dx(struct bwd *b);

/* Run the stage's blocks (without pipeline stages all of them) forward: after
 * it bwd_hidden(b, i) is the output of block i [B,T,d] and, in the last stage,
 * bwd_final(b) the normed final states. */
void bwd_forward(struct bwd *b, const struct rows *r);
const float *bwd_hidden(const struct bwd *b, size_t i);
float *bwd_final(struct bwd *b);
/* From this call on the passes of a model with an adapter have its dropout.
 * key: the step's key of random numbers; NULL: no dropout, as after bwd_new. */
void bwd_dropout(struct bwd *b, const uint64_t *key);
/* Scratch arrays [B,T,d] for the caller: both between bwd_forward and
 * bwd_backward, only BWD_SPARE_X inside bwd_backward's `add`. */
enum bwd_spare { BWD_SPARE_X, BWD_SPARE_Y };
float *bwd_spare(struct bwd *b, enum bwd_spare which);
/* Load balance of mixtures of experts.  After bwd_keep_balance, bwd_forward
 * counts the tokens that experts get.  Then call bwd_balance for every row: it
 * returns the row's loss of load balance (balance.h; 0 without experts), and
 * bwd_backward adds `weight` times the gradient of this loss. */
void bwd_keep_balance(struct bwd *b);
double bwd_balance(struct bwd *b, size_t row, double weight);
/* Run the backward pass.  The caller has put the gradient of the normed final
 * states into bwd_final.  add (NULL: none) is called before block i's backward
 * pass, and adds to dx [B,T,d], the gradient of the output of block i.
 * Gradients are added to the groups' g, also the gradient of the embedding as
 * input; the loss itself adds the head's. */
void bwd_backward(struct bwd *b, const struct rows *r,
    void (*add)(void *ctx, size_t i, float *dx), void *ctx);
/* With a tied head, the gradient of the embedding as input is held back and
 * added here, after all of its gradient as head, so that bits do not depend on
 * how rows were grouped.  Call it after the last bwd_backward, before g is
 * used; with t->take, bwd_backward calls it at its end. */
void bwd_flush(struct bwd *b);

#endif
