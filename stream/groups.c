/* The order of recorded rows: see groups.h */
#include "groups.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "msg/batch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL_GROUPS = 4, LABEL_ROWS = 5 };

struct group {
    uint32_t dir, shard, frame, nmsg; /* nmsg: batches that begin in the
                                       * frame */
    uint64_t rows, bytes, tokens;
    struct held_batch *kept; /* [nmsg] its batches; NULL: not in memory.  The
                              * caller alone frees them, and reads them without
                              * the lock */
    uint64_t stamp;          /* groups.stamp when this group was last in the
                              * open block */
    int busy;                /* a thread is decoding it */
};

struct groups {
    const struct dirs *d;
    struct group *g;                 /* [n] in stored order */
    size_t n, cap, K;                /* K: groups of a block */
    uint64_t R, bytes, tokens, seed; /* R: rows; R, bytes, tokens: sums over all
                                      * groups */
    int shuffle;
    uint64_t places; /* number of groups in all epochs; UINT64_MAX: no end */
    struct ahead ahead;
    /* Protected by the lock of ahead, like `kept` and `busy` of every group;
     * the members above do not change. */
    size_t held;         /* bytes of the groups in memory */
    size_t mem;          /* most bytes of groups in memory */
    uint64_t base, next; /* position in all epochs (epoch * n + index in the
                          * epoch's order) of the block's first group, and of
                          * the next group to read ahead */
    /* The block in memory, and its epoch.  Changed by the caller, under the
     * lock. */
    int started, open;
    uint64_t epoch, stamp;
    size_t block, nmember;
    uint64_t *start; /* [blocks+1] rows before each block */
    size_t *member;  /* [K] groups of the block */
    uint64_t *upto;  /* [K+1] rows before each member */
};

static void
free_kept(struct held_batch *k, size_t n)
{
    for (size_t i = 0; k && i < n; i++) {
        st_release(&k[i].st);
        free(k[i].mem);
    }
    free(k);
}

static void
unload(struct groups *g, struct group *o)
{
    if (o->kept)
        g->held -= o->bytes;
    free_kept(o->kept, o->nmsg);
    o->kept = NULL;
}

static void
add_shard_groups(struct groups *g, size_t dir, size_t shard,
    const struct shard_index *x)
{
    for (size_t f = 0; f < x->nframe; f++) {
        struct group one = { .dir = (uint32_t)dir,
            .shard = (uint32_t)shard,
            .frame = (uint32_t)f };

        for (size_t k = x->frame[f].msg;
             k < x->frame[f].msg + (size_t)x->frame[f].nmsg; k++)
            if (x->msg[k].kind == MSG_BATCH && x->msg[k].n > 0) {
                one.nmsg++;
                one.rows += x->msg[k].n;
                one.bytes += x->msg[k].len;
                one.tokens += x->msg[k].tokens;
            }
        if (one.nmsg == 0)
            continue;
        g->g = xgrow(g->g, g->n, &g->cap, sizeof *g->g);
        g->g[g->n++] = one;
        g->R += one.rows;
        g->tokens += one.tokens;
        g->bytes += one.bytes;
    }
}

static int
find_groups(struct groups *g, struct err *e)
{
    for (size_t i = 0; i < g->d->n; i++)
        for (size_t k = 0; k < set_manifest(g->d->set[i])->nfile; k++) {
            const struct shard_index *x = set_frames(g->d->set[i], k, e);

            if (!x)
                return -1;
            add_shard_groups(g, i, k, x);
        }
    if (g->R == 0)
        return err_set(e, EX_INPUT, "%s: holds no rows", dirs_name(g->d, 0));
    return 0;
}

static int read_group_ahead(void *groups, size_t worker, struct err *e);

struct groups *
groups_new(const struct dirs *d, const struct cursor_spec *spec,
    const struct feed_means *how, struct err *e)
{
    struct groups *g = xcalloc(1, sizeof *g);
    const size_t K = spec->open;

    g->d = d;
    g->seed = spec->seed;
    g->shuffle = spec->shuffle;
    g->mem = how->mem;
    ahead_init(&g->ahead, how->threads, read_group_ahead, g);
    if (find_groups(g, e) < 0) {
        groups_free(g);
        return NULL;
    }
    g->places = spec->length == LENGTH_EPOCHS && spec->limit < UINT64_MAX / g->n
        ? spec->limit * g->n
        : UINT64_MAX;
    g->K = !spec->shuffle || K == 0 ? 1 : K < g->n ? K : g->n;
    g->start = xcalloc((g->n + g->K - 1) / g->K + 1, sizeof *g->start);
    g->member = xcalloc(g->K, sizeof *g->member);
    g->upto = xcalloc(g->K + 1, sizeof *g->upto);
    return g;
}

void
groups_free(struct groups *g)
{
    if (!g)
        return;
    ahead_stop(&g->ahead);
    for (size_t i = 0; i < g->n; i++)
        unload(g, &g->g[i]);
    ahead_release(&g->ahead);
    free(g->g);
    free(g->start);
    free(g->member);
    free(g->upto);
    free(g);
}

uint64_t
groups_rows(const struct groups *g)
{
    return g->R;
}

uint64_t
groups_tokens(const struct groups *g)
{
    return g->tokens;
}

void
groups_times(struct groups *g, struct ahead_times *t)
{
    ahead_get_times(&g->ahead, t);
}

double
groups_bytes(const struct groups *g)
{
    return (double)g->bytes * (double)g->K / (double)g->n;
}

double
groups_distance(const struct groups *g)
{
    return g->shuffle
        ? (double)g->R / 3.0 * ahead_near(g->n, g->K, (double)g->R)
        : 1.0;
}

/* Number of the group that is at index i of the epoch's order. */
static size_t
group_at(const struct groups *g, uint64_t epoch, size_t i)
{
    return !g->shuffle
        ? i
        : (size_t)rng_perm(rng_key(rng_key(g->seed, LABEL_GROUPS), epoch), g->n,
              i);
}

static size_t
group_blocks(const struct groups *g)
{
    return (g->n + g->K - 1) / g->K;
}

static void
start_epoch(struct groups *g, uint64_t epoch)
{
    uint64_t rows = 0;

    for (size_t i = 0; i < g->n; i++) {
        if (i % g->K == 0)
            g->start[i / g->K] = rows;
        rows += g->g[group_at(g, epoch, i)].rows;
    }
    g->start[group_blocks(g)] = rows;
    g->epoch = epoch;
    g->started = 1;
    g->open = 0;
}

uint64_t
groups_skip(struct groups *g, uint64_t epoch, uint64_t *left)
{
    size_t block = 0;

    start_epoch(g, epoch);
    for (; block < group_blocks(g); block++) {
        uint64_t n = 0;

        for (size_t i = block * g->K; i < (block + 1) * g->K && i < g->n; i++)
            n += g->g[group_at(g, epoch, i)].tokens;
        if (n >= *left)
            break;
        *left -= n;
    }
    return g->start[block];
}

/* Open a block.  Groups that were in the block before stay in memory. */
static void
open_group_block(struct groups *g, size_t block)
{
    const size_t from = block * g->K;
    const size_t n = g->n - from < g->K ? g->n - from : g->K;

    g->stamp++;
    for (size_t i = 0; i < n; i++)
        g->g[group_at(g, g->epoch, from + i)].stamp = g->stamp;
    for (size_t i = 0; i < g->nmember; i++)
        if (g->g[g->member[i]].stamp != g->stamp)
            unload(g, &g->g[g->member[i]]);
    for (size_t i = 0; i < n; i++) {
        g->member[i] = group_at(g, g->epoch, from + i);
        g->upto[i + 1] = g->upto[i] + g->g[g->member[i]].rows;
    }
    g->nmember = n;
    g->block = block;
    g->open = 1;
    g->base = g->epoch * g->n + from;
    if (g->next < g->base)
        g->next = g->base;
    pthread_cond_broadcast(&g->ahead.room);
}

/* Read message k of a group's shard, which begins in the group's frame, into
 * *r. */
static int
load_message(const struct groups *g, struct shard_buf *b, const struct group *o,
    size_t k, struct held_batch *r, struct err *e)
{
    const struct dirs *d = g->d;
    uint64_t tokens;

    if (set_msg(d->set[o->dir], o->shard, k, b, &r->m, e) < 0)
        return -1;
    if (r->m.kind != MSG_BATCH)
        return err_set(e, EX_INPUT, "%s: shard %u: message %zu is no batch",
            dirs_name(d, o->dir), o->shard, k);
    if (batch_check(&r->m.st, d->info.vocab, d->nsource[o->dir], &tokens, e) <
        0)
        return err_prefix(e, "%s: shard %u: message %zu", dirs_name(d, o->dir),
            o->shard, k);
    r->rows = st_find(&r->m.st, "ids")->shape[0];
    r->dir = o->dir;
    /* take over the memory of the message */
    r->mem = b->msg;
    r->cap = b->msg_cap;
    r->st = b->st;
    b->msg = NULL;
    b->msg_cap = 0;
    memset(&b->st, 0, sizeof b->st);
    return 0;
}

/* Decode a group's messages into kept[]; called without the lock. */
static int
decode_group(const struct groups *g, struct shard_buf *b, const struct group *o,
    struct held_batch *kept, struct err *e)
{
    const struct dirs *d = g->d;
    const struct shard_index *x = set_frames(d->set[o->dir], o->shard, e);
    size_t n = 0;
    uint64_t rows = 0;

    if (!x)
        return -1;
    for (size_t k = x->frame[o->frame].msg; n < o->nmsg; k++) {
        if (x->msg[k].kind != MSG_BATCH || x->msg[k].n == 0)
            continue;
        if (load_message(g, b, o, k, &kept[n], e) < 0)
            return -1;
        rows += kept[n++].rows;
    }
    if (rows != o->rows)
        return err_set(e, EX_INPUT,
            "%s: shard %u, frame %u: %" PRIu64
            " rows where the index counts %" PRIu64,
            dirs_name(d, o->dir), o->shard, o->frame, rows, o->rows);
    return 0;
}

/* Decode a group as worker `worker`; the lock is released meanwhile. */
static int
bring_group(struct groups *g, size_t worker, struct group *o, struct err *e)
{
    struct held_batch *kept = xcalloc(o->nmsg, sizeof *kept);
    int r;

    o->busy = 1;
    g->held += o->bytes;
    pthread_mutex_unlock(&g->ahead.lock);
    r = decode_group(g, &g->ahead.worker[worker].buf, o, kept, e);
    pthread_mutex_lock(&g->ahead.lock);
    o->busy = 0;
    if (r == 0) {
        o->kept = kept;
    } else {
        g->held -= o->bytes;
        free_kept(kept, o->nmsg);
    }
    pthread_cond_broadcast(&g->ahead.done);
    return r;
}

/* The next group to read ahead, at most an epoch ahead; NULL: there is none, or
 * no memory for it. */
static struct group *
next_to_read(struct groups *g)
{
    for (; g->open && g->next < g->places && g->next < g->base + g->n;
         g->next++) {
        struct group *o =
            &g->g[group_at(g, g->next / g->n, (size_t)(g->next % g->n))];

        if (!o->kept && !o->busy)
            return g->held + o->bytes <= g->mem ? o : NULL;
    }
    return NULL;
}

static int
read_group_ahead(void *groups, size_t worker, struct err *e)
{
    struct groups *g = groups;
    struct group *o = next_to_read(g);

    return !o ? 0 : bring_group(g, worker, o, e) < 0 ? -1 : 1;
}

/* Bring a group into memory, for the caller. */
static int
need_group(struct groups *g, struct group *o, struct err *e)
{
    ahead_start(&g->ahead);
    g->ahead.times.late += !o->kept && g->ahead.times.ahead;
    while (!o->kept) {
        const double t = clock_now();

        if (o->busy) {
            ahead_wait(&g->ahead, &g->ahead.done, &g->ahead.times.waited, 0);
            continue;
        }
        if (bring_group(g, 0, o, e) < 0)
            return -1;
        g->ahead.times.decoded += clock_now() - t;
    }
    return 0;
}

const struct held_batch *
groups_find(struct groups *g, uint64_t epoch, uint64_t i, size_t *row,
    struct err *e)
{
    struct group *o;
    size_t block, m;
    int bad;

    pthread_mutex_lock(&g->ahead.lock);
    if (!g->started || g->epoch != epoch)
        start_epoch(g, epoch);
    block = ahead_span(g->start, group_blocks(g), i);
    if (!g->open || g->block != block)
        open_group_block(g, block);
    i -= g->start[block];
    if (g->shuffle)
        i = rng_perm(rng_key(rng_key(rng_key(g->seed, LABEL_ROWS), epoch),
                         block),
            g->upto[g->nmember], i);
    m = ahead_span(g->upto, g->nmember, i);
    o = &g->g[g->member[m]];
    i -= g->upto[m];
    bad = need_group(g, o, e);
    pthread_mutex_unlock(&g->ahead.lock);
    if (bad)
        return NULL;
    for (m = 0; i >= o->kept[m].rows; m++)
        i -= o->kept[m].rows;
    *row = (size_t)i;
    return &o->kept[m];
}

size_t
groups_fit(const struct dirs *d, size_t mem, struct err *e)
{
    const struct cursor_spec one = { .open = 1, .shuffle = 1 };
    const struct feed_means how = { .mem = mem };
    struct groups *g = groups_new(d, &one, &how, e);
    double k;

    if (!g)
        return 0;
    k = (double)mem / 2.0 / groups_bytes(g);
    k = k < 1.0 ? 1.0 : k < (double)g->n ? k : (double)g->n;
    groups_free(g);
    return (size_t)k;
}
