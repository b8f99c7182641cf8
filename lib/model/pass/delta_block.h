/* The gated delta rule (delta.h) as steps of a block's passes: forward in
 * delta_block.c, backward in delta_backward.c.  Private to lib/model. */
#ifndef MODEL_DELTA_BLOCK_H
#define MODEL_DELTA_BLOCK_H

#include "model/pass/backward_block.h"

/* From the products of a block in a.qkv, rows of delta_raw numbers, compute the
 * heads' outputs, a.att, and f->gated, the input of W_DELTA_OUT. */
void delta_block_forward(struct run *u);

/* For the backward pass: delta_block_mix computes f->mix and f->rate again;
 * delta_convolve_at computes the convolution of a token, before SiLU. */
void delta_block_mix(struct run *u);
void delta_convolve_at(const struct run *u, size_t b, size_t t, float *x);

/* Run the rule backward.  From g->datt, the gradient of f->gated, set g->dqkv,
 * the gradient of the products; compute f->gated again, and the arrays that
 * delta_vectors and delta_conv_grad read.  States are computed again from kept
 * ones, some tokens at a time; for that each thread has room for about (16 + T
 * / 16) states of DELTA_COLS columns. */
void delta_block_backward(struct run *u);
/* delta_vectors: call add(ctx, t, how) for the gradient of each vector t but
 * the convolution's (struct vec_grad).  delta_conv_grad: add the gradient of
 * the convolution's taps. */
void delta_vectors(const struct run *u,
    void (*add)(void *ctx, int t, struct vec_grad how), void *ctx);
void delta_conv_grad(struct run *u);

/* Allocate the arrays for padded `rows` and `tokens` in rows of T, and room for
 * `threads` threads; nothing if no block has the rule. */
void delta_lay_grads(struct delta_grads *g, const struct config *c, size_t rows,
    size_t tokens, size_t T, size_t threads, struct arena *a);

#endif
