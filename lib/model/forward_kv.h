/* Generation with a cache of keys and values. */
#ifndef MODEL_FORWARD_KV_H
#define MODEL_FORWARD_KV_H

#include "base/pool.h"
#include "model/model.h"

#include <stddef.h>
#include <stdint.h>

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

#endif
