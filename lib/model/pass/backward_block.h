/* The backward pass of one block.  Private to lib/model. */
#ifndef MODEL_BACKWARD_BLOCK_H
#define MODEL_BACKWARD_BLOCK_H

#include "model/pass/backward.h"
#include "model/pass/run.h"

/* Gradients within one block.  The gradients of gate and up overwrite u->a.gate
 * and u->a.up, which no later stage reads.  u->act holds the gradient of act,
 * then act itself, computed again. */
struct grads {
    float *dx;                      /* [B,T,d] of the residual stream: before,
                                     * of the block's output; after, of its
                                     * input */
    struct branch_grads mixer, ffn; /* mixer.xn is f->out, which is free by
                                     * then; ffn.again is f->xn */
    float *datt;       /* [B,Tp,att], of the inputs of the last product of a
                        * mixer */
    float *dqkv;       /* [B,Tp,qkv] */
    void *room[ROOMS]; /* work space that parts have of their own, or NULL */
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
 *   a norm's weight  g[n] += sum over tokens and heads of rstd * (x - mean) *
 *                    dy, where mean is that of the token, 0 if `mean` is NULL
 *   a bias           g[n] += sum of dy (rstd NULL, x not read)
 * For row b, token t and head h:
 *   element 0 of x is x[(b * x_rows + t) * ldx + h * n]
 *   element 0 of dy is dy[(b * dy_rows + t) * lddy + h * n]
 *   rstd is rstd[(b * T + t) * ldr + h]
 */
struct vec_grad {
    float *g;
    size_t n, heads;
    const float *rstd, *mean, *x, *dy; /* mean [B,T] */
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
