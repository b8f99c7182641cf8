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
 *
 * The steps of a block are in forward_block.c, generation with a cache of keys
 * and values in forward_kv.c, logits in head.c, the most probable tokens in
 * head_top.c, one of them to go on with in sample.c.
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
/* The same without the room that logits take: for fwd_embed, fwd_block,
 * fwd_block_part, fwd_norm and head_top_rows alone. */
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
 * What the linear layers of a block multiply: q, k and v; o; gate and up; down.
 * From here on fn is called with each, in this order, in every block that is
 * run, by the caller's thread between two stages, so that it may use the pool.
 * A block without attention or MLP has none of its inputs.  fn NULL: no more.
 * The results have the same bits.
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
/* Of rows of T, rank r of n has tokens at[r]..at[r+1]: whole tiles, of which
 * there may be fewer than ranks. */
void fwd_context_split(size_t T, size_t n, size_t *at);

void fwd_embed(struct fwd *f, const struct rows *r, float *x);
/* y = block i of x; y may be x. */
void fwd_block(struct fwd *f, size_t i, const struct rows *r, const float *x,
    float *y);
/*
 * The same without some of its parts, for which nothing is computed (but the
 * products of Q, K and V, gate and up are those of all groups and channels): as
 * if o's columns of the heads of a KV group, and down's of a channel, were
 * multiplied by its factor, where 0 removes it.  part NULL: all of it.
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
/* x [B,T,d] = all of that: the embedding, every block, the norm. */
void fwd_states(struct fwd *f, const struct rows *r, float *x);
/* logits [n,V] of n final (normed) hidden states h [n,d]. */
void fwd_head(struct fwd *f, const float *h, size_t n, float *logits);

/* From here on what is read of the head does not stay in memory where it lies
 * in a file: for few predictions of a large vocabulary. */
void fwd_forget_head(struct fwd *f);

/*
 * Scores of n predictions from final hidden states, without an [n,V] array.
 * h [n,d]; target [n], may be NULL with nll; out arrays may be NULL.
 *   nll[i]  = -log softmax(z_i)[target_i]          nats
 *   lse[i]  = log sum exp(z_i)
 *   top[i]  = argmax z_i (lowest index on ties)
 */
void head_score(struct fwd *f, const float *h, const uint32_t *target, size_t n,
    double *nll, double *lse, uint32_t *top);
/*
 * The same for two models, f's (the judged one, q) and base's (p), over the ids
 * below V alone, which both have; a target of V or more has no nll.  Per
 * prediction
 *   kl[i]   = KL(softmax(zp/tau) || softmax(zq/tau))   nats, not times tau^2
 *   back[i] = KL(softmax(zq/tau) || softmax(zp/tau))
 *   agree[i]= argmax equal
 */
struct pair_score {
    double nll_q, nll_p, kl, back;
    int agree;
};
void head_score_pair(struct fwd *f, const float *hq, struct fwd *base,
    const float *hp, size_t V, const uint32_t *target, size_t n, double tau,
    struct pair_score *out);
/* The same, to the bit, with the base's logits zp [n,V], as fwd_head gives
 * them: for many models against one base. */
void head_score_logits(struct fwd *f, const float *hq, const float *zp,
    const uint32_t *target, size_t n, double tau, struct pair_score *out);

/*
 * What a teacher says of n predictions, h [n,d], instead of showing h: their k
 * most probable tokens, or tokens drawn by chance, or both.  Of every
 * prediction logits exist for a few rows only.  The bits depend on h's row (and
 * u) alone.
 *   lse  [n,2]     log sum exp(z), log sum exp(z/tau); not finite when a logit
 *                  is not
 *   self [n]       sum p log p, p = softmax(z/tau)              nats
 *   ids  [n,k]     by falling logit, the lower id first where two are equal
 *   logp [n,k]     log softmax(z), at most 0
 *   drawn, count [n,draws]
 *                  how often tokens come up in so many draws from p, by rising
 *                  id; after them zeros.  The draws are systematic: with one
 *                  u [n] in [0,1) the points (i + u)/draws of the sum of p in
 *                  the order of ids.  So the expected share of each token is
 *                  its p, and it is off by less than 1/draws.
 */
struct head_targets {
    float *lse;
    double *self;
    uint32_t *ids; /* if k > 0 */
    float *logp;
    uint32_t *drawn; /* if draws > 0 */
    uint16_t *count;
    const double *u;
};
struct head_top;
/* k <= V; draws <= 65535 */
struct head_top *head_top_new(const struct model *m, struct pool *pool,
    size_t k, size_t draws);
void head_top_free(struct head_top *t);
size_t head_top_bytes(const struct head_top *t);
/* f: of the same model and pool. */
void head_top_rows(struct head_top *t, struct fwd *f, const float *h, size_t n,
    double tau, const struct head_targets *targets);

/*
 * Generation: `slots` texts, each with a cache of at most T keys and values.
 * The weights are read and widened once for many tokens, of whatever texts.
 * The tokens of a prompt are multiplied as in a batch of rows; one more token
 * of a text, as fits few rows.  A text's logits depend to the bit on its own
 * tokens and on which of them came together, not on slots, neighbours or
 * threads.
 */
struct kvcache;
/* m and pool outlive it. */
struct kvcache *kv_new(const struct model *m, struct pool *pool, size_t slots,
    size_t T);
void kv_free(struct kvcache *k);
/* Memory of the keys and values of all slots; of all of it. */
size_t kv_cache_bytes(const struct kvcache *k);
size_t kv_bytes(const struct kvcache *k);
/* The slot's text is empty again. */
void kv_clear(struct kvcache *k, size_t slot);
/* n more tokens of the text in a slot. */
struct kv_more {
    size_t slot;
    const uint32_t *ids; /* [n], n > 0 */
    size_t n;
};
/* More tokens of n > 0 texts, in different slots; logits [n,V] of the last one
 * of each.  -1 when a cache has no room for them, then nothing was done. */
int kv_feed(struct kvcache *k, const struct kv_more *t, size_t n,
    float *logits);

/*
 * sample.c: one token for logits z [V], all finite.  A temperature tau > 0
 * makes probabilities p = softmax(z/tau) of them.  The nucleus of top_p in
 * (0,1] is the smallest set of the most probable tokens (of equals the lower
 * ids) whose p add up to top_p or more: Holtzman et al., arXiv:1904.09751.
 */
struct sample_room {
    float *term;   /* [V] */
    uint64_t *key; /* [V] */
    uint32_t *ids; /* [V] */
};
/* ids of the nucleus by falling probability to r->ids; how many. */
size_t sample_nucleus(const float *z, size_t V, double tau, double top_p,
    struct sample_room *r);
/* The token at the point u in [0,1) of the sum of p: of all in order of ids if
 * top_p is 1, else of those of the nucleus, most probable first. */
uint32_t sample_draw(const float *z, size_t V, double tau, double top_p,
    double u, struct sample_room *r);
/* The largest logit, the lowest id of equals; UINT32_MAX when one of them is
 * not finite. */
uint32_t sample_best(const float *z, size_t V);

#endif
