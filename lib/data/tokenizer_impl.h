/* What the files of the tokenizer share; see tokenizer.h. */
#ifndef DATA_TOKENIZER_IMPL_H
#define DATA_TOKENIZER_IMPL_H

#include "data/tokenizer.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TOK_NONE UINT32_MAX             /* no id, no rank */

/* The pre-tokenizers that are known, each with a scanner of its own. */
enum split {
    SPLIT_NONE,         /* a gap is one piece */
    SPLIT_GPT2,         /* the pattern of ByteLevel(use_regex) */
    SPLIT_GPT2_DIGITS,  /* Digits(individual), then that on what is between */
    SPLIT_CL100K,       /* Llama 3: numbers in pieces of at most 3 */
    SPLIT_CL100K_1,     /* Qwen 2: of 1 */
    SPLIT_TEKKEN        /* Mistral: words by case, numbers of 1 */
};

/* Length in bytes of the first piece of p < end. */
size_t split_piece(enum split kind, const unsigned char *p,
    const unsigned char *end);

/* A merge: the pair's rank and what it becomes; rank TOK_NONE: no merge. */
struct merge {
    uint32_t rank, id;
};
struct pair_slot {
    uint64_t key;       /* left << 32 | right */
    struct merge m;     /* rank TOK_NONE: empty slot */
};

/* An added token; flags are those of the JSON. */
struct added {
    const char *s;      /* n bytes, in the pool */
    size_t n;
    uint32_t id;
    uint8_t single_word, lstrip, rstrip, normalized, special;
};

/* Added tokens that are looked for together: sorted by content, those that
 * begin with byte c are a[start[c]] .. a[start[c+1]-1]. */
struct added_set {
    struct added *a;
    size_t n;
    size_t start[257];
    int only;           /* the one first byte, or -1 */
    int all_special;
};

struct tok_text {
    size_t off;         /* in the pool */
    uint32_t n;
    uint8_t known;      /* a token has this id */
    uint8_t added, special;
};

struct tokenizer {
    size_t nid;                 /* 1 + largest id */
    struct tok_text *text;      /* [nid] bytes that the id stands for */
    struct buf pool;
    uint32_t *slot;             /* hash of bytes to id; mask + 1 slots */
    size_t slot_mask;
    uint32_t byte_id[256];      /* TOK_NONE: the byte vanishes */
    struct merge *byte_pair;    /* [256*256] merges of two bytes */
    struct pair_slot *pair;     /* all merges; pair_mask + 1 slots */
    size_t pair_mask, nmerge;
    int ignore_merges;
    enum split split;
    struct added_set raw, norm; /* not normalized, normalized */
    int64_t before, after;      /* of the post-processor */
    int64_t bos, eos;           /* of configuration files */
    char hash[33];
};

/* Bounded memory of one thread. */
struct cache_slot {
    uint64_t key[3];    /* the piece, padded with zero bytes */
    uint8_t len, n;     /* bytes; ids; len 0: empty */
    uint32_t id[9];
};
#define CACHE_BYTES 24
#define CACHE_IDS 9
#define CACHE_BITS 15

struct tok_scratch {
    struct cache_slot *cache;   /* [1 << CACHE_BITS] */
    uint32_t *id;                       /* [id_cap], see bpe_symbols */
    size_t id_cap;
    uint32_t *rank, *prev, *next;       /* [cap] of a long piece */
    uint64_t *heap;             /* [3*cap] */
    size_t cap;
};

static inline size_t
pair_hash(uint64_t key)
{
    key *= UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(key >> 32 ^ key >> 52);
}

static inline struct merge
pair_find(const struct tokenizer *t, uint32_t a, uint32_t b)
{
    const uint64_t key = (uint64_t)a << 32 | b;
    size_t i = pair_hash(key) & t->pair_mask;

    while (t->pair[i].m.rank != TOK_NONE && t->pair[i].key != key)
        i = (i + 1) & t->pair_mask;
    return t->pair[i].m;
}

/* Id of bytes in the vocabulary, or TOK_NONE. */
uint32_t vocab_find(const struct tokenizer *t, const void *p, size_t n);

void tok_ids_add(struct tok_ids *a, const uint32_t *id, size_t n);

/* Memory for n symbols to merge, of s, until the next call. */
uint32_t *bpe_symbols(struct tok_scratch *s, size_t n);
/* Merge id[n] in place by the merges of t; returns how many are left. */
size_t bpe_merge(const struct tokenizer *t, struct tok_scratch *s, uint32_t *id,
    size_t n);
/* The same where id[i] is byte_id[byte[i]]: pairs of bytes are found faster. */
size_t bpe_merge_bytes(const struct tokenizer *t, struct tok_scratch *s,
    uint32_t *id, size_t n, const unsigned char *byte);

/*
 * The cache of pieces of 1 .. CACHE_BYTES bytes and their ids; `room` bytes,
 * at least n, may be read from p.  cache_get appends the ids to *out: 1; or
 * sets *at for cache_put, which keeps id[n] where it can: 0.
 */
struct cache_at {
    uint64_t key[3];
    size_t n;
    struct cache_slot *slot;
};

static inline int
cache_get(struct tok_scratch *s, const unsigned char *p, size_t n, size_t room,
    struct cache_at *at, struct tok_ids *out)
{
    uint64_t h;
    struct cache_slot *c;

    memset(at->key, 0, sizeof at->key);
    if (n <= 8 && room >= 8) {
        memcpy(at->key, p, 8);
        at->key[0] &= UINT64_MAX >> (64 - 8 * n);
    } else {
        memcpy(at->key, p, n);
    }
    h = at->key[0] * UINT64_C(0x9e3779b97f4a7c15);
    h ^= h >> 29;
    h = (h + at->key[1]) * UINT64_C(0xbf58476d1ce4e5b9);
    h ^= h >> 32;
    h = (h + at->key[2] + n) * UINT64_C(0x94d049bb133111eb);
    at->n = n;
    at->slot = c = &s->cache[h >> (64 - CACHE_BITS)];
    if (c->len != n || c->key[0] != at->key[0] || c->key[1] != at->key[1] ||
        c->key[2] != at->key[2])
        return 0;
    if (out->cap - out->n < CACHE_IDS) {
        tok_ids_add(out, c->id, c->n);
    } else {
        memcpy(out->v + out->n, c->id, sizeof c->id);
        out->n += c->n;
    }
    return 1;
}

static inline void
cache_put(const struct cache_at *at, const uint32_t *id, size_t n)
{
    if (n > CACHE_IDS)
        return;
    memcpy(at->slot->key, at->key, sizeof at->key);
    at->slot->len = (uint8_t)at->n;
    at->slot->n = (uint8_t)n;
    if (n)
        memcpy(at->slot->id, id, n * sizeof *id);
}

/* Encode text without added tokens. */
void bpe_gap(const struct tokenizer *t, struct tok_scratch *s,
    const unsigned char *p, size_t n, struct tok_ids *out);

/* Sort and index a set whose a[n] has been filled; of equal contents the
 * caller has left one. */
void added_index(struct added_set *set);
/* Encode text: added tokens first, the rest by bpe_gap. */
void added_encode(const struct tokenizer *t, struct tok_scratch *s,
    const unsigned char *p, size_t n, int flags, struct tok_ids *out);

#endif
