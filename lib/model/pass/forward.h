/*
 * Running a model: the embedding, one block after another, the final norm, the
 * head.  Inputs and outputs are explicit, so that each program walks the list
 * of blocks itself: the teacher taps blocks, the pruner skips them and restarts
 * from a cached prefix, the trainer keeps or recomputes what the backward pass
 * needs.
 *
 * Activations are fp32, row-major [B,T,d].  A token attends to the tokens of
 * its own piece at or before it; positions count from the piece's start.
 * Padding tokens (first = UINT32_MAX) give zeros and cost no attention.
 *
 * Rows are cut into tiles of at most FWD_TILE tokens, the first of which starts
 * at the row's first token; the last one is padded with zeros to full size.
 * Tile size follows from r->T alone.  Matrix products are formed per tile, so a
 * token's bits depend neither on threads nor on its neighbours in the batch.
 */
#ifndef MODEL_FORWARD_H
#define MODEL_FORWARD_H

#include "base/err.h"
#include "base/pool.h"
#include "model/files/model.h"

#include <stddef.h>
#include <stdint.h>

enum { FWD_TILE = 512 };

struct rows {
    size_t B, T;
    const uint32_t *ids;   /* [B,T] < V */
    const uint32_t *first; /* [B,T] index in its row of the first token of its
                            * piece, UINT32_MAX for padding */
};

struct fwd;

/* Work space for m and at most B rows of T tokens.  m and pool must outlive it.
 * Calls kern_init if nobody has; that call must succeed. */
struct fwd *fwd_new(const struct model *m, struct pool *pool, size_t B,
    size_t T);
/* Work space without buffers for logits: for fwd_embed, fwd_block,
 * fwd_block_part, fwd_norm and head_top_rows alone. */
struct fwd *fwd_new_blocks(const struct model *m, struct pool *pool, size_t B,
    size_t T);
void fwd_free(struct fwd *f);
size_t fwd_bytes(const struct fwd *f); /* memory it holds */
/* Hold the panels of all blocks (panels.h), 2 bytes for each weight: no weight
 * changes while f exists, which has run no pass yet. */
void fwd_hold(struct fwd *f);

/* A product with N columns and depth K, both above 0, is cut into parts.
 * part_cols: columns of a part.  part_count: the number of parts, none of which
 * is empty. */
size_t part_cols(size_t N, size_t K);
size_t part_count(size_t N, size_t K);

/*
 * From this call on a piece may continue a stem (a prefix that several pieces
 * may share).  Each token also attends to the nstem tokens of its row from
 * index stem on, all of which come before its piece; positions count from the
 * stem's start.  nstem 0: no stem.  Where angles depend on the length of a text
 * (model/pass/angles.h), a stem has the angles of its own length, and a piece
 * has the angles of the length of stem and piece together.  Both arrays are
 * [B,T], as in struct rows, and are not copied; NULL: no stems.
 */
void fwd_stems(struct fwd *f, const uint32_t *stem, const uint32_t *nstem);

/* Inputs of a block's linear layers: FWD_ATTN of q, k and v, FWD_O of o,
 * FWD_MLP of gate and up, FWD_DOWN of down.  From fwd_tap on fn is called with
 * each of these inputs, in this order, in every block that is run.  A block
 * without attention (a `linear` one, too) has neither FWD_ATTN nor
 * FWD_O, one without MLP neither FWD_MLP nor FWD_DOWN, one with experts no
 * FWD_DOWN. fn is called by the caller's thread between two stages, so it may
 * use the pool.  fn NULL: no more calls.  Results are the same to the bit. */
enum fwd_input { FWD_ATTN, FWD_O, FWD_MLP, FWD_DOWN, FWD_INPUTS };
struct fwd_tapped {
    size_t block;
    enum fwd_input input;
    const struct rows *r;
    size_t Tp;           /* rows of x for a sequence, at least T */
    size_t n;            /* channels */
    size_t ld;           /* floats from one row to the next */
    const float *x;      /* [B,Tp,n] with ld; zeros in rows past T and of
                          * padding */
    const float *stream; /* [B,T,d] residual stream that the branch (attention
                          * or MLP) adds to */
};
void fwd_tap(struct fwd *f, void (*fn)(void *ctx, const struct fwd_tapped *t),
    void *ctx);

/* Outputs of the experts of a block for some tokens.  From fwd_tap_experts on
 * fn is called with the outputs of all tokens, some at a time and in their
 * order, in every block with experts that is run. */
struct fwd_routed {
    size_t block;
    size_t n, k, d;       /* tokens; experts of a token; width */
    const uint32_t *id;   /* [n,k] experts of each token, best first */
    const float *w;       /* [n,k] their weights */
    const uint32_t *pair; /* [n,k] the row of y that has the output */
    const float *y;       /* [n*k,d] outputs of the experts, before they are
                           * multiplied by w */
};
void fwd_tap_experts(struct fwd *f,
    void (*fn)(void *ctx, const struct fwd_routed *t), void *ctx);

/*
 * For a model that is a rank's share (share.h).  From this call on, in every
 * block, the caller's thread calls fn twice between stages: with the output x
 * [n] of this share's o, then with that of its down.  fn replaces x by the sum
 * over all shares, each of which makes the same calls with the same n.
 */
void fwd_sum(struct fwd *f, void (*fn)(void *ctx, float *x, size_t n),
    void *ctx);

/*
 * n ranks share each row (context parallel).  From this call on fwd_block
 * computes only this rank's tokens of each row; the other tokens of y are
 * undefined.  For each row of a block the caller's thread calls fn between two
 * stages with keys and values x [at[n]].  Those of this rank are
 * x[at[rank]..at[rank+1]-1]; fn fills in the other ranks'.  Results are the
 * same to the bit as without.
 */
void fwd_context(struct fwd *f, size_t rank, size_t n,
    void (*fn)(void *ctx, float *x, const size_t *at), void *ctx);
/* Set at[n+1] so that rank r has tokens at[r]..at[r+1]-1 of a row of T tokens.
 * Tiles are not split, so with fewer tiles than ranks some ranks have none. */
void fwd_context_split(size_t T, size_t n, size_t *at);

void fwd_embed(struct fwd *f, const struct rows *r, float *x);
/* y = block i of x; y may be x. */
void fwd_block(struct fwd *f, size_t i, const struct rows *r, const float *x,
    float *y);
/*
 * y = block i of x, with the outputs of some parts multiplied by factors: a KV
 * group's factor applies to o's columns of its heads, a channel's to its column
 * of down.  Factor 0 removes the group or channel.  Removed parts are not
 * computed, except in the products of Q, K, V, gate and up.  part NULL: the
 * whole block.
 */
struct fwd_part {
    int no_attn, no_mlp; /* leave out attention, the MLP */
    const float *group;  /* [KV] factors of the block's KV groups; NULL: 1 */
    const float *chan;   /* [mlp_i] factors; NULL: 1 */
};
void fwd_block_part(struct fwd *f, size_t i, const struct rows *r,
    const float *x, float *y, const struct fwd_part *part);
/* y = final RMSNorm of x [B,T,d]; y may be x. */
void fwd_norm(struct fwd *f, const struct rows *r, const float *x, float *y);
/* x [B,T,d] = the final states: the embedding, every block, the norm. */
void fwd_states(struct fwd *f, const struct rows *r, float *x);
#endif
