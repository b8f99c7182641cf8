/* Generation with a cache of keys and values in pages. */
#ifndef MODEL_FORWARD_KV_H
#define MODEL_FORWARD_KV_H

#include "base/pool.h"
#include "kern/attn.h"
#include "model/files/model.h"

#include <stddef.h>
#include <stdint.h>

/*
 * The keys and values of texts lie in pages of KV_PAGE tokens.  A text takes a
 * free page whenever it grows past its last one.  Several texts may share a
 * page that is full: each page counts its users, and is free when it has none.
 * Kwon et al., arXiv:2309.06180.
 *
 * The bits of a token's final state and logits depend on the tokens of its text
 * up to it and on nothing else: not on the calls that fed them, other texts,
 * shared pages, pages' places, or threads.  They are the bits of fwd_states
 * (model/pass/forward.h) and fwd_head (model/pass/head.h) of the whole text as
 * one row.  Where angles of RoPE depend on the length of a text, the bits
 * depend on kv_more.length too: they are the bits of fwd_states for a row of
 * that length.
 *
 * A model with `linear` blocks has a state for each text too (text_states.h),
 * beside the pages.  Its texts cannot share pages.
 *
 * Texts and pages are numbers below those given to kv_new.  Functions that
 * return nothing cannot fail; a wrong number is a mistake of the programmer.
 */
enum {
    KV_PAGE = ATTN_TILE,
    KV_BACK =
        64 /* most tokens that kv_cut takes from the end of a text with the
                  * short convolution, and so the most guesses of a draft */
};
struct kvcache;
/* A cache of `texts` empty texts of at most `longest` tokens, with `pages`
 * pages for all.  m and pool outlive it. */
struct kvcache *kv_new(const struct model *m, struct pool *pool, size_t texts,
    size_t pages, size_t longest);
void kv_free(struct kvcache *k);
/* kv_cache_bytes: bytes of the keys and values in all pages.  kv_bytes: bytes
 * of the whole kvcache. */
size_t kv_cache_bytes(const struct kvcache *k);
size_t kv_bytes(const struct kvcache *k);

/* kv_length: tokens of a text.  kv_table: its pages, in the order of its
 * tokens; valid until the text changes. */
size_t kv_length(const struct kvcache *k, size_t text);
const uint32_t *kv_table(const struct kvcache *k, size_t text);
/* kv_pages: pages that n tokens fill, the last one perhaps in part.  kv_unused:
 * pages that are free. */
size_t kv_pages(size_t n);
size_t kv_unused(const struct kvcache *k);
/* Begin an empty text with n full pages, which are either the first pages of
 * another text or held.  page [n] is copied. */
void kv_share(struct kvcache *k, size_t text, const uint32_t *page, size_t n);
/* Shorten a text to its first n tokens; pages that it no longer needs lose a
 * user.  Pages with tokens that are cut off must not be shared or held.  In a
 * model with the gated delta rule n is 0: its state does not go back.  In one
 * with the short convolution n is 0, or at most KV_BACK tokens are cut off. */
void kv_cut(struct kvcache *k, size_t text, size_t n);
/* Empty a text: its pages lose a user. */
void kv_drop(struct kvcache *k, size_t text);
/* kv_hold: a page that is in use gets one more user: the caller, who keeps its
 * keys and values for texts to come.  kv_release takes this user away. */
void kv_hold(struct kvcache *k, uint32_t page);
void kv_release(struct kvcache *k, uint32_t page);

/* n more tokens of a text. */
struct kv_more {
    size_t text;
    const uint32_t *ids; /* [n], n > 0 */
    size_t n;
    int logits;    /* 1: the logits after the last of them are wanted */
    float *states; /* [n,d] out: final states of these n tokens (for
                    * head_score, head_top_rows); NULL: not wanted */
    /* Used where angles depend on the length of a text (model/pass/angles.h):
     * the first `length` tokens of the text have the angles of a text of
     * `length` tokens; token i from there on has the angles of a text of i + 1
     * tokens. */
    size_t length;
};
/*
 * Feed more tokens to n > 0 different texts.  logits: a row [V] for each text
 * that wants them, in the order of t; NULL: none does.  Returns -1 if a text
 * would be longer than `longest`, or if too few pages are free; nothing was
 * done then.
 */
int kv_feed(struct kvcache *k, const struct kv_more *t, size_t n,
    float *logits);
/* logits [n,V] of n final states [n,d], in the arithmetic of kv_feed. */
void kv_head(struct kvcache *k, const float *states, size_t n, float *logits);

#endif
