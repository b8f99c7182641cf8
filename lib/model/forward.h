/*
 * Running a model: embed, then one block after another, then final norm and
 * head, with explicit inputs and outputs, so that everybody walks the list:
 * the teacher taps blocks, the pruner skips them and restarts from a cached
 * prefix, the trainer keeps or recomputes what the backward pass needs.
 *
 * Activations are fp32, row-major [B,T,d].  A token attends to the tokens of
 * its own piece at or before it; positions count from the piece's start.
 * Padding tokens (first = UINT32_MAX) give zeros and cost no attention.
 * Each matrix product is cut into fixed tiles of at most FWD_TILE rows that
 * start at a row's first token and are padded with zeros to full size, so a
 * token's bits depend neither on threads nor on its neighbours in the batch.
 * (The size of the tiles follows from r->T alone.)
 */
#ifndef MODEL_FORWARD_H
#define MODEL_FORWARD_H

#include "base/err.h"
#include "base/pool.h"
#include "model/model.h"

#include <stddef.h>
#include <stdint.h>

enum { FWD_TILE = 512 };

struct rows {
    size_t B, T;
    const uint32_t *ids;   /* [B,T] < V */
    const uint32_t *first; /* [B,T] place in its row of the first token of
                             * its piece, UINT32_MAX for padding */
};

struct fwd;

/* Work space for m with at most B rows of T tokens.  m and pool outlive it.
 * kern_init must have succeeded, or it is called and must. */
struct fwd *fwd_new(const struct model *m, struct pool *pool, size_t B,
    size_t T);
/* Work space as of fwd_new, without the room that logits take: for fwd_embed,
 * fwd_block, fwd_block_part, fwd_norm and head_top_rows alone. */
struct fwd *fwd_new_blocks(const struct model *m, struct pool *pool, size_t B,
    size_t T);
void fwd_free(struct fwd *f);
size_t fwd_bytes(const struct fwd *f); /* memory it holds */

/*
 * From here on a piece may go on from a stem, which several may share: a token
 * attends to the nstem tokens of its row from place stem on as well, all before
 * its piece, and its position counts from there; nstem = 0: it has none.  Both
 * [B,T] as in struct rows, not copied; NULL: no stems.
 */
void fwd_stems(struct fwd *f, const uint32_t *stem, const uint32_t *nstem);

/*
 * Inputs of the linear layers of a block: of q, k and v; o; gate and up; down.
 * From here on fn is called with each, in this order, in every block that is
 * run, by the caller's thread between two stages, so that it may use the pool.
 * A block without attention or MLP has none of its inputs.  fn NULL: no more
 * calls.  The results have the same bits.
 */
enum fwd_input { FWD_ATTN, FWD_O, FWD_MLP, FWD_DOWN, FWD_INPUTS };
struct fwd_tapped {
    size_t block;
    enum fwd_input input;
    const struct rows *r;
    size_t Tp;           /* rows of a sequence in x, T at least */
    size_t n, ld;        /* channels; floats from a row to the next */
    const float *x;      /* [B,Tp,n] with ld; rows past T and of padding are
                           * zero */
    const float *stream; /* [B,T,d] what the branch (attention, MLP) read and
                           * will be added to */
};
void fwd_tap(struct fwd *f, void (*fn)(void *ctx, const struct fwd_tapped *t),
    void *ctx);

/*
 * The model is a share of one (share.h).  From here on fn is called in every
 * block with what this share's o gives, then with what its down does, x [n], by
 * the caller's thread between two stages: it puts the sum of all shares' there,
 * each of which calls it as often with the same n.
 */
void fwd_sum(struct fwd *f, void (*fn)(void *ctx, float *x, size_t n),
    void *ctx);

/*
 * Rows that n ranks share (context parallel): from here on fwd_block runs those
 * tokens of each row alone that are its rank's, and the others' in y are of no
 * value.  fn is called for each row of a block by the caller's thread between
 * two stages with keys and values x [at[n]], of which at[rank]..at[rank+1] are
 * this rank's: it brings those of the others.  The same bits as without.
 */
void fwd_context(struct fwd *f, size_t rank, size_t n,
    void (*fn)(void *ctx, float *x, const size_t *at), void *ctx);
/* Cut rows of T for n ranks: rank r has tokens at[r]..at[r+1]: whole tiles, of
 * which there may be fewer than ranks. */
void fwd_context_split(size_t T, size_t n, size_t *at);

void fwd_embed(struct fwd *f, const struct rows *r, float *x);
/* y = block i of x; y may be x. */
void fwd_block(struct fwd *f, size_t i, const struct rows *r, const float *x,
    float *y);
/*
 * y = block i of x without some of its parts, for which nothing is computed
 * (but the products of Q, K and V, gate and up are those of all groups and
 * channels): as if o's columns of the heads of a KV group, and down's of a
 * channel, were multiplied by its factor, where 0 removes it.  part NULL: all
 * of it.
 */
struct fwd_part {
    int no_attn, no_mlp; /* nothing of attention, of the MLP */
    const float *group;  /* [KV] factors, KV those of the block; NULL: 1 */
    const float *chan;   /* [mlp_i] factors; NULL: 1 */
};
void fwd_block_part(struct fwd *f, size_t i, const struct rows *r,
    const float *x, float *y, const struct fwd_part *part);
/* y = final RMSNorm of x [B,T,d]; y may be x. */
void fwd_norm(struct fwd *f, const struct rows *r, const float *x, float *y);
/* x [B,T,d] = the final states: the embedding, every block, the norm. */
void fwd_states(struct fwd *f, const struct rows *r, float *x);
#endif
