/* The experts of a block: each token goes through the MLPs that the router
 * chooses, and their outputs, multiplied by the router's weights, are added.
 * Tokens are sorted by expert, and each expert multiplies its tokens' rows at
 * once.  An element of a product has the same bits in every product that has
 * its row and its column (kern.h), so a token's output does not depend on the
 * other tokens of the batch.  A token's experts are added in the order of the
 * choice. */
#ifndef MODEL_EXPERTS_H
#define MODEL_EXPERTS_H

#include "base/mem.h"
#include "base/pool.h"
#include "model/pass/forward.h"
#include "model/pass/route.h"
#include "model/pass/tmodel.h"

/* Work space, f->room[ROOM_EXPERTS].  A pair is a token and one of its experts; pairs are sorted by
 * expert, then by token.  E experts, k of them used, I channels. */
struct experts {
    struct router how;
    size_t *row, *seq;   /* [B*T], [B+1] for struct expert_rows */
    size_t d, I, tokens; /* tokens: the most that a call may have */
    float *x;            /* [tokens,d] inputs */
    float *z;            /* [tokens,E] logits of the router */
    uint32_t *id;        /* [tokens,k] chosen experts */
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

/* Allocate from the arena a, which may be planning.  tokens: how many are run
 * at once; backward: 1: also for experts_backward.  Nothing is allocated if c
 * has no experts. */
void experts_lay(struct experts *x, const struct config *c, size_t tokens,
    int backward, struct arena *a);

/* Gradients, g->room[ROOM_EXPERTS]. */
struct experts_grads {
    float *dz;      /* [B,Tp,E] of the router's logits */
    float *dshared; /* [B,Tp] of the logit of the shared expert's gate */
};

/* Allocate room for products in integers, after experts_lay. */
void experts_lay_rounded(struct experts *x, struct arena *a);

/* The experts of a block, and what computes with them. */
struct expert_block {
    const struct weight *w; /* [W_N] */
    const float *shared;    /* [d] weight of the shared expert's gate; NULL:
                             * none */
    const float *bias;      /* [E] biases of the router's logits; NULL: none */
    const float *shift;     /* [E] `bias` of router_choose; NULL: none */
    struct pool *pool;
    float **wide; /* [threads][WEIGHT_PIECE] room for widened weights */
    /* called with the experts' outputs, for block `number`; or NULL */
    void (*routed)(void *ctx, const struct fwd_routed *t);
    void *ctx;
    size_t number;
};

/* Tokens of a call.  Token i lies in row row[i] of the caller's arrays. */
struct expert_rows {
    const size_t *row; /* [n] */
    size_t n;
    const size_t *seq; /* [nseq+1] first token of each sequence, and n; for
                        * experts_backward */
    size_t nseq;
};

/*
 * Add to rows of `out` [.,d] the outputs of the block's experts for rows of xn
 * [.,d].  If there is a shared expert, its output is in `out` already, and is
 * multiplied by its gate first.
 *   z    [.,E] out: the router's logits; NULL: not wanted
 *   set  1: out is set, not added to
 */
void experts_forward(struct experts *x, const struct expert_block *b,
    const struct expert_rows *r, const float *xn, float *z, int set,
    float *out);

/*
 * The backward pass for whole sequences, of at most x->tokens tokens.  Weights
 * are fp32.
 *   xn, z  as in experts_forward; z as that call left it
 *   dout   [.,d] gradient at out
 *   dp     [nseq,E] a further gradient at the router's scores of each token of
 *          a sequence; NULL: none
 *   dxn    [.,d] the gradient at xn is added
 *   dz     [.,E] out: the gradient at the logits
 *   g      the block's group: the experts' gradients are added, one sequence
 *          after another
 */
void experts_backward(struct experts *x, const struct expert_block *b,
    const struct expert_rows *r, const float *xn, const float *z,
    const float *dout, const double *dp, float *dxn, float *dz,
    struct group *g);

/* The gate of a token's shared expert: 1 / (1 + exp(-w.x)). */
float expert_shared_gate(const float *w, const float *x, size_t d);

#endif
