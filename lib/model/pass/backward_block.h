/* The backward pass of one block.  Private to lib/model. */
#ifndef MODEL_BACKWARD_BLOCK_H
#define MODEL_BACKWARD_BLOCK_H

#include "model/pass/backward.h"
#include "model/pass/forward_block.h"

/* Gradients in the gated delta rule's backward pass (delta_block.h). */
struct delta_grads {
    float *dmix;  /* [B,Tp,C] of mix, then of the convolution's outputs */
    float *drate; /* [B,Tp,2*values] of decays and betas */
    float *dlog;  /* [B,Tp,values] each token's term for W_DELTA_LOG */
    float *dnorm; /* [B,Tp,values*dv] of the outputs of heads' norms */
    float *rstd;  /* [B,T,values] 1/rms in heads' norms */
    float **room; /* [threads] room for states */
};
/* Gradients within one block, [B,Tp,d] (padded) unless stated.  The gradients
 * of gate and up overwrite u->a.gate and u->a.up, which no later step reads.
 * u->act holds the gradient of act, then act itself, computed again. */
struct grads {
    float *dy;           /* of the block's output: dx, padded */
    float *dxn;          /* of norm2's output, kept for norm2's weight */
    float *dx2;          /* of the residual stream after attention */
    float *ddown, *dout; /* of the outputs of down and o; without norms and
                          * factors after them the same arrays as dy and dx2 */
    float *rstd_att, *rstd_mlp; /* [B,T] 1/rms in the norms after o and down;
                                 * NULL: no such norms */
    float *datt;                /* [B,Tp,att_width] */
    float *dqkv;                /* [B,Tp,raw_width] */
    float *dk, *dv;             /* [B,H,Tp,D] each query head's term */
    float *dxn1;                /* of norm1's output; lies in f->out, which is
                                 * free by then */
    float *xn1;                 /* norm1's output, recomputed; norm2's is in
                                 * f->xn */
    float *rstd1, *rstd2;       /* [B,T] */
    float *dheads;     /* [B,Tp,(H+KV)D] of the outputs of heads' norms; NULL:
                        * no such norms */
    float *rstd_heads; /* [B,T,H+KV] 1/rms in heads' norms, or NULL */
    struct delta_grads delta;
    struct mla_room mla; /* gradients of the arrays of u->mla */
    float *rstd_latent;  /* [B,T,2] 1/rms in latents' norms; NULL: no latents */
    float *dz;           /* [B,Tp,E] of the router's logits, or NULL */
    float *dshared;      /* [B,Tp] of the logit of the shared expert's gate, or
                       * NULL */
    float *dsink;        /* [B,Tp,H] each query's term of the gradient of the
                       * sinks; NULL: no sinks */
    const double *dp; /* [B,E] gradient of the loss of load balance with respect
                       * to the router's scores, the same for each token of a
                       * row; NULL: none */
    float *low;       /* [B,Tp,low_width] of scale A x of adapters, times scale;
                       * NULL: no adapters */
    float *again;     /* [B,Tp,.] a matrix's outputs before DoRA's factors,
                       * computed again; NULL: no DoRA */
    int frozen;       /* 1: only adapters get gradients, no weights */
    float *dx;        /* [B,T,d] before: of the block's output; after: of its
                       * input */
    float *row;       /* [threads,widest] one row of act */
    size_t widest;
    struct group *group; /* of this block */
};

/* Compute part `part` (nb columns) of c = a w for the rows of a tile; add: c +=
 * a w.  w [K,N] is a weight as stored, a [.,K] has lda, c is [.,N].  nn_cols:
 * columns of a part; nn_parts: the number of parts, 0 if w has no rows. */
void product_nn(struct run *u, const struct weight *w, size_t nb,
    const float *a, size_t lda, size_t b, size_t t0, size_t part, size_t worker,
    int add, float *c);
size_t nn_cols(const struct weight *w);
size_t nn_parts(const struct weight *w);

/* Run the block backward.  In: u->x and u->a as block_forward left them, and
 * u->g->dx.  Out: u->g->dx and the group's gradients. */
void block_backward(struct run *u);

/*
 * How to sum the gradient of a vector over the rows of the batch, in order:
 *   a norm's weight  g[n] += sum over tokens and heads of rstd * x * dy
 *   a bias           g[n] += sum of dy (rstd NULL, x not read)
 * For row b, token t and head h:
 *   element 0 of x is x[(b * x_rows + t) * ldx + h * n]
 *   element 0 of dy is dy[(b * dy_rows + t) * lddy + h * n]
 *   rstd is rstd[(b * T + t) * ldr + h]
 */
struct vec_grad {
    float *g;
    size_t n, heads;
    const float *rstd, *x, *dy;
    size_t ldr, x_rows, ldx, dy_rows, lddy;
};
/* Columns of a vector's gradient in one task. */
enum { VEC_COLS = 64 };
size_t vec_grad_tasks(const struct vec_grad *v);
void vec_grad_add(const struct vec_grad *v, const struct rows *r, size_t task);

#endif
