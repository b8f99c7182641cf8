/*
 * Byte-level BPE: the lowest rank first, of equals the leftmost.  A piece is
 * looked up in a cache of bounded size; if it is not there its merges are
 * found by scanning (short pieces) or with a heap over a linked list, in time
 * n log n however long the piece is.
 */
#include "data/tokenizer_impl.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define SHORT 40                /* symbols merged by scanning */
#define KEEP ((size_t)1 << 16)  /* symbols; larger memory is given back */

uint32_t
vocab_find(const struct tokenizer *t, const void *p, size_t n)
{
    size_t i = (size_t)XXH3_64bits(p, n) & t->slot_mask;
    uint32_t id;

    while ((id = t->slot[i]) != TOK_NONE) {
        if (t->text[id].n == n &&
            memcmp(t->pool.p + t->text[id].off, p, n) == 0)
            return id;
        i = (i + 1) & t->slot_mask;
    }
    return TOK_NONE;
}

void
tok_ids_push(struct tok_ids *out, uint32_t id)
{
    if (out->n == out->cap) {
        out->cap = out->cap ? 2 * out->cap : 256;
        out->v = xreallocarray(out->v, out->cap, sizeof *out->v);
    }
    out->v[out->n++] = id;
}

static void
push_all(struct tok_ids *out, const uint32_t *id, size_t n)
{
    if (out->cap - out->n < n) {
        while (out->cap - out->n < n)
            out->cap = out->cap ? 2 * out->cap : 256;
        out->v = xreallocarray(out->v, out->cap, sizeof *out->v);
    }
    memcpy(out->v + out->n, id, n * sizeof *id);
    out->n += n;
}

/* Merge id[n], n <= SHORT, by scanning for the lowest rank; returns how many
 * are left. */
static size_t
merge_short(const struct tokenizer *t, uint32_t *id, size_t n,
    const unsigned char *byte)
{
    struct merge m[SHORT];

    if (n < 2)
        return n;
    for (size_t i = 0; i + 1 < n; i++)
        m[i] = t->byte_pair[byte[i] << 8 | byte[i + 1]];
    m[n - 1].rank = TOK_NONE;
    for (;;) {
        size_t at = 0;

        for (size_t i = 1; i + 1 < n; i++)
            if (m[i].rank < m[at].rank)
                at = i;
        if (m[at].rank == TOK_NONE)
            return n;
        id[at] = m[at].id;
        n--;
        memmove(id + at + 1, id + at + 2, (n - at - 1) * sizeof *id);
        memmove(m + at, m + at + 1, (n - at) * sizeof *m);
        if (at + 1 < n)
            m[at] = pair_find(t, id[at], id[at + 1]);
        if (at > 0)
            m[at - 1] = pair_find(t, id[at - 1], id[at]);
        if (n < 2)
            return n;
    }
}

static void
scratch_reserve(struct tok_scratch *s, size_t n)
{
    if (s->cap >= n)
        return;
    s->cap = n;
    s->id = xreallocarray(s->id, n, sizeof *s->id);
    s->rank = xreallocarray(s->rank, n, sizeof *s->rank);
    s->prev = xreallocarray(s->prev, n, sizeof *s->prev);
    s->next = xreallocarray(s->next, n, sizeof *s->next);
    s->heap = xreallocarray(s->heap, n, 3 * sizeof *s->heap);
}

static void
scratch_trim(struct tok_scratch *s)
{
    if (s->cap <= KEEP)
        return;
    free(s->id);
    free(s->rank);
    free(s->prev);
    free(s->next);
    free(s->heap);
    s->id = s->rank = s->prev = s->next = NULL;
    s->heap = NULL;
    s->cap = 0;
}

/* A binary heap of rank << 32 | place, the smallest on top. */
static void
sift_down(uint64_t *h, size_t n, size_t i)
{
    const uint64_t v = h[i];

    for (;;) {
        size_t k = 2 * i + 1;

        if (k >= n)
            break;
        k += k + 1 < n && h[k + 1] < h[k];
        if (h[k] >= v)
            break;
        h[i] = h[k];
        i = k;
    }
    h[i] = v;
}

static size_t
heap_push(uint64_t *h, size_t n, uint64_t v)
{
    size_t i = n;

    for (; i > 0 && h[(i - 1) / 2] > v; i = (i - 1) / 2)
        h[i] = h[(i - 1) / 2];
    h[i] = v;
    return n + 1;
}

/*
 * Merge s->id[n], n >= 2.  rank[i] is that of symbol i with the one after it;
 * an entry of the heap with another rank is out of date.  Each merge adds two
 * entries at most and n - 1 merges are possible, so 3n entries are enough.
 */
static size_t
merge_long(const struct tokenizer *t, struct tok_scratch *s, size_t n)
{
    uint32_t *const id = s->id, *const rank = s->rank;
    uint32_t *const prev = s->prev, *const next = s->next;
    uint64_t *const heap = s->heap;
    const uint32_t end = (uint32_t)n;
    size_t nheap = 0, left = 0;

    for (uint32_t i = 0; i < end; i++) {
        prev[i] = i - 1;
        next[i] = i + 1;
        rank[i] = i + 1 < end ? pair_find(t, id[i], id[i + 1]).rank :
            TOK_NONE;
        if (rank[i] != TOK_NONE)
            heap[nheap++] = (uint64_t)rank[i] << 32 | i;
    }
    for (size_t i = nheap / 2; i-- > 0;)
        sift_down(heap, nheap, i);
    while (nheap > 0) {
        const uint32_t r = (uint32_t)(heap[0] >> 32), i = (uint32_t)heap[0];
        uint32_t k;

        heap[0] = heap[--nheap];
        if (nheap > 0)
            sift_down(heap, nheap, 0);
        if (rank[i] != r)
            continue;
        k = next[i];
        id[i] = pair_find(t, id[i], id[k]).id;
        rank[k] = TOK_NONE;                 /* symbol k is no more */
        next[i] = next[k];
        rank[i] = TOK_NONE;
        if (next[i] < end) {
            prev[next[i]] = i;
            rank[i] = pair_find(t, id[i], id[next[i]]).rank;
            if (rank[i] != TOK_NONE)
                nheap = heap_push(heap, nheap, (uint64_t)rank[i] << 32 | i);
        }
        if (i > 0) {
            k = prev[i];
            rank[k] = pair_find(t, id[k], id[i]).rank;
            if (rank[k] != TOK_NONE)
                nheap = heap_push(heap, nheap, (uint64_t)rank[k] << 32 | k);
        }
    }
    for (uint32_t i = 0; i < end; i = next[i])
        id[left++] = id[i];
    return left;
}

/* A piece too long for the stack. */
static void
piece_long(const struct tokenizer *t, struct tok_scratch *s,
    const unsigned char *p, size_t n, struct tok_ids *out)
{
    size_t k = 0;

    scratch_reserve(s, n);
    for (size_t i = 0; i < n; i++)
        if (t->byte_id[p[i]] != TOK_NONE)
            s->id[k++] = t->byte_id[p[i]];
    if (k > 1)
        k = merge_long(t, s, k);
    push_all(out, s->id, k);
    scratch_trim(s);
}

/* Ids of a piece of n <= SHORT bytes. */
static size_t
piece_short(const struct tokenizer *t, const unsigned char *p, size_t n,
    uint32_t *id)
{
    unsigned char byte[SHORT];
    size_t k = 0;

    if (t->ignore_merges && (id[0] = vocab_find(t, p, n)) != TOK_NONE)
        return 1;
    for (size_t i = 0; i < n; i++) {
        if (t->byte_id[p[i]] == TOK_NONE)
            continue;
        byte[k] = p[i];
        id[k++] = t->byte_id[p[i]];
    }
    return merge_short(t, id, k, byte);
}

static inline size_t
cache_place(const uint64_t key[3], size_t n)
{
    uint64_t h = key[0] * UINT64_C(0x9e3779b97f4a7c15);

    h ^= h >> 29;
    h = (h + key[1]) * UINT64_C(0xbf58476d1ce4e5b9);
    h ^= h >> 32;
    h = (h + key[2] + n) * UINT64_C(0x94d049bb133111eb);
    return (size_t)(h >> (64 - CACHE_BITS));
}

/* room: bytes that may be read from p, at least n. */
static inline void
piece_put(const struct tokenizer *t, struct tok_scratch *s,
    const unsigned char *p, size_t n, size_t room, struct tok_ids *out)
{
    uint64_t key[3] = { 0 };
    uint32_t id[SHORT];
    struct cache_slot *c;
    size_t k;

    if (n == 1) {
        if (t->byte_id[*p] != TOK_NONE)
            tok_ids_push(out, t->byte_id[*p]);
        return;
    }
    if (n > CACHE_BYTES) {
        if (t->ignore_merges && n > SHORT &&
            (id[0] = vocab_find(t, p, n)) != TOK_NONE)
            tok_ids_push(out, id[0]);
        else if (n > SHORT)
            piece_long(t, s, p, n, out);
        else
            push_all(out, id, piece_short(t, p, n, id));
        return;
    }
    if (n <= 8 && room >= 8) {
        memcpy(key, p, 8);
        key[0] &= UINT64_MAX >> (64 - 8 * n);
    } else {
        memcpy(key, p, n);
    }
    c = &s->cache[cache_place(key, n)];
    if (c->len != n || c->key[0] != key[0] || c->key[1] != key[1] ||
        c->key[2] != key[2]) {
        k = piece_short(t, p, n, id);
        if (k > CACHE_IDS) {
            push_all(out, id, k);
            return;
        }
        memcpy(c->key, key, sizeof key);
        c->len = (uint8_t)n;
        c->n = (uint8_t)k;
        memcpy(c->id, id, k * sizeof *id);
    }
    if (out->cap - out->n < CACHE_IDS)
        push_all(out, c->id, c->n);
    else {
        memcpy(out->v + out->n, c->id, sizeof c->id);
        out->n += c->n;
    }
}

void
bpe_gap(const struct tokenizer *t, struct tok_scratch *s,
    const unsigned char *p, size_t n, struct tok_ids *out)
{
    const unsigned char *const end = p + n;

    while (p < end) {
        const size_t k = split_piece(t->split, p, end);

        piece_put(t, s, p, k, (size_t)(end - p), out);
        p += k;
    }
}

struct tok_scratch *
tok_scratch_new(const struct tokenizer *t)
{
    struct tok_scratch *s = xcalloc(1, sizeof *s);

    (void)t;
    s->cache = xcalloc((size_t)1 << CACHE_BITS, sizeof *s->cache);
    return s;
}

void
tok_scratch_free(struct tok_scratch *s)
{
    if (!s)
        return;
    free(s->cache);
    free(s->id);
    free(s->rank);
    free(s->prev);
    free(s->next);
    free(s->heap);
    free(s);
}
