/* Latent attention (mla.h) as steps of a block's passes: forward in
 * mla_block.c, backward in mla_backward.c.  Private to lib/model. */
#ifndef MODEL_MLA_BLOCK_H
#define MODEL_MLA_BLOCK_H

#include "model/pass/backward_block.h"

/* From the normed rows u->f->xn compute a.qkv, ready for attention. */
void mla_block_heads(struct run *u);
/* Set u->mla.out, the input of W_O, from the outputs of heads, a.att. */
void mla_block_outputs(struct run *u);
/* For the backward pass: norm the latents again, as mla_block_heads did. */
void mla_block_norms(struct run *u);
/* The matrix that gives the latent of queries, or queries without a latent. */
const struct weight *mla_first_query(const struct run *u);

/* Set g->datt from g->mla.out, the gradient at W_O's input. */
void mla_block_outputs_back(struct run *u);
/* From g->dqkv, the gradient at heads before RoPE, compute dxn1 and the arrays
 * that mla_matrices and mla_vectors read. */
void mla_block_backward(struct run *u);
/* Call `add` for the gradient of each matrix k (dy [.,rows] with lddy, x
 * [.,cols] with ldx), and of each vector t. */
void mla_matrices(const struct run *u,
    void (*add)(void *ctx, int k, const float *dy, size_t lddy, const float *x,
        size_t ldx),
    void *ctx);
void mla_vectors(const struct run *u,
    void (*add)(void *ctx, int t, struct vec_grad how), void *ctx);

#endif
