/* The backward pass of one block.  Private to lib/model. */
#ifndef MODEL_BACKWARD_BLOCK_H
#define MODEL_BACKWARD_BLOCK_H

#include "model/pass/backward.h"
#include "model/pass/run.h"

/* Gradients in the gated delta rule's backward pass (delta_block.h). */
struct delta_grads {
    float *dmix;  /* [B,Tp,C] of mix, then of the convolution's outputs */
    float *drate; /* [B,Tp,2*values] of decays and betas */
    float *dlog;  /* [B,Tp,values] each token's term for W_DELTA_LOG */
    float *dnorm; /* [B,Tp,values*dv] of the outputs of heads' norms */
    float *rstd;  /* [B,T,values] 1/rms in heads' norms */
    float **room; /* [threads] room for states */
};
/* Gradients within one block.  The gradients of gate and up overwrite u->a.gate
 * and u->a.up, which no later stage reads.  u->act holds the gradient of act,
 * then act itself, computed again. */
struct grads {
    float *dx;                      /* [B,T,d] of the residual stream: before,
                                     * of the block's output; after, of its
                                     * input */
    struct branch_grads mixer, ffn; /* mixer.xn is f->out, which is free by
                                     * then; ffn.again is f->xn */
    float *datt;                    /* [B,Tp,att_width] */
    float *dqkv;                    /* [B,Tp,raw_width] */
    float *dk, *dv;                 /* [B,H,Tp,D] each query head's term */
    float *dheads;     /* [B,Tp,(H+KV)D] of the outputs of heads' norms; NULL:
                        * no such norms */
    float *rstd_heads; /* [B,T,H+KV] 1/rms in heads' norms, or NULL */
    struct delta_grads delta;
    struct mla_room mla; /* gradients of the arrays of f->mla */
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
    float *row;       /* [threads,widest] one row of act */
    size_t widest;
    struct group *group; /* of this block */
};

/* Run the block backward.  In: u->mixer.x, u->ffn.x and u->a as block_forward
 * left them, and u->g->dx.  Out: u->g->dx and the group's gradients. */
void block_backward(struct run *u);

/* Add the stage of n products backward, and the gradients of their matrices to
 * the list of sums. */
void stage_back(struct run *u, const struct branch *in, const struct product *p,
    size_t n, const char *name);

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
void vec_grad_add(const struct vec_grad *v, const struct rows *r, size_t task);

/*
 * Sums over tokens, which are formed after the block's last stage.  What they
 * read must still be there then.
 *   sum_matrix  the gradient of matrix k: dy [.,rows] with lddy, x [.,cols]
 *   sum_bias    of vector t, whose gradient at a token is dy [.,cols] with lddy
 *   sum_vector  of vector t as `how` says; g, n and dy_rows are set here
 */
void sum_matrix(struct run *u, int k, const float *dy, size_t lddy,
    const float *x);
void sum_bias(struct run *u, int t, const float *dy, size_t lddy);
void sum_vector(struct run *u, int t, struct vec_grad how);

#endif
