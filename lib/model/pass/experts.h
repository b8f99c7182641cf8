/* The experts of a block: each token goes through the MLPs that the router
 * chooses, and their outputs, multiplied by the router's weights, are added.
 * Tokens are sorted by expert, and each expert multiplies its tokens' rows at
 * once.  An element of a product has the same bits in every product that has
 * its row and its column (kern.h), so a token's output does not depend on the
 * other tokens of the batch.  A token's experts are added in the order of the
 * choice.  experts.c has the forward direction, experts_backward.c the backward
 * one. */
#ifndef MODEL_EXPERTS_H
#define MODEL_EXPERTS_H

#include "model/pass/route.h"
#include "model/pass/run.h"

/* Work space, f->room[ROOM_EXPERTS].  A pair is a token and one of its experts;
 * pairs are sorted by expert, then by token.  E experts, k of them used, I
 * channels. */
struct experts {
    struct router how;
    size_t *row, *seq;   /* [B*T], [B+1] for struct expert_job */
    size_t d, I, tokens; /* tokens: the most that a call may have */
    float *x;            /* [tokens,d] inputs */
    float *z;            /* [tokens,E] logits of the router */
    uint32_t *id;        /* [tokens,k] the k experts of each token, by number */
    float *w;            /* [tokens,k] their weights */
    uint32_t *pair;      /* [tokens,k] each pair's place in the sorted order */
    uint32_t *token;     /* [tokens*k] token of each pair */
    size_t *at;          /* [E+1] first pair of each expert */
    float *xs;           /* [tokens*k,d] inputs of pairs, then their outputs */
    float *gate, *up;    /* [tokens*k,I]; act overwrites gate going forward */
    unsigned char *rounded; /* [tokens*k] inputs of pairs rounded for products
                             * in integers, or NULL */
    int clamped;            /* 1: the unit of glu_clamp.h; 0: SwiGLU */
    /* backward only */
    float *act, *dact; /* [tokens*k,I] */
    float *ds;         /* [tokens*k,d] gradients at outputs of pairs */
    float *dw;         /* [tokens,k] gradients at weights */
    float *by;         /* [tokens*k] weight of each pair */
    float *dz;         /* [tokens,E] gradients at logits */
    float *dx;         /* [tokens,d] gradients of x through the router */
};

/* Gradients, g->room[ROOM_EXPERTS]. */
struct experts_grads {
    float *dz;      /* [B,Tp,E] of the router's logits */
    float *dshared; /* [B,Tp] of the logit of the shared expert's gate */
};

/* Functions of part_experts that are in experts_backward.c. */
void experts_lay_back(struct grads *g, const struct fwd *f, size_t rows,
    size_t tokens, struct arena *a);
void experts_backward(struct run *u, const struct branch *in);

/* The gate of a token's shared expert: 1 / (1 + exp(-w.x)). */
float expert_shared_gate(const float *w, const float *x, size_t d);

/* ---- for experts.c and experts_backward.c ---- */

/* Work on at most x->tokens tokens, and the product under way. */
struct expert_job {
    struct run *u;
    const struct branch *in;
    struct experts *x;
    const size_t *row; /* [n] row of each token in padded arrays */
    size_t n;
    size_t N, K;       /* columns and depth of the product under way */
    const float *from; /* [pairs,K] its inputs, to be rounded */
    int back;          /* 0: forward; the router's logits are computed, and
                        * copied to a.route unless that is NULL.  1: backward;
                        * they are read from a.route */
    /* backward: whole sequences, of which x->seq has the first tokens; dp
     * [nseq,E]: a further gradient at the router's scores of each token of a
     * sequence; NULL: none */
    size_t nseq;
    const double *dp;
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
