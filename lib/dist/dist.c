/* The ranks, and what they gather; see dist.h. */
#include "dist/dist.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/numa.h"
#include "base/number.h"
#include "base/pool.h"
#include "base/thread.h"
#include "base/timeline.h"
#include "dist/log.h"
#include "dist/over_mpi.h"
#include "dist/call.h"
#include "dist/watch.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Written by dist_begin and dist_log, before threads start. */
static struct {
    struct dist_group world, node, across;
    size_t others;
    size_t *by_node; /* [world.n] ranks sorted by (rank in node, node); NULL
                      * unless there are several nodes with the same number (>
                      * 1) of ranks each */
    struct comm_log *log;
    char *prefix;
} dist = {
    .world = { "world", 0, 1, NULL },
    .node = { "node", 0, 1, NULL },
    .across = { "across", 0, 1, NULL },
};

/* Fill dist.by_node. */
static void
sort_by_node(void)
{
    const size_t n = dist.world.n, each = dist.node.n;
    struct {
        size_t rank, n;
    } *all = xcalloc(n, sizeof *all);
    int even = each > 1 && each < n;
    size_t i = 0;

    all[dist.world.rank].rank = dist.node.rank;
    all[dist.world.rank].n = each;
    dist_all_gather_one(&dist.world, all, sizeof *all);
    for (size_t r = 0; r < n; r++)
        even = even && all[r].n == each;
    if (even)
        dist.by_node = xcalloc(n, sizeof *dist.by_node);
    for (size_t j = 0; even && j < each; j++)
        for (size_t r = 0; r < n; r++)
            if (all[r].rank == j)
                dist.by_node[i++] = r;
    free(all);
}

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
            "RETORT_NODE: \"%.100s\" is no number of ranks: unset it, or "
            "set it to 2, say",
            node);
    if (mpi_start(&dist.world, &dist.node, &dist.across, &dist.others, ranks,
            e) < 0)
        return -1;
    sort_by_node();
    return 0;
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
    if (online > 0 && cpus < (size_t)online) { /* the launcher, say, has bound
                                                * the rank */
        if (each > cpus)
            note("%zu threads of a rank share %zu processors", each, cpus);
        return asked > 0 ? asked : cpus;
    }
    if (n * each > cpus)
        note("%zu ranks of %zu threads share %zu processors", n, each, cpus);
    return asked > 0 ? asked : cpus > n ? cpus / n : 1;
}

/* Note where the ranks of a node run, in a line for each run of ranks in the
 * same place. */
static void
note_places(const struct numa_state *all, size_t n)
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
    struct numa_state *all;

    if (numa_bind(cpus, node, g->rank, g->n, e) < 0)
        return -1;
    if (g->n == 1 && cpus == NULL && node == NULL && verbosity < 1)
        return 0;
    all = xcalloc(g->n, sizeof *all);
    numa_describe(&all[g->rank]);
    if (*all[g->rank].why != '\0')
        warn("%s", all[g->rank].why);
    dist_all_gather_one(g, all, sizeof *all);
    if (g->rank == 0)
        note_places(all, g->n);
    free(all);
    return 0;
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

/* If calls are logged or in the timeline, let all ranks of g wait for each
 * other, so that the wait is not part of the call that follows. */
static struct call
wait_if_logged(const struct dist_group *g)
{
    const double t = clock_now();
    struct call s = { .sent = mpi_sent() };

    if (dist.log == NULL && !timeline_on())
        return s;
    mpi_barrier(g);
    timeline_add("wait", "wait for other ranks", t);
    s.begin = clock_now();
    s.wait = s.begin - t;
    return s;
}

/* Log a call that took `seconds`; for `exposed` seconds of them this rank did
 * nothing else.  bytes: [0] of the whole array, [1] of this rank's part, [2]
 * sent. */
static void
log_call(const struct dist_group *g, const struct call *s, const char *op,
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

/*
 * A round of a gather.  A gather has one round, unless all ranks of several
 * nodes gather: then it has two, so that each part is sent to a node once.  In
 * the first, the ranks with the same number on their nodes gather their parts
 * across the nodes; in the second, the ranks of each node gather what the first
 * has brought.
 */
struct leg {
    const struct dist_group *g;
    const size_t *part; /* parts that rank r of g brings: part[r*each] to
                         * part[r*each + each-1]; NULL: part r */
    size_t each;        /* number of parts that a rank brings */
    struct call call;
    double start, end; /* clock_now() */
    double exposed;    /* seconds in which this rank did nothing else */
    size_t wire;       /* bytes that this rank sent */
};

/* The gather in the background. */
static struct {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t change;
    /* on, begun: for the main thread only */
    int on;    /* 1: the thread runs */
    int begun; /* 1: dist_gather_end is still to be called */
    /* quit, busy: under lock */
    int quit; /* 1: the thread shall end */
    int busy; /* 1: a gather runs */
    /* the thread's while busy, else the main thread's */
    struct leg leg[2];
    size_t legs;
    void *x;
    size_t size;
    const size_t *at;
} back = { .lock = PTHREAD_MUTEX_INITIALIZER,
    .change = PTHREAD_COND_INITIALIZER };

/* Wait until the background gather is done, since only one thread at a time may
 * call MPI. */
static void
wait_background(void)
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
    /* exposed is the wait since the round began, without the wait for other
     * ranks to begin it */
    for (size_t i = 0; i < back.legs; i++) {
        struct leg *l = &back.leg[i];

        l->exposed += fmax(0.0, l->end - fmax(t, l->start));
    }
}

struct call
call_begin_pair(void)
{
    struct call s = { 0 };

    wait_background();
    watch_enter();
    s.sent = mpi_sent();
    if (dist.log != NULL || timeline_on())
        s.begin = clock_now();
    return s;
}

struct call
call_begin(const struct dist_group *g)
{
    wait_background();
    watch_enter();
    return wait_if_logged(g);
}

void
call_end(const struct dist_group *g, const struct call *s, enum comm_kind kind,
    const char *op, size_t whole, size_t shard)
{
    const double seconds = clock_now() - s->begin + s->before;
    const size_t bytes[3] = { whole, shard, mpi_sent() - s->sent };

    watch_leave();
    if (!(s->begin > 0.0))
        return;
    timeline_add(kind == COMM_REDUCE_SCATTER ? "reduce" : "gather", op,
        s->begin);
    log_call(g, s, op, kind, bytes, seconds, seconds);
}

void
dist_barrier(const struct dist_group *g)
{
    if (g->n == 1)
        return;
    wait_background();
    watch_enter();
    mpi_barrier(g);
    watch_leave();
}

void
dist_broadcast(const struct dist_group *g, void *p, size_t bytes, size_t root)
{
    struct call s;

    if (g->n == 1)
        return;
    s = call_begin(g);
    mpi_broadcast(g, p, bytes, root);
    call_end(g, &s, COMM_OTHER, "broadcast", bytes, bytes);
}

static const char gather_name[] = "all_gather_into_tensor";

static size_t
legs_of(const struct dist_group *g, struct leg leg[2])
{
    const size_t nodes = dist.across.n;

    leg[0] = (struct leg){ .g = g, .each = 1 };
    if (dist.by_node == NULL || g->comm != dist.world.comm)
        return 1;
    leg[0].g = &dist.across;
    leg[0].part = dist.by_node + dist.node.rank * nodes;
    leg[1] =
        (struct leg){ .g = &dist.node, .part = dist.by_node, .each = nodes };
    return 2;
}

/* Index of the i-th part that rank r brings to the round. */
static size_t
part_of(const struct leg *l, size_t r, size_t i)
{
    return l->part != NULL ? l->part[r * l->each + i] : r;
}

/* Gather round a ring: in each of n-1 steps, each rank passes on the parts that
 * came in the step before; in the first step, its own. */
static void
pass_round(struct leg *l, void *x, size_t size, const size_t *at)
{
    const struct dist_group *g = l->g;
    const size_t n = g->n, to = (g->rank + 1) % n, from = (g->rank + n - 1) % n;

    l->call = wait_if_logged(g);
    l->start = clock_now();
    for (size_t k = 0; k + 1 < n; k++)
        for (size_t i = 0; i < l->each; i++) {
            const size_t r = (g->rank + n - k) % n;
            const size_t out = part_of(l, r, i);
            const size_t in = part_of(l, (r + n - 1) % n, i);

            mpi_exchange(g, to, (char *)x + at[out] * size,
                (at[out + 1] - at[out]) * size, from, (char *)x + at[in] * size,
                (at[in + 1] - at[in]) * size);
        }
    l->end = clock_now();
    l->wire = mpi_sent() - l->call.sent;
    timeline_add("gather", gather_name, l->start);
}

static void
record_leg(const struct leg *l, size_t size, const size_t *at, double exposed)
{
    size_t bytes[3] = { 0, 0, l->wire };

    for (size_t r = 0; r < l->g->n; r++)
        for (size_t i = 0; i < l->each; i++) {
            const size_t p = part_of(l, r, i), n = (at[p + 1] - at[p]) * size;

            bytes[0] += n;
            bytes[1] += r == l->g->rank ? n : 0;
        }
    log_call(l->g, &l->call, gather_name, COMM_ALL_GATHER, bytes,
        l->end - l->start, exposed);
}

void
dist_all_gather(const struct dist_group *g, void *x, size_t size,
    const size_t *at)
{
    struct leg leg[2];
    const size_t legs = legs_of(g, leg);

    if (g->n == 1)
        return;
    wait_background();
    watch_enter();
    for (size_t i = 0; i < legs; i++)
        pass_round(&leg[i], x, size, at);
    watch_leave();
    for (size_t i = 0; i < legs; i++)
        record_leg(&leg[i], size, at, leg[i].end - leg[i].start);
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
        for (size_t i = 0; i < back.legs; i++)
            pass_round(&back.leg[i], back.x, back.size, back.at);
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
    back.legs = legs_of(g, back.leg);
    back.x = x;
    back.size = size;
    back.at = at;
    back.busy = back.begun = 1;
    pthread_cond_signal(&back.change);
    pthread_mutex_unlock(&back.lock);
}

void
dist_gather_end(void)
{
    if (!back.begun)
        return;
    wait_background();
    back.begun = 0;
    for (size_t i = 0; i < back.legs; i++)
        record_leg(&back.leg[i], back.size, back.at, back.leg[i].exposed);
}

/* End the background thread: MPI must not end before it. */
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
    dist_free_room();
    free(dist.by_node);
    dist.by_node = NULL;
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
