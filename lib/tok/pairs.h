/* The merge of a pair of symbols. */
#ifndef TOK_PAIRS_H
#define TOK_PAIRS_H

#include "tok/tokenizer.h"

static inline uint64_t
pair_key(uint32_t a, uint32_t b)
{
    return (uint64_t)a << 32 | b;
}

static inline uint64_t
pair_hash(uint64_t key)
{
    key *= UINT64_C(0x9e3779b97f4a7c15);
    return key ^ key >> 29;
}

/* The first slot to look at for a pair. */
static inline size_t
pair_start(const struct tokenizer *t, uint64_t key)
{
    return (size_t)(pair_hash(key) >> 12) & t->pair_mask;
}

/* The slot of the pair with that key, or the empty slot where it belongs. */
static inline struct pair_slot *
pair_at(const struct tokenizer *t, uint64_t key)
{
    size_t i = pair_start(t, key);

    while (t->pair[i].m.rank != TOK_NONE && t->pair[i].key != key)
        i = (i + 1) & t->pair_mask;
    return &t->pair[i];
}

/* The word of the Bloom filter for a pair; *bits: its two bits there.  Most
 * pairs that are looked up do not merge; the filter, which stays in the
 * processor's caches, tells this for nearly all of them. */
static inline uint64_t *
pair_word(const struct tokenizer *t, uint64_t hash, uint64_t *bits)
{
    *bits = UINT64_C(1) << (hash & 63) | UINT64_C(1) << (hash >> 6 & 63);
    return &t->pair_bits[(hash >> 32) * t->pair_words >> 32];
}

/* The merge of the pair (a, b); rank TOK_NONE: the pair does not merge. */
static inline struct merge
pair_find(const struct tokenizer *t, uint32_t a, uint32_t b)
{
    const uint64_t key = pair_key(a, b);
    uint64_t bits, *const word = pair_word(t, pair_hash(key), &bits);

    return (*word & bits) != bits ? (struct merge){ TOK_NONE, TOK_NONE }
                                  : pair_at(t, key)->m;
}

#endif
