/*
 * Merging of symbols: the lowest rank first, of equals the leftmost.  Few
 * symbols are merged by scanning for it, many with a heap over a linked list.
 * Long pieces come here window by window (tokenizer_window.c).
 */
#include "tok/queue.h"

#include <stdlib.h>
#include <string.h>

#define SHORT 64                /* symbols merged by scanning, at most 64 */
#define RANKS (UINT32_MAX >> 6) /* merges whose keys fit */
#define KEEP ((size_t)1 << 16)  /* symbols; larger memory is given back */

/*
 * Few symbols: key[i] = rank << 6 | i of the merge of symbol i with the one
 * after it, so that the smallest key is the next merge, the leftmost of equals
 * too; to[i] is what it becomes.
 */
struct few {
    uint32_t key[SHORT], to[SHORT];
};

static inline uint32_t
key_of(struct merge m, size_t i)
{
    return m.rank == TOK_NONE ? TOK_NONE : m.rank << 6 | (uint32_t)i;
}

/* What symbol i becomes with the one after it, a pair of that key and hash. */
static inline void
look(const struct tokenizer *t, uint64_t key, uint64_t hash, size_t i,
    struct few *f)
{
    const struct merge m = pair_at(t, key, hash);

    if (m.rank != TOK_NONE) {
        f->key[i] = m.rank << 6 | (uint32_t)i;
        f->to[i] = m.id;
    }
}

/* Merge id[n], 2 <= n <= SHORT, the first n - 1 keys being set.  Returns which
 * are left, in id[the number of the bit] yet. */
static inline uint64_t
merge_few(const struct tokenizer *t, uint32_t *id, size_t n, struct few *f)
{
    const size_t up = (n + 3) & ~(size_t)3;
    uint64_t alive = UINT64_MAX >> (64 - n);    /* bit i: symbol i is left */
    uint32_t best;

    for (size_t i = n - 1; i < up; i++)
        f->key[i] = TOK_NONE;
    while ((best = keys_least(f->key, up)) != TOK_NONE) {
        const size_t i = best & 63;
        const uint64_t before = alive & ~(UINT64_MAX << i);
        const size_t k = before ? 63 - (size_t)__builtin_clzll(before) : i;
        uint64_t after = alive & (UINT64_MAX - 1) << i, left_key, right_key;
        uint64_t left_hash, right_hash;
        int left_maybe, right_maybe;

        f->key[__builtin_ctzll(after)] = TOK_NONE;
        alive ^= after & -after;
        after &= after - 1;
        id[i] = f->to[i];
        /* TOK_NONE beside the ends merges with nothing.  Both pairs are looked
         * for at once, before what is found can be mispredicted. */
        left_key = pair_key(before ? id[k] : TOK_NONE, id[i]);
        right_key = pair_key(id[i], after ? id[__builtin_ctzll(after)] :
            TOK_NONE);
        left_hash = pair_hash(left_key);
        right_hash = pair_hash(right_key);
        left_maybe = pair_maybe(t, left_hash);
        right_maybe = pair_maybe(t, right_hash);
        f->key[i] = f->key[k] = TOK_NONE;
        if (right_maybe)
            look(t, right_key, right_hash, i, f);
        if (left_maybe)
            look(t, left_key, left_hash, k, f);
    }
    return alive;
}

/* Returns how many are left. */
static size_t
merge_short(const struct tokenizer *t, uint32_t *id, size_t n, struct few *f)
{
    uint64_t alive = merge_few(t, id, n, f);
    size_t left = 0;

    for (; alive; alive &= alive - 1)
        id[left++] = id[__builtin_ctzll(alive)];
    return left;
}

static void
scratch_reserve(struct tok_scratch *s, size_t n)
{
    if (s->cap >= n)
        return;
    s->cap = n;
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
    free(s->rank);
    free(s->prev);
    free(s->next);
    free(s->heap);
    s->rank = s->prev = s->next = NULL;
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
heap_pop(uint64_t *h, size_t n)
{
    h[0] = h[--n];
    if (n > 0)
        sift_down(h, n, 0);
    return n;
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
 * Merge id[n], n >= 2.  rank[i] is that of symbol i with the one after it;
 * an entry of the heap with another rank is out of date.  Each merge adds two
 * entries at most and n - 1 merges are possible, so 3n entries are enough.
 */
static size_t
merge_long(const struct tokenizer *t, struct tok_scratch *s, uint32_t *id,
    size_t n, uint32_t *start)
{
    uint32_t *const rank = s->rank;
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

        nheap = heap_pop(heap, nheap);
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
    for (uint32_t i = 0; i < end; i = next[i]) {
        if (start)
            start[left] = i;
        id[left++] = id[i];
    }
    return left;
}

/* More than SHORT; start may be NULL. */
static size_t
merge_many(const struct tokenizer *t, struct tok_scratch *s, uint32_t *id,
    size_t n, uint32_t *start)
{
    scratch_reserve(s, n);
    n = merge_long(t, s, id, n, start);
    scratch_trim(s);
    return n;
}

static inline void
find_keys(const struct tokenizer *t, const uint32_t *id, size_t n,
    struct few *f)
{
    for (size_t i = 0; i + 1 < n; i++) {
        const struct merge m = pair_find(t, id[i], id[i + 1]);

        f->key[i] = key_of(m, i);
        f->to[i] = m.id;
    }
}

size_t
bpe_merge(const struct tokenizer *t, struct tok_scratch *s, uint32_t *id,
    size_t n)
{
    struct few f;

    if (n < 2)
        return n;
    if (n > SHORT || t->nmerge > RANKS)
        return merge_many(t, s, id, n, NULL);
    find_keys(t, id, n, &f);
    return merge_short(t, id, n, &f);
}

size_t
bpe_merge_at(const struct tokenizer *t, struct tok_scratch *s, uint32_t *id,
    size_t n, uint32_t *start)
{
    struct few f;
    uint64_t alive = 1;
    size_t left = 0;

    if (n > SHORT || (n > 1 && t->nmerge > RANKS))
        return merge_many(t, s, id, n, start);
    if (n > 1) {
        find_keys(t, id, n, &f);
        alive = merge_few(t, id, n, &f);
    }
    for (; alive && n > 0; alive &= alive - 1) {
        start[left] = (uint32_t)__builtin_ctzll(alive);
        id[left] = id[start[left]];
        left++;
    }
    return left;
}

size_t
bpe_merge_bytes(const struct tokenizer *t, struct tok_scratch *s, uint32_t *id,
    size_t n, const unsigned char *byte)
{
    struct few f;

    if (n < 2)
        return n;
    if (n > SHORT || t->nmerge > RANKS)
        return bpe_merge(t, s, id, n);
    for (size_t i = 0; i + 1 < n; i++) {
        const struct merge m = t->byte_pair[byte[i] << 8 | byte[i + 1]];

        f.key[i] = key_of(m, i);
        f.to[i] = m.id;
    }
    return merge_short(t, id, n, &f);
}

uint32_t *
bpe_symbols(struct tok_scratch *s, size_t n)
{
    if (s->id_cap < n || (s->id_cap > KEEP && n <= KEEP)) {
        free(s->id);
        s->id_cap = n < 256 ? 256 : n;
        s->id = xreallocarray(NULL, s->id_cap, sizeof *s->id);
    }
    return s->id;
}
