/* The order of recorded rows: see stream_groups.h */
#include "stream_groups.h"
#include "stream.h"
#include "base/mem.h"
#include "base/prog.h"
#include "base/rng.h"
#include "data/batch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL_GROUPS = 4, LABEL_ROWS = 5 };

struct group {
    uint32_t dir, shard, frame, nmsg;   /* batches that begin in the frame */
    uint64_t rows, bytes;
    struct kept *kept;      /* [nmsg], NULL: not in memory */
    uint64_t stamp;         /* of the block it was last in */
};

struct groups {
    const struct dirs *d;
    struct group *g;
    size_t n, cap, K;
    uint64_t R, bytes, seed;
    int shuffle;
    struct shard_buf buf;
    /* The epoch and block in memory. */
    int started, open;
    uint64_t epoch, stamp;
    size_t block, nmember;
    uint64_t *start;        /* [blocks+1] rows before a block */
    size_t *member;         /* [K] */
    uint64_t *upto;         /* [K+1] rows before a member */
    double decoded;
};

static void
unload(struct group *g)
{
    for (size_t i = 0; g->kept && i < g->nmsg; i++) {
        st_release(&g->kept[i].st);
        free(g->kept[i].mem);
    }
    free(g->kept);
    g->kept = NULL;
}

static void
add_shard(struct groups *g, size_t dir, size_t shard,
    const struct shard_index *x)
{
    for (size_t f = 0; f < x->nframe; f++) {
        struct group one = { .dir = (uint32_t)dir, .shard = (uint32_t)shard,
            .frame = (uint32_t)f };

        for (size_t k = x->frame[f].msg; k < x->frame[f].msg +
            (size_t)x->frame[f].nmsg; k++)
            if (x->msg[k].kind == MSG_BATCH && x->msg[k].n > 0) {
                one.nmsg++;
                one.rows += x->msg[k].n;
                one.bytes += x->msg[k].len;
            }
        if (one.nmsg == 0)
            continue;
        g->g = xgrow(g->g, g->n, &g->cap, sizeof *g->g);
        g->g[g->n++] = one;
        g->R += one.rows;
        g->bytes += one.bytes;
    }
}

static int
find_groups(struct groups *g, struct err *e)
{
    for (size_t i = 0; i < g->d->n; i++)
        for (size_t k = 0; k < shardset_manifest(g->d->set[i])->nfile; k++) {
            const struct shard_index *x = shardset_frames(g->d->set[i], k, e);

            if (!x)
                return -1;
            add_shard(g, i, k, x);
        }
    if (g->R == 0)
        return err_set(e, EX_INPUT, "%s: holds no rows", dirs_name(g->d, 0));
    return 0;
}

struct groups *
groups_new(const struct dirs *d, size_t K, uint64_t seed, int shuffle,
    struct err *e)
{
    struct groups *g = xcalloc(1, sizeof *g);

    g->d = d;
    g->seed = seed;
    g->shuffle = shuffle;
    if (find_groups(g, e) < 0) {
        groups_free(g);
        return NULL;
    }
    g->K = !shuffle || K == 0 ? 1 : K < g->n ? K : g->n;
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
    for (size_t i = 0; i < g->n; i++)
        unload(&g->g[i]);
    shard_buf_release(&g->buf);
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

double
groups_decoded(const struct groups *g)
{
    return g->decoded;
}

double
groups_bytes(const struct groups *g)
{
    return (double)g->bytes * (double)g->K / (double)g->n;
}

double
groups_distance(const struct groups *g)
{
    return g->shuffle ? (double)g->R * (double)g->K / (double)g->n / 3.0 : 1.0;
}

/* The group at place i of the epoch. */
static size_t
group_at(const struct groups *g, uint64_t epoch, size_t i)
{
    return !g->shuffle ? i : (size_t)rng_perm(rng_key(rng_key(g->seed,
        LABEL_GROUPS), epoch), g->n, i);
}

static size_t
blocks(const struct groups *g)
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
    g->start[blocks(g)] = rows;
    g->epoch = epoch;
    g->started = 1;
    g->open = 0;
}

/* Make it the block in memory; groups that it shares with the one before are
 * kept. */
static void
open_block(struct groups *g, size_t block)
{
    const size_t from = block * g->K;
    const size_t n = g->n - from < g->K ? g->n - from : g->K;

    g->stamp++;
    for (size_t i = 0; i < n; i++)
        g->g[group_at(g, g->epoch, from + i)].stamp = g->stamp;
    for (size_t i = 0; i < g->nmember; i++)
        if (g->g[g->member[i]].stamp != g->stamp)
            unload(&g->g[g->member[i]]);
    for (size_t i = 0; i < n; i++) {
        g->member[i] = group_at(g, g->epoch, from + i);
        g->upto[i + 1] = g->upto[i] + g->g[g->member[i]].rows;
    }
    g->nmember = n;
    g->block = block;
    g->open = 1;
}

/* Which of the n spans that begin at upto[] holds i. */
static size_t
span_of(const uint64_t *upto, size_t n, uint64_t i)
{
    size_t lo = 0;

    for (size_t hi = n; hi - lo > 1; ) {
        const size_t mid = lo + (hi - lo) / 2;

        if (upto[mid] <= i)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

/* Message k of the group's shard into *r. */
static int
load_message(struct groups *g, const struct group *o, size_t k,
    struct kept *r, struct err *e)
{
    struct shardset *set = g->d->set[o->dir];
    uint64_t tokens;

    if (shardset_msg(set, o->shard, k, &g->buf, &r->m, e) < 0)
        return -1;
    if (r->m.kind != MSG_BATCH)
        return err_set(e, EX_INPUT, "%s: shard %u: message %zu is no batch",
            dirs_name(g->d, o->dir), o->shard, k);
    if (batch_check(&r->m.st, g->d->info.vocab, g->d->nsource[o->dir],
        &tokens, e) < 0)
        return err_prefix(e, "%s: shard %u: message %zu",
            dirs_name(g->d, o->dir), o->shard, k);
    r->rows = st_find(&r->m.st, "ids")->shape[0];
    r->dir = o->dir;
    /* Take the memory over. */
    r->mem = g->buf.msg;
    r->cap = g->buf.msg_cap;
    r->st = g->buf.st;
    g->buf.msg = NULL;
    g->buf.msg_cap = 0;
    memset(&g->buf.st, 0, sizeof g->buf.st);
    return 0;
}

static int
load(struct groups *g, struct group *o, struct err *e)
{
    const struct shard_index *x = shardset_frames(g->d->set[o->dir], o->shard,
        e);
    const double t = prog_now();
    size_t n = 0;
    uint64_t rows = 0;

    if (o->kept)
        return 0;
    if (!x)
        return -1;
    o->kept = xcalloc(o->nmsg, sizeof *o->kept);
    for (size_t k = x->frame[o->frame].msg; n < o->nmsg; k++) {
        if (x->msg[k].kind != MSG_BATCH || x->msg[k].n == 0)
            continue;
        if (load_message(g, o, k, &o->kept[n], e) < 0)
            return -1;
        rows += o->kept[n++].rows;
    }
    if (rows != o->rows)
        return err_set(e, EX_INPUT, "%s: shard %u, frame %u: %" PRIu64 " rows "
            "where the index counts %" PRIu64, dirs_name(g->d, o->dir),
            o->shard, o->frame, rows, o->rows);
    g->decoded += prog_now() - t;
    return 0;
}

const struct kept *
groups_find(struct groups *g, uint64_t epoch, uint64_t i, size_t *row,
    struct err *e)
{
    struct group *o;
    size_t block, m;

    if (!g->started || g->epoch != epoch)
        start_epoch(g, epoch);
    block = span_of(g->start, blocks(g), i);
    if (!g->open || g->block != block)
        open_block(g, block);
    i -= g->start[block];
    if (g->shuffle)
        i = rng_perm(rng_key(rng_key(rng_key(g->seed, LABEL_ROWS), epoch),
            block), g->upto[g->nmember], i);
    m = span_of(g->upto, g->nmember, i);
    o = &g->g[g->member[m]];
    i -= g->upto[m];
    if (load(g, o, e) < 0)
        return NULL;
    for (m = 0; i >= o->kept[m].rows; m++)
        i -= o->kept[m].rows;
    *row = (size_t)i;
    return &o->kept[m];
}

size_t
rows_fit(const struct dirs *d, size_t mem, struct err *e)
{
    struct groups *g = groups_new(d, 1, 0, 1, e);
    double k;

    if (!g)
        return 0;
    k = (double)mem / groups_bytes(g);
    k = k < 1.0 ? 1.0 : k < (double)g->n ? k : (double)g->n;
    groups_free(g);
    return (size_t)k;
}
