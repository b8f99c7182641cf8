/* The stages of one block, for the forward and the backward pass. */
#ifndef MODEL_FORWARD_BLOCK_H
#define MODEL_FORWARD_BLOCK_H

#include "kern/attn.h"
#include "model/files/adapter.h"
#include "model/pass/dropout.h"
#include "model/pass/forward_impl.h"

/* Work on one block. */
struct run {
    struct fwd *f;
    const struct rows *r;
    struct cut c;
    size_t tile0, tiles; /* the tiles of each sequence that are run: the first,
                          * and how many */
    const struct block *b;
    size_t H, KV, qkv;                    /* the block's query and KV heads;
                                           * numbers in a row of qkv */
    const float *const *vec;              /* [W_N] the block's vectors in fp32;
                                           * NULL: it has no such vector */
    const uint32_t *first, *stem, *nstem; /* [B,T] tokens that each token
                                           * attends to, as in struct rows and
                                           * fwd_stems; stem may be NULL */
    const float *cs;       /* [T,rotary] angles of this block; NULL: no RoPE */
    const float *cs_piece; /* [B,T,rotary] angles of each token, in place of cs;
                            * or NULL */
    struct acts a;
    float *act;     /* [B,Tp,mlp]; may be a.gate */
    const float *x; /* [B,T,d] */
    float *y;
    int in, nin, out;    /* in..in+nin-1: tensors whose products make rows of
                         * a.qkv; out: the tensor of the output */
    const float *mixed;  /* [B,Tp,att_width] input of `out` */
    struct mla_room mla; /* f->mla, with a.latent if latents are kept */
    int attn, mlp;       /* 1: the block has attention or the gated delta rule;
                         * 1: it has an MLP or experts */
    const float *group;  /* [KV] factors of groups (struct fwd_part), or NULL */
    const float *scale;  /* [mlp] factors of channels, or NULL */
    const struct dropout *drop; /* dropout of adapters' inputs, or NULL */
    struct grads *g;            /* backward only */
};

/* A stage: fn does part `part` < nparts of the tile that starts at row t0 of
 * sequence b.  flop and floats: work for one row, for the profile; one of them
 * is 0. */
struct stage {
    void (*fn)(struct run *u, size_t b, size_t t0, size_t part, size_t worker);
    size_t nparts;
    const char *name;
    size_t flop;   /* floating-point operations */
    size_t floats; /* numbers read and written */
};
void run_stages(struct run *u, const struct stage *s, size_t n);

/* Compute part `part` of c = a w^T for the rows of a tile; a and c are
 * padded. */
void product_nt(struct run *u, const struct weight *w, const float *a, size_t b,
    size_t t0, size_t part, size_t worker, float *c, size_t ldc);

/* y [B,Tp,d] = norm W_NORM1 or W_NORM2 of x [B,T,d], for the CHUNK rows of part
 * `part` of a tile; rows of padding become zero. */
void norm_chunk(const struct run *u, int norm, const float *x, float *y,
    size_t b, size_t t0, size_t part);

/* Attention of sequence b, for the forward and the backward pass. */
struct attn attention_of(const struct run *u, size_t b);

/* Run the whole block: from u->x to u->y, filling u->a and u->act. */
void block_forward(struct run *u);
void run_init(struct run *u, struct fwd *f, size_t i, const struct rows *r);

/* y [d] = x times the weight of a norm; NULL: y = x. */
void norm_row(const struct config *c, const float *norm, const float *x,
    float *y);
/* Position of a token (not padding) from the start of its stem, or of its piece
 * if it has no stem. */
size_t position(const struct fwd *f, const struct rows *r, size_t b, size_t t);
/* The angles [rotary] of a token (not padding); NULL: the block has no RoPE. */
const float *angles_at(const struct run *u, size_t b, size_t t);
/* Turn a token's q and k by the angles cs (NULL: not), and scale q as its
 * position asks (angles_query).  dir -1: qkv has gradients, which are turned
 * back and scaled. */
void turn_heads(const struct config *c, size_t groups, const float *cs,
    size_t position, float *qkv, int dir);
/* Finish a token's q, k and v of `groups` KV groups in place: add biases, apply
 * norms, turn_heads.  raw: out, q and k before their norms; NULL: not wanted.
 * room [H*D]: used to move gates behind v. */
void finish_qkv(const struct config *c, size_t groups, const float *const *vec,
    const float *cs, size_t position, float *qkv, float *raw, float *room);

#endif
