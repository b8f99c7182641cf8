/* Collectives over exchanges between two ranks; see dist.h. */
#include "dist/dist.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/number.h"
#include "base/place.h"
#include "base/pool.h"
#include "base/thread.h"
#include "base/timeline.h"
#include "dist/log.h"
#include "dist/over_mpi.h"
#include "dist/watch.h"
#include "kern/kern.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Exchanges of less than half a megabyte stay in the caches. */
enum { SEGMENT = 1 << 16, SEGMENT_MOST = 1 << 26 };

static struct {
    struct dist_group world, node, across;
    size_t others, segment;
    struct comm_log *log;
    char *prefix;
    void *room; /* dist_bytes of as many ranks and such segments */
    size_t room_bytes;
} dist = {
    .world = { "world", 0, 1, NULL },
    .node = { "node", 0, 1, NULL },
    .across = { "across", 0, 1, NULL },
    .segment = SEGMENT,
};

int
dist_begin(struct err *e)
{
    const char *node = getenv("RETORT_NODE");
    size_t ranks = 0;

    if (getenv("OMPI_COMM_WORLD_SIZE") == NULL && getenv("PMIX_RANK") == NULL &&
        getenv("PMI_RANK") == NULL)
        return 0;
    if (node != NULL && number_size(node, 1, 1 << 20, &ranks) < 0)
        return err_set(e, EX_USAGE,
            "RETORT_NODE: \"%.100s\" is no number of ranks", node);
    return mpi_start(&dist.world, &dist.node, &dist.across, &dist.others, ranks,
        e);
}

void
dist_abort(int status)
{
    mpi_abort(status);
}

const struct dist_group *
dist_world(void)
{
    return &dist.world;
}

const struct dist_group *
dist_node(void)
{
    return &dist.node;
}

const struct dist_group *
dist_across(void)
{
    return &dist.across;
}

size_t
dist_others(void)
{
    return dist.others;
}

void
dist_part(struct dist_group *part, const struct dist_group *g, size_t n,
    const char *name)
{
    assert(n > 0 && g->n % n == 0);
    *part = (struct dist_group){ name, 0, 1, NULL };
    if (n > 1)
        mpi_part(part, g, n);
}

void
dist_part_free(struct dist_group *part)
{
    if (part->comm != NULL)
        mpi_part_free(part);
}

size_t
dist_threads(size_t asked)
{
    const size_t n = dist.node.n, cpus = pool_cpus();
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    const size_t each = asked > 0 ? asked : 1;

    if (n == 1)
        return asked;
    if (online > 0 && cpus < (size_t)online) { /* bound, by the launcher say */
        if (each > cpus)
            note("%zu threads of a rank share %zu processors", each, cpus);
        return asked > 0 ? asked : cpus;
    }
    if (n * each > cpus)
        note("%zu ranks of %zu threads share %zu processors", n, each, cpus);
    return asked > 0 ? asked : cpus > n ? cpus / n : 1;
}

/* Those that are alike in one line. */
static void
tell_places(const struct placed *all, size_t n)
{
    for (size_t i = 1, from = 0; i <= n; i++) {
        if (i < n && strcmp(all[i].text, all[from].text) == 0)
            continue;
        if (n == 1)
            note("runs on %s", all->text);
        else if (i - from > 1)
            note("ranks %zu to %zu of this node run on %s", from, i - 1,
                all[from].text);
        else
            note("rank %zu of this node runs on %s", from, all[from].text);
        from = i;
    }
}

int
dist_place(const char *cpus, const char *node, struct err *e)
{
    const struct dist_group *g = &dist.node;
    struct placed *all;

    if (place(cpus, node, g->rank, g->n, e) < 0)
        return -1;
    if (g->n == 1 && cpus == NULL && node == NULL && verbosity < 1)
        return 0;
    all = xcalloc(g->n, sizeof *all);
    place_now(&all[g->rank]);
    if (*all[g->rank].why != '\0')
        warn("%s", all[g->rank].why);
    dist_all_gather_one(g, all, sizeof *all);
    if (g->rank == 0)
        tell_places(all, g->n);
    free(all);
    return 0;
}

void
dist_segment(size_t elements)
{
    assert(elements >= 1 && elements <= SEGMENT_MOST);
    dist.segment = elements;
}

/* A segment of each rank. */
size_t
dist_bytes(size_t n)
{
    return n > 1 ? n * dist.segment * sizeof(float) : 0;
}

static void *
room(size_t n)
{
    if (dist.room_bytes < dist_bytes(n)) {
        free(dist.room);
        dist.room_bytes = dist_bytes(n);
        dist.room = xmalloc(dist.room_bytes);
    }
    return dist.room;
}

int
dist_log(const char *prefix, int how, struct err *e)
{
    dist.prefix = dist.world.rank == 0
        ? xstrdup(prefix)
        : xasprintf("%s-%zu", prefix, dist.world.rank);
    dist.log = comm_log_open(dist.prefix, dist.world.n, how);
    return dist.log != NULL ? 0 : err_set(e, EX_SYS, "%s.log:", dist.prefix);
}

int
dist_log_end(struct err *e)
{
    const int r = comm_log_close(dist.log);

    if (r < 0)
        err_set(e, EX_SYS, "%s.log, .tsv, -log2.tsv, .json:", dist.prefix);
    dist.log = NULL;
    free(dist.prefix);
    return r;
}

/* A collective that is seen. */
struct watched {
    double begin, wait; /* begin 0: it is not */
    size_t sent;
};

static struct watched
look(const struct dist_group *g)
{
    const double t = clock_now();
    struct watched s = { 0.0, 0.0, mpi_sent() };

    if (dist.log == NULL && !timeline_on())
        return s;
    mpi_barrier(g);
    timeline_add("wait", "wait for other ranks", t);
    s.begin = clock_now();
    s.wait = s.begin - t;
    return s;
}

/* It is over, after so many seconds, of which so many nothing else was done:
 * what it was, and the bytes of all, of this rank's part, and sent. */
static void
record(const struct dist_group *g, const struct watched *s, const char *op,
    enum comm_kind kind, const size_t bytes[3], double seconds, double exposed)
{
    if (dist.log != NULL)
        comm_log_add(dist.log,
            &(struct comm_event){ .op = op,
                .kind = kind,
                .group = g->name,
                .n = g->n,
                .whole = bytes[0],
                .shard = bytes[1],
                .wire = bytes[2],
                .seconds = seconds,
                .exposed = exposed,
                .wait = s->wait });
}

/* A gather in the background, one at a time. */
static struct {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t change;
    int on, quit;    /* there is a thread; it is to end */
    int busy, begun; /* it is at work; dist_gather_end has not been called */
    const struct dist_group *g;
    void *x;
    size_t size, wire;
    const size_t *at;
    struct watched seen;
    double start, end, exposed;
} back = { .lock = PTHREAD_MUTEX_INITIALIZER,
    .change = PTHREAD_COND_INITIALIZER };

/* Wait for it: MPI is in one thread at a time. */
static void
settle(void)
{
    const double t = clock_now();

    if (!back.on)
        return;
    watch_enter();
    pthread_mutex_lock(&back.lock);
    while (back.busy)
        pthread_cond_wait(&back.change, &back.lock);
    pthread_mutex_unlock(&back.lock);
    watch_leave();
    /* waiting for other ranks to begin is no part of it */
    back.exposed += fmax(0.0, back.end - fmax(t, back.start));
}

static struct watched
see(const struct dist_group *g)
{
    settle();
    watch_enter();
    return look(g);
}

static void
saw(const struct dist_group *g, const struct watched *s, enum comm_kind kind,
    const char *op, size_t whole, size_t shard)
{
    const double seconds = clock_now() - s->begin;
    const size_t bytes[3] = { whole, shard, mpi_sent() - s->sent };

    watch_leave();
    if (!(s->begin > 0.0))
        return;
    timeline_add(kind == COMM_REDUCE_SCATTER ? "reduce" : "gather", op,
        s->begin);
    record(g, s, op, kind, bytes, seconds, seconds);
}

void
dist_barrier(const struct dist_group *g)
{
    if (g->n == 1)
        return;
    settle();
    watch_enter();
    mpi_barrier(g);
    watch_leave();
}

void
dist_broadcast(const struct dist_group *g, void *p, size_t bytes, size_t root)
{
    struct watched s;

    if (g->n == 1)
        return;
    s = see(g);
    mpi_broadcast(g, p, bytes, root);
    saw(g, &s, COMM_OTHER, "broadcast", bytes, bytes);
}

void
dist_send(const struct dist_group *g, void *p, size_t bytes, size_t from,
    size_t to)
{
    settle();
    watch_enter();
    mpi_exchange(g, to, p, g->rank == from ? bytes : 0, from, p,
        g->rank == to ? bytes : 0);
    watch_leave();
}

/* A ring: in each of n-1 rounds every rank passes on the part that came in the
 * round before, its own first. */
static void
pass_round(const struct dist_group *g, void *x, size_t size, const size_t *at)
{
    const size_t n = g->n, to = (g->rank + 1) % n, from = (g->rank + n - 1) % n;

    for (size_t k = 0; k + 1 < n; k++) {
        const size_t out = (g->rank + n - k) % n, in = (out + n - 1) % n;

        mpi_exchange(g, to, (char *)x + at[out] * size,
            (at[out + 1] - at[out]) * size, from, (char *)x + at[in] * size,
            (at[in + 1] - at[in]) * size);
    }
}

static const char gather[] = "all_gather_into_tensor";

void
dist_all_gather(const struct dist_group *g, void *x, size_t size,
    const size_t *at)
{
    struct watched s;

    if (g->n == 1)
        return;
    s = see(g);
    pass_round(g, x, size, at);
    saw(g, &s, COMM_ALL_GATHER, gather, at[g->n] * size,
        (at[g->rank + 1] - at[g->rank]) * size);
}

static void *
gather_in_background(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&back.lock);
    for (;;) {
        while (!back.busy && !back.quit)
            pthread_cond_wait(&back.change, &back.lock);
        if (back.quit)
            break;
        pthread_mutex_unlock(&back.lock);
        back.seen = look(back.g);
        back.start = clock_now();
        pass_round(back.g, back.x, back.size, back.at);
        back.end = clock_now();
        back.wire = mpi_sent() - back.seen.sent;
        timeline_add("gather", gather, back.start);
        pthread_mutex_lock(&back.lock);
        back.busy = 0;
        pthread_cond_signal(&back.change);
    }
    pthread_mutex_unlock(&back.lock);
    return NULL;
}

int
dist_overlap(struct err *e)
{
    if (dist.world.n == 1 || back.on)
        return 0;
    if (!mpi_any_thread())
        return err_set(e, EX_SYS, "this MPI is for the first thread alone");
    if (thread_start(&back.thread, gather_in_background, NULL) < 0)
        return err_set(e, EX_SYS, "cannot start a thread");
    back.on = 1;
    return 0;
}

int
dist_overlaps(void)
{
    return back.on;
}

void
dist_gather_begin(const struct dist_group *g, void *x, size_t size,
    const size_t *at)
{
    dist_gather_end();
    if (g->n == 1)
        return;
    if (!back.on) {
        dist_all_gather(g, x, size, at);
        return;
    }
    pthread_mutex_lock(&back.lock);
    back.g = g;
    back.x = x;
    back.size = size;
    back.at = at;
    back.exposed = 0.0;
    back.busy = back.begun = 1;
    pthread_cond_signal(&back.change);
    pthread_mutex_unlock(&back.lock);
}

void
dist_gather_end(void)
{
    const struct dist_group *g = back.g;

    if (!back.begun)
        return;
    settle();
    back.begun = 0;
    record(g, &back.seen, gather, COMM_ALL_GATHER,
        (const size_t[]){ back.at[g->n] * back.size,
            (back.at[g->rank + 1] - back.at[g->rank]) * back.size, back.wire },
        back.end - back.start, back.exposed);
}

/* Before MPI ends. */
static void
stop_background(void)
{
    if (!back.on)
        return;
    dist_gather_end();
    pthread_mutex_lock(&back.lock);
    back.quit = 1;
    pthread_cond_signal(&back.change);
    pthread_mutex_unlock(&back.lock);
    pthread_join(back.thread, NULL);
    back.on = back.quit = 0;
}

void
dist_end(void)
{
    stop_background();
    if (dist.world.comm != NULL)
        mpi_stop(&dist.world, &dist.node, &dist.across);
    free(dist.room);
    dist.room = NULL;
    dist.room_bytes = 0;
}

void
dist_all_gather_one(const struct dist_group *g, void *x, size_t size)
{
    size_t *at = xcalloc(g->n + 1, sizeof *at);

    for (size_t i = 0; i <= g->n; i++)
        at[i] = i;
    dist_all_gather(g, x, size, at);
    free(at);
}

/* Segment i of a part, at most dist.segment elements. */
static size_t
piece(const size_t *at, size_t part, size_t i, size_t *start)
{
    const size_t n = at[part + 1] - at[part], skip = i * dist.segment;

    *start = at[part] + skip;
    return skip >= n ? 0 : n - skip < dist.segment ? n - skip : dist.segment;
}

/* Segments of the largest part. */
static size_t
pieces(size_t n, const size_t *at)
{
    size_t most = 0;

    for (size_t r = 0; r < n; r++)
        if (at[r + 1] - at[r] > most)
            most = at[r + 1] - at[r];
    return (most + dist.segment - 1) / dist.segment;
}

/* Each part goes round from the rank after its owner's to its owner's, and each
 * rank adds its own to what has come. */
static void
ring(const struct dist_group *g, float *x, const size_t *at)
{
    const size_t n = g->n, to = (g->rank + 1) % n, from = (g->rank + n - 1) % n;
    const size_t count = pieces(n, at);
    float *came = room(n);

    for (size_t k = 0; k + 1 < n; k++) {
        const size_t out = (g->rank + 2 * n - k - 1) % n,
                     in = (out + n - 1) % n;

        for (size_t i = 0; i < count; i++) {
            size_t a, b;
            const size_t na = piece(at, out, i, &a), nb = piece(at, in, i, &b);

            mpi_exchange(g, to, x + a, na * sizeof *x, from, came,
                nb * sizeof *x);
            kern.add(x + b, came, x + b, nb);
        }
    }
}

/* What the ranks have sent of a segment: rank r's at came + r * segment, this
 * rank's where it is. */
struct arrived {
    size_t rank, n;
    float *own, *came;
};

static float *
of_rank(const struct arrived *a, size_t r)
{
    return r == a->rank ? a->own : a->came + r * dist.segment;
}

static void
add_rank(void *ctx, size_t i, size_t j)
{
    const struct arrived *a = ctx;
    float *y = of_rank(a, i);

    kern.add(y, y, of_rank(a, j), a->n);
}

/* This rank's n elements at a to rank `to`, and m of its own from another into
 * y; as bf16 by way of `half`, which has a segment of both. */
static void
swap(const struct dist_group *g, size_t to, const float *a, size_t n,
    size_t from, float *y, size_t m, uint16_t *half)
{
    if (half == NULL) {
        mpi_exchange(g, to, a, n * sizeof *a, from, y, m * sizeof *y);
        return;
    }
    kern.narrow_bf16(half, a, n);
    mpi_exchange(g, to, half, n * sizeof *half, from, half + dist.segment,
        m * sizeof *half);
    kern.widen_bf16(y, half + dist.segment, m);
}

/* Segment after segment: all ranks send each other what is theirs, and each
 * sums its own. */
static void
all_to_all(const struct dist_group *g, float *x, const size_t *at, int half)
{
    const size_t n = g->n, count = pieces(n, at);
    struct arrived all = { .rank = g->rank, .came = room(n) };
    /* this rank's place in the room is free */
    uint16_t *const its = (uint16_t *)(all.came + g->rank * dist.segment);

    for (size_t i = 0; i < count; i++) {
        size_t own, a;

        all.n = piece(at, g->rank, i, &own);
        all.own = x + own;
        for (size_t k = 1; k < n; k++) {
            const size_t to = (g->rank + k) % n, from = (g->rank + n - k) % n;
            const size_t na = piece(at, to, i, &a);

            swap(g, to, x + a, na, from, of_rank(&all, from), all.n,
                half ? its : NULL);
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
    struct watched s;

    if (g->n == 1)
        return;
    s = see(g);
    if (how == DIST_RING)
        ring(g, x, at);
    else
        all_to_all(g, x, at, how == DIST_BF16);
    saw(g, &s, COMM_REDUCE_SCATTER, "reduce_scatter_tensor",
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
tree(size_t n, size_t i, size_t k, void (*add)(void *, size_t, size_t),
    void *ctx)
{
    if (i + k >= n)
        return;
    tree(n, i, 2 * k, add, ctx);
    tree(n, i + k, 2 * k, add, ctx);
    add(ctx, i, i + k);
}

void
dist_tree(size_t n, void (*add)(void *ctx, size_t i, size_t j), void *ctx)
{
    if (n > 0)
        tree(n, 0, 1, add, ctx);
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
