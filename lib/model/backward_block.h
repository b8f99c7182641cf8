/* The backward pass of one block.  Private to lib/model. */
#ifndef MODEL_BACKWARD_BLOCK_H
#define MODEL_BACKWARD_BLOCK_H

#include "model/backward.h"
#include "model/forward_block.h"

/*
 * Gradients at the steps of one block, padded unless stated.  Those at gate
 * and up take the place of u->a.gate and u->a.up, which end with the block;
 * the one at act is in u->act, until act itself is made there again.
 */
struct grads {
    float *dy;           /* at the output: dx[B,T,d] padded */
    float *dxn;          /* at norm2's output, kept for its weight */
    float *dx2;          /* after attention's residual */
    float *ddown, *dout; /* at the outputs of down and o: dy and dx2 where
                             * no norm follows them */
    float *rstd_att, *rstd_mlp; /* [B,T] of those norms, or NULL */
    float *datt;                /* [B,Tp,H*D] */
    float *dqkv;                /* [B,Tp,(H+2KV)D] */
    float *dk, *dv;             /* [B,H,Tp,D] parts of the query heads */
    float *dxn1;                /* at norm1's output; f->out, free by now */
    float *xn1;                 /* norm1's output again (norm2's is f->xn) */
    float *rstd1, *rstd2;       /* [B,T] */
    float *dheads;     /* [B,Tp,(H+KV)D] at the outputs of heads' norms */
    float *rstd_heads; /* [B,T,H+KV]; both NULL where there are none */
    float *dx;         /* [B,T,d] in: at the output; out: at the input */
    float *row;        /* [threads,widest] one row of act */
    size_t widest;
    struct group *group; /* of this block */
};

/* u: the block's x (input) and a, as block_forward left them; u->g. */
void block_backward(struct run *u);

/*
 * The gradient of a vector, row by row of the batch: of a norm's weight,
 *   g[n] += sum over tokens and heads of rstd * x * dy,
 * or of a bias, sum of dy, where rstd is NULL.  Element 0 of row b, token t,
 * head h: x[(b * x_rows + t) * ldx + h * n], the same of dy, rstd[(b * T + t) *
 * ldr + h].
 */
struct vec_grad {
    float *g;
    size_t n, heads;
    const float *rstd, *x, *dy;
    size_t ldr, x_rows, ldx, dy_rows, lddy;
};
/* VEC_COLS columns of it are one task. */
enum { VEC_COLS = 64 };
size_t vec_grad_tasks(const struct vec_grad *v);
void vec_grad_add(const struct vec_grad *v, const struct rows *r, size_t task);

#endif
