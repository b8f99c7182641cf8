/* The cache of pieces; see cache.h. */
#include "tok/cache.h"

#include "base/mem.h"

#include <stdlib.h>

#define F 255
const unsigned char cache_masks[CACHE_SMALL + 1][16] = { { 0 }, { F }, { F, F },
    { F, F, F }, { F, F, F, F }, { F, F, F, F, F }, { F, F, F, F, F, F },
    { F, F, F, F, F, F, F }, { F, F, F, F, F, F, F, F },
    { F, F, F, F, F, F, F, F, F }, { F, F, F, F, F, F, F, F, F, F },
    { F, F, F, F, F, F, F, F, F, F, F }, { F, F, F, F, F, F, F, F, F, F, F, F },
    { F, F, F, F, F, F, F, F, F, F, F, F, F },
    { F, F, F, F, F, F, F, F, F, F, F, F, F, F },
    { F, F, F, F, F, F, F, F, F, F, F, F, F, F, F } };
#undef F

void
tok_ids_room(struct tok_ids *a, size_t n)
{
    if (a->cap - a->n >= n)
        return;
    while (a->cap - a->n < n)
        a->cap = a->cap ? 2 * a->cap : 256;
    a->v = xreallocarray(a->v, a->cap, sizeof *a->v);
}

void
tok_ids_add(struct tok_ids *a, const uint32_t *id, size_t n)
{
    tok_ids_room(a, n);
    if (n)
        memcpy(a->v + a->n, id, n * sizeof *id);
    a->n += n;
}

void
tok_ids_push(struct tok_ids *a, uint32_t id)
{
    tok_ids_room(a, 1);
    a->v[a->n++] = id;
}

void
cache_init(struct cache *c, size_t max, size_t threads)
{
    int bits = CACHE_BITS;

    while (bits > CACHE_LEAST &&
        threads > (size_t)CACHE_ALL << (CACHE_BITS - bits))
        bits--;
    c->shift = 64 - bits;
    c->shift_large = c->shift + CACHE_LARGER;
    c->narrow = max <= UINT16_MAX;
    c->small = xtable((size_t)2 << bits, sizeof *c->small, 0);
    c->large = xtable((size_t)1 << (bits - CACHE_LARGER), sizeof *c->large, 0);
}

void
cache_release(struct cache *c)
{
    free(c->small);
    free(c->large);
}

int
cache_large(struct cache_at *at, struct tok_ids *out)
{
    const struct cache *const c = at->c;
    struct cache_large *s = c->large + cache_hash_large(c, at->p, at->n);

    at->large = s;
    if (s->key[30] != at->n || memcmp(s->key, at->p, at->n) != 0)
        return 0;
    if (c->narrow) {
        uint16_t id[CACHE_IDS];

        memcpy(id, s->id, sizeof id);
        for (size_t i = 0; i < s->nid; i++)
            out->v[out->n++] = id[i];
    } else {
        memcpy(out->v + out->n, s->id, sizeof s->id);
        out->n += s->nid;
    }
    return 1;
}

static void
put_ids(const struct cache *c, uint32_t *to, const uint32_t *id, size_t n)
{
    if (c->narrow) {
        uint16_t few[CACHE_IDS];

        for (size_t i = 0; i < n; i++)
            few[i] = (uint16_t)id[i];
        memcpy(to, few, n * sizeof *few);
    } else {
        memcpy(to, id, n * sizeof *id);
    }
}

void
cache_put(const struct cache_at *at, const uint32_t *id, size_t n)
{
    const struct cache *c = at->c;
    const size_t twice = c->narrow ? 2 : 1;
    const int fits = n <= 4 * twice;
    struct cache_large *large = at->large;

    if (at->small) {
        if (!large) { /* else the slot has the piece, but not its ids */
            at->small[1] = at->small[0];
            at->small->key[0] = at->key[0];
            at->small->key[1] =
                at->key[1] | (fits ? n : CACHE_ELSEWHERE) << (CACHE_LAST + 4);
            if (fits)
                put_ids(c, at->small->id, id, n);
        }
        if (fits)
            return;
        large = c->large + cache_hash_large(c, at->p, at->n);
    }
    if (n > 8 * twice)
        return;
    memcpy(large->key, at->p, at->n);
    large->key[30] = (unsigned char)at->n;
    large->nid = (uint8_t)n;
    put_ids(c, large->id, id, n);
}
