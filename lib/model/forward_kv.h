/* Generation with a cache of keys and values. */
#ifndef MODEL_FORWARD_KV_H
#define MODEL_FORWARD_KV_H

#include "base/pool.h"
#include "model/model.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Generation: `slots` texts, each with a cache of at most T keys and values.
 *
 * Weights are read and widened once for many tokens of any texts.  Tokens of a
 * prompt are multiplied as rows of a batch; a text's single next token by
 * kernels for few rows.  So the bits of a text's logits depend on its tokens
 * and on which of them were fed in one call; they do not depend on slots, other
 * texts or threads.
 */
struct kvcache;
/* m and pool outlive it. */
struct kvcache *kv_new(const struct model *m, struct pool *pool, size_t slots,
    size_t T);
void kv_free(struct kvcache *k);
/* kv_cache_bytes: bytes of the keys and values of all slots.  kv_bytes: bytes
 * of the whole kvcache. */
size_t kv_cache_bytes(const struct kvcache *k);
size_t kv_bytes(const struct kvcache *k);
/* Forget the slot's text. */
void kv_clear(struct kvcache *k, size_t slot);
/* n more tokens of the text in a slot. */
struct kv_more {
    size_t slot;
    const uint32_t *ids; /* [n], n > 0 */
    size_t n;
};
/* Feed more tokens to n > 0 texts, each in a slot of its own.  logits [n,V]:
 * those after each text's last token.  -1: a cache has no room for its tokens;
 * nothing was done. */
int kv_feed(struct kvcache *k, const struct kv_more *t, size_t n,
    float *logits);

#endif
