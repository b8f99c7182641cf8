/* Shared by experts.c and experts_backward.c. */
#ifndef MODEL_EXPERTS_IMPL_H
#define MODEL_EXPERTS_IMPL_H

#include "model/pass/experts.h"

/* A call for at most x->tokens tokens. */
struct expert_job {
    struct experts *x;
    const struct expert_block *b;
    const size_t *row; /* [n] row of each token in the caller's arrays */
    size_t n;
    const float *xn;
    size_t N, K;       /* columns and depth of the product under way */
    const float *from; /* [pairs,K] its inputs, to be rounded */
    /* forward */
    float *z; /* NULL: logits are not kept */
    float *out;
    int set;
    const float *kept; /* logits of the forward pass; NULL: going forward */
};

/* Run fn for n tokens or pairs, some in each task.  expert_chunk: set *i0 to
 * the first token or pair of a task, and return the one after the last. */
void expert_chunks(struct expert_job *j, size_t n,
    void (*fn)(void *ctx, size_t task, size_t worker));
size_t expert_chunk(size_t task, size_t n, size_t *i0);

/* The part of a product that a task computes. */
struct expert_part {
    size_t e;     /* expert */
    size_t p0, m; /* its first pair, its number of pairs */
    size_t n0, n; /* first column, columns */
};
/* Run fn for all parts of the experts' products, which have N columns and depth
 * K.  expert_part: the part that is a task's; its m may be 0. */
void expert_parts(struct expert_job *j, size_t N, size_t K,
    void (*fn)(void *ctx, size_t task, size_t worker));
struct expert_part expert_part(const struct expert_job *j, size_t task);

/* act [n] from gate and up; act may be one of them. */
void expert_unit(const struct experts *x, float *act, const float *gate,
    const float *up, size_t n);
/* Add to y [m,n] with ldy columns n0..n0+n-1 of row e of an expert's biases;
 * nothing if there are none. */
void expert_bias(const struct weight *bias, size_t e, size_t n0, size_t n,
    size_t m, float *y, size_t ldy);

/* Choose the experts of the tokens and sort pairs by expert. */
void expert_choose(struct expert_job *j);
/* Gather the inputs of pairs. */
void expert_gather(struct expert_job *j);

#endif
