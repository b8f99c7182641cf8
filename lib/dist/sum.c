/* Sums over ranks; see dist.h. */
#include "base/mem.h"
#include "dist/dist.h"
#include "dist/over_mpi.h"
#include "dist/call.h"
#include "kern/kern.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Elements of a segment: small, so that exchanges (less than half a megabyte)
 * stay in the caches. */
enum { SEGMENT = 1 << 16 };

static struct {
    void *room; /* one segment for each rank */
    size_t room_bytes;
} sums;

void
dist_free_room(void)
{
    free(sums.room);
    sums.room = NULL;
    sums.room_bytes = 0;
}

size_t
dist_bytes(size_t n)
{
    return n > 1 ? n * SEGMENT * sizeof(float) : 0;
}

static void *
reserve_room(size_t n)
{
    if (sums.room_bytes < dist_bytes(n)) {
        free(sums.room);
        sums.room_bytes = dist_bytes(n);
        sums.room = xmalloc(sums.room_bytes);
    }
    return sums.room;
}

/* Elements in segment i of a part, at most SEGMENT; *start: where it begins. */
static size_t
segment_of(const size_t *at, size_t part, size_t i, size_t *start)
{
    const size_t n = at[part + 1] - at[part], skip = i * SEGMENT;

    *start = at[part] + skip;
    return skip >= n ? 0 : n - skip < SEGMENT ? n - skip : SEGMENT;
}

/* Number of segments of the largest part. */
static size_t
segments_of(size_t n, const size_t *at)
{
    size_t most = 0;

    for (size_t r = 0; r < n; r++)
        if (at[r + 1] - at[r] > most)
            most = at[r + 1] - at[r];
    return (most + SEGMENT - 1) / SEGMENT;
}

/*
 * Each part travels round the ring from the rank after its owner to its owner,
 * and each rank adds its own elements to it.  So in each of n - 1 rounds, a
 * rank passes on one part, segment by segment, and adds its own elements to the
 * segments of the part that arrives.
 */
static void
sum_ring(const struct dist_group *g, float *x, const size_t *at)
{
    const size_t n = g->n, count = segments_of(n, at);
    const size_t to = (g->rank + 1) % n, from = (g->rank + n - 1) % n;
    float *came = reserve_room(n);

    for (size_t round = 1; round < n; round++)
        for (size_t i = 0; i < count; i++) {
            const size_t out = (g->rank + n - round) % n;
            size_t a, b;
            const size_t na = segment_of(at, out, i, &a);
            const size_t nb = segment_of(at, (out + n - 1) % n, i, &b);

            mpi_exchange(g, to, x + a, na * sizeof *x, from, came,
                nb * sizeof *x);
            kern.add(x + b, came, x + b, nb);
        }
}

/* The segments that are summed, one of each rank: `own` is this rank's, came +
 * r * SEGMENT is rank r's. */
struct arrived {
    size_t rank, n;
    float *own, *came;
};

static float *
came_of(const struct arrived *a, size_t r)
{
    return r == a->rank ? a->own : a->came + r * SEGMENT;
}

static void
add_rank(void *ctx, size_t i, size_t j)
{
    const struct arrived *a = ctx;
    float *y = came_of(a, i);

    kern.add(y, y, came_of(a, j), a->n);
}

/* Send n elements at a to rank `to` while m elements from rank `from` arrive at
 * y.  half: room for two segments: the elements are sent as bfloat16; NULL: as
 * fp32. */
static void
exchange_wire(const struct dist_group *g, size_t to, const float *a, size_t n,
    size_t from, float *y, size_t m, uint16_t *half)
{
    if (half == NULL) {
        mpi_exchange(g, to, a, n * sizeof *a, from, y, m * sizeof *y);
        return;
    }
    kern.narrow_bf16(half, a, n);
    mpi_exchange(g, to, half, n * sizeof *half, from, half + SEGMENT,
        m * sizeof *half);
    kern.widen_bf16(y, half + SEGMENT, m);
}

/* Segment by segment, each rank sends every other rank the elements of the
 * other's part, and sums the elements of its own part. */
static void
all_to_all(const struct dist_group *g, float *x, const size_t *at, int half)
{
    const size_t n = g->n, count = segments_of(n, at);
    struct arrived all = { .rank = g->rank, .came = reserve_room(n) };
    /* this rank's segment of the room is free: nothing arrives there */
    uint16_t *const room = (uint16_t *)(all.came + g->rank * SEGMENT);

    for (size_t i = 0; i < count; i++) {
        size_t own, a;

        all.n = segment_of(at, g->rank, i, &own);
        all.own = x + own;
        for (size_t k = 1; k < n; k++) {
            const size_t to = (g->rank + k) % n, from = (g->rank + n - k) % n;
            const size_t na = segment_of(at, to, i, &a);

            exchange_wire(g, to, x + a, na, from, came_of(&all, from), all.n,
                half ? room : NULL);
        }
        dist_tree(n, add_rank, &all);
        if (g->rank != 0)
            memcpy(all.own, all.came, all.n * sizeof *x);
    }
}

void
dist_reduce_scatter(const struct dist_group *g, float *x, const size_t *at,
    enum dist_sum how)
{
    struct call s;

    if (g->n == 1)
        return;
    s = call_begin(g);
    if (how == DIST_RING)
        sum_ring(g, x, at);
    else
        all_to_all(g, x, at, how == DIST_BF16);
    call_end(g, &s, COMM_REDUCE_SCATTER, "reduce_scatter_tensor",
        at[g->n] * sizeof *x, (at[g->rank + 1] - at[g->rank]) * sizeof *x);
}

void
dist_all_reduce(const struct dist_group *g, float *x, size_t n,
    enum dist_sum how)
{
    size_t *at;

    if (g->n == 1)
        return;
    at = xcalloc(g->n + 1, sizeof *at);
    dist_split(n, g->n, 16, at);
    dist_reduce_scatter(g, x, at, how);
    dist_all_gather(g, x, sizeof *x, at);
    free(at);
}

static void
sum_subtree(size_t n, size_t i, size_t k, void (*add)(void *, size_t, size_t),
    void *ctx)
{
    if (i + k >= n)
        return;
    sum_subtree(n, i, 2 * k, add, ctx);
    sum_subtree(n, i + k, 2 * k, add, ctx);
    add(ctx, i, i + k);
}

void
dist_tree(size_t n, void (*add)(void *ctx, size_t i, size_t j), void *ctx)
{
    if (n > 0)
        sum_subtree(n, 0, 1, add, ctx);
}

void
dist_split(size_t total, size_t n, size_t align, size_t *at)
{
    for (size_t i = 0; i < n; i++) {
        const size_t even = total / n * i + total % n * i / n;
        const size_t up = (even + align - 1) / align * align;

        at[i] = up < total ? up : total;
    }
    at[n] = total;
}
