/* The steps of one block, for the forward and the backward pass. */
#ifndef MODEL_FORWARD_BLOCK_H
#define MODEL_FORWARD_BLOCK_H

#include "kern/attn.h"
#include "model/forward_impl.h"

/* Work on one block. */
struct run {
    struct fwd *f;
    const struct rows *r;
    struct cut c;
    size_t tile0, tiles; /* of each sequence: those that are run */
    const struct block *b;
    size_t H, KV, qkv;                    /* heads, width of a row of qkv */
    const float *const *vec;              /* [W_N] vectors in fp32; NULL of
                                           * those that the block has not */
    const uint32_t *first, *stem, *nstem; /* [B,T] of what each token attends
                                           * to; stem may be NULL */
    const float *cs;                      /* [T,D] angles of this block */
    struct acts a;
    float *act;     /* [B,Tp,mlp]; may be a.gate */
    const float *x; /* [B,T,d] */
    float *y;
    int attn, mlp;      /* has it that part? */
    const float *group; /* [KV] factors of the heads' outputs, or NULL */
    const float *scale; /* [mlp] or NULL */
    struct grads *g;    /* backward only */
};

/* A stage: fn does part `part` < nparts of the tile at row t0 of sequence b;
 * the profile counts its work on a row. */
struct stage {
    void (*fn)(struct run *u, size_t b, size_t t0, size_t part, size_t worker);
    size_t nparts;
    const char *name;
    size_t flop;   /* operations, or */
    size_t floats; /* numbers read and written */
};
void run_stages(struct run *u, const struct stage *s, size_t n);

/* Part `part` of c = a w^T for the tile's rows; a and c are padded arrays. */
void product_nt(struct run *u, const struct weight *w, const float *a, size_t b,
    size_t t0, size_t part, size_t worker, float *c, size_t ldc);

/* y [B,Tp,d] = norm W_NORM1 or W_NORM2 of x [B,T,d], for the CHUNK rows of part
 * `part` of a tile; rows of padding become zero. */
void norm_chunk(const struct run *u, int norm, const float *x, float *y,
    size_t b, size_t t0, size_t part);

/* Attention of sequence b, for the forward and the backward pass. */
struct attn attention_of(const struct run *u, size_t b);

/* The whole block: u->x to u->y, filling u->a and u->act. */
void block_forward(struct run *u);
void run_init(struct run *u, struct fwd *f, size_t i, const struct rows *r);

/* Finish a token's q, k and v of so many groups, as the products gave them, in
 * place: add biases, apply norms of heads, rotate by the angles cs [D].  raw:
 * NULL, or q and k before their norms, out. */
void finish_qkv(const struct config *c, size_t groups, const float *const *vec,
    const float *cs, float *qkv, float *raw);

#endif
