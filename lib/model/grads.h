/* Inside of the backward pass.  Private to lib/model. */
#ifndef MODEL_GRADS_H
#define MODEL_GRADS_H

#include "model/backward.h"
#include "model/engine.h"

/*
 * Gradients at the steps of one block, padded unless stated.  Those at gate
 * and up take the place of u->a.gate and u->a.up, which end with the block;
 * the one at act is in u->act, until act itself is made there again.
 */
struct grads {
    float *dy;              /* at the output: dx[B,T,d] padded */
    float *dxn;             /* at norm2's output, kept for its weight */
    float *dx2;             /* after attention's residual */
    float *datt;            /* [B,Tp,H*D] */
    float *dqkv;            /* [B,Tp,(H+2KV)D] */
    float *dk, *dv;         /* [B,H,Tp,D] parts of the query heads */
    float *dxn1;            /* at norm1's output; f->out, free by now */
    float *xn1;             /* norm1's output again (norm2's is f->xn) */
    float *rstd1, *rstd2;   /* [B,T] */
    float *dx;              /* [B,T,d] in: at the output; out: at the input */
    float *row;             /* [threads,widest] one row of act */
    size_t widest;
    struct group *group;    /* of this block */
};

/* u: the block's x (input) and a, as block_forward left them; u->g. */
void block_backward(struct run *u);

/* g[n] += sum over tokens of rstd * x * dy, row by row of the batch.
 * x, dy: element 0 of row b, token t at (b * ldrow + t) * n. */
void norm_weight(float *g, const struct rows *r, size_t n, size_t c0,
    size_t c1, const float *rstd, const float *x, size_t x_rows,
    const float *dy, size_t dy_rows);

#endif
