/* Attention of one sequence, forward and backward. */
#ifndef KERN_ATTN_H
#define KERN_ATTN_H

#include <stddef.h>
#include <stdint.h>

/*
 * Attention of one row (sequence) by tiles of ATTN_TILE queries and keys, so
 * nothing of size T x T exists.  Dao et al., arXiv:2205.14135 (tiles and saved
 * statistics).
 *
 * Head h of token t lies at q + t*ld + h*D.  Key-value head h of token t lies
 * at k + t*ld + h*D and v + t*ld + h*D; query head h uses key-value head
 * h/(H/KV).  The leading dimension of out and its gradient is ldo.  q and k are
 * rotated already.  q, k, v, out and their gradients have Tp rows, Tp a
 * multiple of ATTN_TILE; rows past T are padding.
 *
 * Token t attends to first[t]..t.  first[t] = UINT32_MAX: the token is padding,
 * and its output is zero.  If stem is not NULL, token t also attends to the
 * nstem[t] tokens from stem[t] on, which end before first[t]; attn_bwd ignores
 * stem.
 */
enum { ATTN_TILE = 64 };
struct attn {
    size_t T, Tp, H, KV, D;
    size_t ld;  /* leading dimension of q, k, v and their gradients */
    size_t ldo; /* leading dimension of out and its gradient */
    const float *q, *k, *v;
    const uint32_t *first; /* [T] */
    float *out;
    float *lse;                   /* [H,Tp] log-sum-exps of scores as scaled
                                   * and capped, the sink's among them */
    float scale;                  /* factor of the scores; 0: 1 / sqrt(D) */
    const uint32_t *stem, *nstem; /* [T] or NULL */
    float cap;         /* scores s become cap tanh(s/cap); 0: they stay */
    const float *sink; /* [H] score of a key without a value, to which every
                        * query of a head attends: it takes part of the weight
                        * (gpt-oss, arXiv:2508.10925, s. 2.2); NULL: none */
};
/* Floats of scratch that one call of attn_fwd or attn_bwd needs. */
size_t attn_scratch(const struct attn *a);
/* The number of pairs of a query of tile qt and a key that the query attends
 * to. */
double attn_pairs(const struct attn *a, size_t qt);
/* Forward pass for query tile qt of all heads that share key-value head kvh. */
void attn_fwd(const struct attn *a, size_t kvh, size_t qt, float *scratch);

/*
 * Attention of tokens of a text whose keys and values lie in pages of ATTN_TILE
 * tokens: page[i] has tokens i * ATTN_TILE on.  Page p of one key-value head
 * has its keys p * attn_page_bytes(D) bytes after k, as columns [D,ATTN_TILE],
 * and its values as many after v, as rows [ATTN_TILE,D]; struct kern_pages says
 * how these are laid out.  The memory of keys is zero before its first use, and
 * that of a page's values whenever the page begins to hold another text: what
 * lies behind the last token is multiplied by zero, and must not be NaN.
 * Queries and keys are rotated already.
 */
struct attn_text {
    size_t G, D; /* query heads of the key-value head, size of a head */
    const void *k, *v;
    const uint32_t *page;
    size_t window;  /* a token attends to at most this many tokens; 0: to all */
    float scale;    /* as in struct attn */
    const float *q; /* head g of row i at q + i*ld + g*D */
    size_t ld;
    float *out; /* out of head g of row i at out + i*ldo + g*D */
    size_t ldo;
    float cap;         /* as in struct attn */
    const float *sink; /* [G] as in struct attn, or NULL */
};
/* Bytes of the keys, or values, of a page of one head, a multiple of 64. */
size_t attn_page_bytes(size_t D);
/* Store the key and the value [D] of one token in a page of one head.  keys,
 * values: where the page's keys and its values begin.  at: the token's index in
 * the page, 0 to ATTN_TILE - 1. */
void attn_text_put(void *keys, void *values, size_t at, size_t D,
    const float *key, const float *value);
/* Floats of scratch that a call of attn_text_fwd needs. */
size_t attn_text_scratch(size_t G, size_t D);
/* Forward pass for the n tokens from t0 on, which lie in one page.  Each output
 * has the bits of attn_fwd of the whole text as one row. */
void attn_text_fwd(const struct attn_text *a, size_t t0, size_t n,
    float *scratch);

/* Backward pass for query head h.  Overwrites dq (laid out as q) and dkh, dvh
 * [Tp,D], this head's terms of dk and dv; the caller adds the terms of the
 * heads that share a key-value head.  dout: laid out as out. */
void attn_bwd(const struct attn *a, size_t h, const float *dout, float *dq,
    float *dkh, float *dvh, float *scratch);

/* Backward pass for the sink of query head h, after attn_fwd has set out and
 * lse.  Sets column h of dsink [Tp,H] to each token's term of the gradient at
 * the sink, 0 for padding; the caller adds up the terms. */
void attn_sink_bwd(const struct attn *a, size_t h, const float *dout,
    float *dsink);

#endif
