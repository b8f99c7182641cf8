/*
 * Work space of the forward and backward passes; space.c lays it out.
 *
 * Arrays that enter or leave a matrix product are padded: each sequence has Tp
 * rows, a multiple of the tile; rows past T and rows of padding tokens are
 * zero.  The residual stream (x, x2, y and their gradients) is [B,T,d], as
 * callers see it.
 *
 * A pass is a list of stages (run.h).  Except in attention, each tile of rows
 * goes through the stages on its own.  If there are enough tiles, threads take
 * whole tiles; else they take the parts of one stage after another.  Either way
 * the same products of the same shapes are formed.
 */
#ifndef MODEL_FORWARD_IMPL_H
#define MODEL_FORWARD_IMPL_H

#include "base/mem.h"
#include "model/config/family.h"
#include "model/pass/forward.h"
#include "model/pass/panels.h"

enum { CHUNK = 32 }; /* rows of an elementwise part */

/* The tiles that sequences of T tokens are cut into. */
struct cut {
    size_t tile; /* rows, a multiple of ATTN_TILE */
    size_t n;    /* tiles a sequence */
    size_t Tp;   /* n * tile */
};
struct cut cut_of(size_t T);

/* How many numbers each row of a block has in the arrays of struct acts that
 * are named so, and in fwd.gated; scratch: floats that a worker needs. */
struct widths {
    size_t qkv, raw, att, gated, lse, latent, gate, up, route, scratch;
};

/* Activations of a block, for B sequences. */
struct acts {
    float *qkv;       /* [B,Tp,qkv] q, k (both rotated), v, gates of the
                       * outputs, or the products of a `linear` block; here H,
                       * KV, mlp are the block's */
    float *raw;       /* [B,Tp,(H+KV)D] q, k before their norms, for the
                       * backward pass; NULL: forward only, or no such norms */
    float *att;       /* [B,Tp,att] outputs of heads, or of the short
                       * convolution, before gates */
    float *o, *down;  /* [B,Tp,d] outputs of o and down before the norms that
                       * follow them, for the backward pass; NULL: forward only,
                       * or no such norms */
    float *route;     /* [B,Tp,E] logits of the router, for the backward pass;
                       * NULL: forward only, or no experts */
    float *lse;       /* [B,H,Tp] log-sum-exps of scores */
    float *latent;    /* [B,Tp,mla_latent] latents before their norms, for the
                       * backward pass; NULL: forward only, or there are none */
    float *x2;        /* [B,T,d] residual stream after attention */
    float *gate, *up; /* [B,Tp,mlp] */
    float *low;       /* [B,Tp,low_width] scale A x of the block's adapters
                       * (adapter.h): in each row those of one matrix after
                       * another; NULL: no adapters */
};

/* Work space that parts of blocks have of their own, in struct fwd and again in
 * struct grads (backward_block.h); HEAD is head.c's. */
enum {
    ROOM_HEADS,
    ROOM_LATENT,
    ROOM_DELTA,
    ROOM_SHORT,
    ROOM_CONV,
    ROOM_EXPERTS,
    ROOM_PLAIN,
    ROOM_HEAD,
    ROOMS
};
/* A room of `bytes`, zeroed when it is first asked for. */
void *room_make(void **room, size_t bytes);
void rooms_free(void **room);
/* Allocate n arrays of `floats`, one for each thread. */
float **lay_each(struct arena *a, size_t n, size_t floats);

struct fwd {
    const struct model *m;
    struct pool *pool;
    size_t B, T; /* capacity */
    struct arena arena;
    const struct family *family;
    float embed_scale;  /* factor of the embedding's rows */
    float logit_factor; /* factor of the final norm's weight in `norm`, so that
                         * final states give the logits by the head alone */
    const uint32_t *stem, *nstem;                       /* fwd_stems */
    void (*tap)(void *ctx, const struct fwd_tapped *t); /* fwd_tap */
    void *tap_ctx;
    void (*routed)(void *ctx, const struct fwd_routed *t); /* fwd_tap_experts */
    void *routed_ctx;
    void (*sum)(void *ctx, float *x, size_t n); /* fwd_sum */
    void *sum_ctx;
    size_t rank, ranks; /* as fwd_context sets them; ranks = 1: this process has
                         * all tiles */
    void (*gather)(void *ctx, float *x, const size_t *at);
    void *gather_ctx;
    float *context; /* [Tp,2KV*D] keys and values of one row of the batch */
    size_t context_bytes;
    size_t *context_at; /* [ranks+1] */
    float *xn;          /* [B,Tp,d] normed rows */
    float *out;         /* [B,Tp,d] output of o, then of down */
    float *mid;         /* [B,T,d] residual stream between the branches of a
                         * parallel block; NULL: the family has none */
    float *act;         /* [B,Tp,mlp] */
    struct acts a;      /* x2 is set by each call; without FWD_ACTS
                                     * all other pointers are NULL */
    float *gated; /* [B,Tp,att] outputs of heads after gates; NULL: no block
                   * has gates */
    void *room[ROOMS]; /* work space that parts have of their own, or NULL */
    const float **vec; /* [L,W_N] blocks' vectors in fp32; NULL: no such
                        * vector */
    /* the final norm's weight and bias in fp32, times logit_factor; norm_bias
     * NULL: there is no bias */
    const float *norm, *norm_bias;
    const float *positions; /* [max_pos,d] in fp32; NULL: not learned */
    struct block_panels panels;
    float **wide; /* [threads] room for wide_n widened weights */
    size_t wide_n;
    float **scratch; /* [threads] scratch of attention */
};

/* parts: what to allocate.
 *   FWD_ACTS: the arrays of a; without it the caller has its own.
 *   FWD_HEAD: what head.c needs.
 *   FWD_SLICES: what head_slice needs, for head_top.c.
 *   FWD_TRAIN: what the backward pass through experts needs. */
enum { FWD_ACTS = 1, FWD_HEAD = 2, FWD_TRAIN = 4, FWD_SLICES = 8 };
struct fwd *fwd_make(const struct model *m, struct pool *pool, size_t B,
    size_t T, int parts);
/* Copy the vectors again, as training may have changed them; for the start of a
 * pass. */
void fill_vectors(struct fwd *f);
/* Get ready to run block i: fetch its weights, set its vectors in f->vec, and
 * lay out its matrices (panels_fill). */
void block_now(struct fwd *f, size_t i, unsigned ways);

int row_live(const struct rows *r, size_t b, size_t t);
/* The number of rows of a tile of n up to its last token; 0: all are
 * padding. */
size_t tile_live(const struct rows *r, size_t b, size_t t0, size_t n);

/* Query heads of a block of `groups` KV groups. */
size_t query_heads(const struct config *c, size_t groups);

/* has_qk_norm: do the blocks have norms of Q and K?  has_post_norm: do they
 * have norms of the outputs of attention and MLP? */
int has_qk_norm(const struct config *c);
int has_post_norm(const struct config *c);
/* Do the outputs of o and down pass a norm or a factor before they are added to
 * the residual stream, so that their gradients are not the stream's? */
int has_added(const struct config *c);
/* y [d] = the norm, with the weight w [d], of a row x of the residual stream:
 * RMSNorm, or LayerNorm (bias [d] or NULL) if the family has that; y may be x.
 * stream_norm_bwd: as kern.rmsnorm_bwd; *mean becomes the mean of x, 0 for
 * RMSNorm. */
void stream_norm(const struct fwd *f, float *y, const float *x, const float *w,
    const float *bias);
float stream_norm_bwd(const struct fwd *f, float *dx, const float *dy,
    const float *x, const float *w, const float *res, float *mean);
/* A factor of a configuration, in which 0 means 1. */
float factor_of(double x);
#endif
