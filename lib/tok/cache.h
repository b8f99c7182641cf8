/*
 * A thread's cache of pieces, which gives the ids for the bytes of a piece.
 * The cache's size is bounded.  Its results are exact, since the bytes
 * themselves are compared.
 *
 * Pieces of at most 15 bytes have slots of 32 bytes.  Two slots share a line of
 * the processor's cache, the more recently used one first.  Longer pieces, and
 * those with too many ids, have slots of 64 bytes.  If no id needs more than 16
 * bits, a slot holds twice as many ids.
 */
#ifndef TOK_CACHE_H
#define TOK_CACHE_H

#include "tok/tok.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define CACHE_BYTES 30     /* longer pieces are not kept */
#define CACHE_SMALL 15     /* longer pieces have large slots */
#define CACHE_IDS 16       /* pieces with more ids are never kept */
#define CACHE_BITS 17      /* log2 of the most pairs of small slots: 8 MiB */
#define CACHE_LEAST 10     /* log2 of the fewest pairs of small slots */
#define CACHE_LARGER 2     /* log2 of pairs of small slots per large slot */
#define CACHE_ALL 4        /* all threads' caches: memory of 4 of the largest */
#define CACHE_ELSEWHERE 15 /* as number of ids: see the large slot */

/* The key's last byte begins at this bit of key[1].  Lower 4 bits of the byte:
 * the piece's length in bytes.  Upper 4: the piece's number of ids, or
 * CACHE_ELSEWHERE. */
#define CACHE_LAST 56
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "byte order");

struct cache_small {
    uint64_t key[2];
    uint32_t id[4]; /* 4 ids of 32 bits, or 8 of 16 bits */
};

struct cache_large {
    unsigned char key[31]; /* the piece; its length in key[30] */
    uint8_t nid;
    uint32_t id[8]; /* 8 ids of 32 bits, or 16 of 16 bits */
};

struct cache {
    struct cache_small *small; /* [2 << bits], bits = 64 - shift */
    struct cache_large *large; /* [1 << (bits - CACHE_LARGER)] */
    int shift, shift_large;    /* right shift of a 64-bit hash to the slot's
                                * number */
    int narrow;                /* ids are stored in 16 bits */
};

/* A piece that was looked up, and the slots where it belongs. */
struct cache_at {
    const struct cache *c;
    uint64_t key[2];
    struct cache_small *small; /* NULL: the piece is too long for a small
                                * slot */
    struct cache_large *large; /* NULL: large slots were not searched */
    const unsigned char *p;
    size_t n;
};

extern const unsigned char cache_masks[CACHE_SMALL + 1][16];

void tok_ids_add(struct tok_ids *a, const uint32_t *id, size_t n);
/* Make room for n more ids. */
void tok_ids_room(struct tok_ids *a, size_t n);

/* Make the cache of one of `threads` threads.  The caches of all threads are
 * together no larger than CACHE_ALL caches of the largest size, unless each has
 * the least size.  max: no id is larger. */
void cache_init(struct cache *c, size_t max, size_t threads);
void cache_release(struct cache *c);

/* cache_find for pieces of more than CACHE_SMALL bytes, or with too many ids
 * for a small slot. */
int cache_large(struct cache_at *at, struct tok_ids *out);

/* Store the ids id[n] of a piece that cache_find has not found, if they fit. */
void cache_put(const struct cache_at *at, const uint32_t *id, size_t n);

/* The key of a piece p[n], n <= CACHE_SMALL; `room` >= n bytes may be read. */
static inline void
cache_key(const unsigned char *p, size_t n, size_t room, uint64_t key[2])
{
    uint64_t mask[2];

    if (room >= 16) {
        memcpy(mask, cache_masks[n], 16);
        memcpy(key, p, 16);
        key[0] &= mask[0];
        key[1] &= mask[1];
    } else {
        key[0] = key[1] = 0;
        memcpy(key, p, n);
    }
    key[1] |= (uint64_t)n << CACHE_LAST;
}

static inline size_t
cache_hash(const struct cache *c, const uint64_t key[2])
{
    const uint64_t h = key[0] * UINT64_C(0x9e3779b97f4a7c15) +
        key[1] * UINT64_C(0xbf58476d1ce4e5b9);

    return (size_t)(h >> c->shift);
}

static inline size_t
cache_hash_large(const struct cache *c, const unsigned char *p, size_t n)
{
    uint64_t a[2] = { 0 }, b[2] = { 0 };

    if (n >= 16) {
        memcpy(a, p, 16);
        memcpy(b, p + n - 16, 16);
    } else {
        memcpy(a, p, n);
    }
    a[0] = (a[0] + n) * UINT64_C(0x9e3779b97f4a7c15) +
        a[1] * UINT64_C(0xbf58476d1ce4e5b9) +
        b[0] * UINT64_C(0x94d049bb133111eb) +
        b[1] * UINT64_C(0xd6e8feb86659fd93);
    return (size_t)(a[0] >> c->shift_large);
}

/* Set *at to the slots of the piece p[n], 1 <= n <= CACHE_BYTES, and prefetch
 * them.  `room` >= n bytes may be read from p as long as *at is used. */
static inline void
cache_seek(const struct cache *c, const unsigned char *p, size_t n, size_t room,
    struct cache_at *at)
{
    at->c = c;
    at->p = p;
    at->n = n;
    at->small = NULL;
    at->large = NULL;
    if (n <= CACHE_SMALL) {
        cache_key(p, n, room, at->key);
        at->small = c->small + 2 * cache_hash(c, at->key);
        __builtin_prefetch(at->small);
    } else {
        __builtin_prefetch(c->large + cache_hash_large(c, p, n));
    }
}

/* Append the n ids of a small slot; *out has room for CACHE_IDS. */
static inline void
cache_copy(const struct cache *c, const uint32_t id[4], size_t n,
    struct tok_ids *out)
{
    uint32_t *to = out->v + out->n;

    if (c->narrow) {
        uint16_t few[8];
        uint32_t wide[8];

        memcpy(few, id, sizeof few);
        for (int i = 0; i < 8; i++)
            wide[i] = few[i];
        memcpy(to, wide, sizeof wide);
    } else {
        memcpy(to, id, 16);
    }
    out->n += n;
}

/* Look up a piece after cache_seek.  1: its ids have been appended; 0: not
 * found, *at is ready for cache_put. */
static inline int
cache_find(struct cache_at *at, struct tok_ids *out)
{
    const uint64_t count = UINT64_C(0xf0) << CACHE_LAST;
    struct cache_small *s = at->small, swap;

    if (out->cap - out->n < CACHE_IDS)
        tok_ids_room(out, CACHE_IDS);
    if (!s)
        return cache_large(at, out);
    if (s->key[0] != at->key[0] || (s->key[1] & ~count) != at->key[1]) {
        s++;
        if (s->key[0] != at->key[0] || (s->key[1] & ~count) != at->key[1])
            return 0;
        s--; /* the slot that was used moves to the front */
        swap = s[0];
        s[0] = s[1];
        s[1] = swap;
    }
    if ((s->key[1] & count) == count)
        return cache_large(at, out);
    cache_copy(at->c, s->id, (s->key[1] & count) >> (CACHE_LAST + 4), out);
    return 1;
}

/* Has the small slot of *at been filled since cache_find? */
static inline int
cache_known(const struct cache_at *at)
{
    const struct cache_small *s = at->small;

    return s && !at->large && s->key[0] == at->key[0] &&
        (s->key[1] & ~(UINT64_C(0xf0) << CACHE_LAST)) == at->key[1];
}

#endif
