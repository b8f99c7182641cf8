/*
 * BPE merges with a heap over a linked list: the pair of the lowest rank is
 * merged first, and among pairs of equal rank the leftmost.  This takes any
 * number of symbols and any vocabulary, but is slower than the queue (queue.h),
 * so it is used only for pieces that the queue cannot take.
 */
#include "tok/merge.h"
#include "tok/pairs.h"
#include "tok/tokenizer.h"

#include <stdlib.h>
#include <string.h>

#define KEEP ((size_t)1 << 16) /* symbols; larger buffers are freed after use */

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
sift_down_merge(uint64_t *h, size_t n, size_t i)
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
        sift_down_merge(h, n, 0);
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
 * Merge id[n], n >= 2.  rank[i] is the rank of the merge of symbol i with the
 * next one; an entry of the heap with another rank is out of date.  Each merge
 * adds two entries at most and n - 1 merges are possible, so 3n entries are
 * enough.
 */
static size_t
merge_heap(const struct tokenizer *t, struct tok_scratch *s, uint32_t *id,
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
        rank[i] = i + 1 < end ? pair_find(t, id[i], id[i + 1]).rank : TOK_NONE;
        if (rank[i] != TOK_NONE)
            heap[nheap++] = (uint64_t)rank[i] << 32 | i;
    }
    for (size_t i = nheap / 2; i-- > 0;)
        sift_down_merge(heap, nheap, i);
    while (nheap > 0) {
        const uint32_t r = (uint32_t)(heap[0] >> 32), i = (uint32_t)heap[0];
        uint32_t k;

        nheap = heap_pop(heap, nheap);
        if (rank[i] != r)
            continue;
        k = next[i];
        id[i] = pair_find(t, id[i], id[k]).id;
        rank[k] = TOK_NONE; /* symbol k is gone */
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

size_t
bpe_merge(const struct tokenizer *t, struct tok_scratch *s, uint32_t *id,
    size_t n, uint32_t *start)
{
    if (n < 2) {
        if (start)
            start[0] = 0;
        return n;
    }
    scratch_reserve(s, n);
    n = merge_heap(t, s, id, n, start);
    scratch_trim(s);
    return n;
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
