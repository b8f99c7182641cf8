/* The order of documents: see sampler.h */
#include "data/sampler.h"
#include "base/mem.h"
#include "base/rng.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { OPEN_MIN = 4, LABEL_FRAMES = 1, LABEL_DOCS = 2 };

/* Documents of one source in one frame, decoded. */
struct part {
    size_t n;               /* documents */
    size_t *off;            /* [n+1], tokens */
    uint64_t *key;          /* [n] */
    unsigned char *ids;
    uint8_t *mask;          /* or NULL */
};

struct frame_ref {
    uint32_t dir, shard, frame, ndoc;
};

struct source {
    struct frame_ref *frame;    /* in stored order */
    struct part **part;         /* [nframe], NULL: not in memory */
    size_t nframe, cap;
    uint64_t docs, tokens;
    /* The block in memory. */
    int open;
    uint64_t epoch, block;
    uint32_t *member;           /* [2K] numbers of its frames, then of those
                                 * of the block after it */
    uint64_t *upto;             /* [K+1] documents before member i */
    size_t nmember, nnext;
};

struct sampler {
    const struct dirs *d;
    struct source *src;
    size_t nsrc, K, id_size;
    uint64_t seed;
    int shuffle;
    struct shard_buf buf;
    struct shard_docs docs;
    struct source *visited;     /* a frame outside the block of this source, */
    uint32_t visitor;           /* loaded for sampler_ref */
};

static void
part_free(struct part *p)
{
    if (!p)
        return;
    free(p->off);
    free(p->key);
    free(p->ids);
    free(p->mask);
    free(p);
}

static void
add_frame(struct source *s, const struct frame_ref *f, uint64_t tokens)
{
    if (s->nframe == s->cap) {
        s->cap = s->cap ? 2 * s->cap : 16;
        s->frame = xreallocarray(s->frame, s->cap, sizeof *s->frame);
    }
    s->frame[s->nframe++] = *f;
    s->docs += f->ndoc;
    s->tokens += tokens;
}

static int
add_shard(struct sampler *s, size_t dir, size_t shard, struct err *e)
{
    const struct shard_index *x = shardset_index(s->d->set[dir], shard, e);

    if (!x)
        return -1;
    for (size_t i = 0; i < x->npart; i++) {
        const struct shard_part *p = &x->part[i];
        const struct frame_ref f = { (uint32_t)dir, (uint32_t)shard, p->frame,
            p->ndoc };

        if (p->source >= s->d->nsource[dir])
            return err_set(e, EX_INPUT, "%s: shard %zu: the index names source "
                "%u of %zu", dirs_name(s->d, dir), shard, (unsigned)p->source,
                s->d->nsource[dir]);
        if (p->ndoc > 0)
            add_frame(&s->src[s->d->source[dir][p->source]], &f, p->tokens);
    }
    return 0;
}

struct sampler *
sampler_new(const struct dirs *d, size_t open, uint64_t seed, int shuffle,
    struct err *e)
{
    struct sampler *s = xcalloc(1, sizeof *s);

    s->d = d;
    s->nsrc = d->info.nsource;
    s->src = xcalloc(s->nsrc, sizeof *s->src);
    s->id_size = d->info.vocab <= 65536 ? 2 : 4;
    s->seed = seed;
    s->shuffle = shuffle;
    s->K = open / s->nsrc;
    if (s->K < OPEN_MIN)
        s->K = OPEN_MIN;
    for (size_t i = 0; i < d->n; i++)
        for (size_t k = 0; k < shardset_manifest(d->set[i])->nfile; k++)
            if (add_shard(s, i, k, e) < 0) {
                sampler_free(s);
                return NULL;
            }
    for (size_t i = 0; i < s->nsrc; i++) {
        s->src[i].part = xcalloc(s->src[i].nframe, sizeof *s->src[i].part);
        s->src[i].member = xcalloc(2 * s->K, sizeof *s->src[i].member);
        s->src[i].upto = xcalloc(s->K + 1, sizeof *s->src[i].upto);
    }
    return s;
}

void
sampler_free(struct sampler *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->nsrc; i++) {
        for (size_t k = 0; s->src[i].part && k < s->src[i].nframe; k++)
            part_free(s->src[i].part[k]);
        free(s->src[i].part);
        free(s->src[i].frame);
        free(s->src[i].member);
        free(s->src[i].upto);
    }
    free(s->src);
    shard_docs_release(&s->docs);
    shard_buf_release(&s->buf);
    free(s);
}

size_t
sampler_id_size(const struct sampler *s)
{
    return s->id_size;
}

uint64_t
sampler_docs(const struct sampler *s, size_t source)
{
    return s->src[source].docs;
}

uint64_t
sampler_tokens(const struct sampler *s, size_t source)
{
    return s->src[source].tokens;
}

size_t
sampler_frames(const struct sampler *s, size_t source)
{
    return s->src[source].nframe;
}

size_t
sampler_open(const struct sampler *s)
{
    return s->K;
}

/* Take the documents of one source out of a decoded frame. */
static struct part *
take(const struct sampler *s, size_t dir, size_t source)
{
    const struct shard_docs *d = &s->docs;
    const uint16_t *map = s->d->source[dir];
    struct part *p = xcalloc(1, sizeof *p);
    size_t n = 0;

    for (size_t i = 0; i < d->n; i++)
        if (map[d->source[i]] == source) {
            p->n++;
            n += d->off[i + 1] - d->off[i];
        }
    p->off = xreallocarray(NULL, p->n + 1, sizeof *p->off);
    p->key = xreallocarray(NULL, p->n, sizeof *p->key);
    p->ids = xreallocarray(NULL, n, s->id_size);
    p->mask = d->masked ? xmalloc(n) : NULL;
    p->n = n = 0;
    for (size_t i = 0; i < d->n; i++) {
        const uint32_t *from = d->ids + d->off[i];
        const size_t len = d->off[i + 1] - d->off[i];

        if (map[d->source[i]] != source)
            continue;
        p->off[p->n] = n;
        p->key[p->n++] = d->key[i];
        if (s->id_size == 4) {
            memcpy(p->ids + 4 * n, from, 4 * len);
        } else {
            uint16_t *restrict to = (uint16_t *)(void *)p->ids + n;

            for (size_t t = 0; t < len; t++)
                to[t] = (uint16_t)from[t];
        }
        if (p->mask)
            memcpy(p->mask + n, d->mask + d->off[i], len);
        n += len;
    }
    p->off[p->n] = n;
    return p;
}

static int
frame_order(const void *a, const void *b)
{
    const struct frame_ref *x = a, *y = b;

    if (x->dir != y->dir)
        return x->dir < y->dir ? -1 : 1;
    if (x->shard != y->shard)
        return x->shard < y->shard ? -1 : 1;
    return x->frame < y->frame ? -1 : x->frame > y->frame;
}

/* What other sources want from the frame that has just been decoded, now or in
 * their next block: where sources share frames, a frame is decoded about once
 * for all of them. */
static void
share(struct sampler *s, const struct frame_ref *f)
{
    for (size_t i = 0; i < s->nsrc; i++) {
        struct source *o = &s->src[i];
        const struct frame_ref *at;

        if (!o->open || !(at = bsearch(f, o->frame, o->nframe, sizeof *f,
            frame_order)))
            continue;
        for (size_t m = 0; m < o->nmember + o->nnext; m++)
            if (o->member[m] == (uint32_t)(at - o->frame) &&
                !o->part[o->member[m]])
                o->part[o->member[m]] = take(s, f->dir, i);
    }
}

/* Frame number k of a source, decoded now if it is not in memory. */
static int
load(struct sampler *s, size_t source, uint32_t k, struct err *e)
{
    struct source *c = &s->src[source];
    const struct frame_ref f = c->frame[k];

    if (c->part[k])
        return 0;
    if (shardset_docs(s->d->set[f.dir], f.shard, f.frame, &s->buf, &s->docs,
        e) < 0)
        return -1;
    for (size_t i = 0; i < s->docs.n; i++)
        if (s->docs.source[i] >= s->d->nsource[f.dir])
            return err_set(e, EX_INPUT, "%s: shard %u, frame %u: a document "
                "of source %u", dirs_name(s->d, f.dir), f.shard, f.frame,
                (unsigned)s->docs.source[i]);
    share(s, &f);
    if (!c->part[k])
        c->part[k] = take(s, f.dir, source);
    if (c->part[k]->n != f.ndoc)
        return err_set(e, EX_INPUT, "%s: shard %u, frame %u: %zu documents of "
            "a source where the index counts %u", dirs_name(s->d, f.dir),
            f.shard, f.frame, c->part[k]->n, f.ndoc);
    return 0;
}

static size_t
blocks(const struct sampler *s, const struct source *c)
{
    return (c->nframe + s->K - 1) / s->K;
}

/* Numbers of the frames of a block; returns how many. */
static size_t
block_frames(const struct sampler *s, const struct source *c, uint64_t epoch,
    uint64_t block, uint32_t *member)
{
    const uint64_t key = rng_key(rng_key(s->seed, LABEL_FRAMES), epoch);
    const size_t from = (size_t)block * s->K;
    const size_t n = c->nframe - from < s->K ? c->nframe - from : s->K;

    for (size_t i = 0; i < n; i++)
        member[i] = (uint32_t)(s->shuffle ?
            rng_perm(key, c->nframe, from + i) : from + i);
    return n;
}

/* Make (epoch, block) the block in memory: frames it shares with what was
 * there are kept. */
static void
open_block(struct sampler *s, size_t source, uint64_t epoch, uint64_t block)
{
    struct source *c = &s->src[source];
    const int last = block + 1 >= blocks(s, c);
    const size_t nold = c->nmember + c->nnext;
    struct part **kept;
    uint32_t *old;

    if (c->open && c->epoch == epoch && c->block == block)
        return;
    old = xreallocarray(NULL, 2 * s->K, sizeof *old);
    kept = xcalloc(2 * s->K, sizeof *kept);
    memcpy(old, c->member, nold * sizeof *old);
    c->nmember = block_frames(s, c, epoch, block, c->member);
    c->nnext = block_frames(s, c, epoch + (uint64_t)last,
        last ? 0 : block + 1, c->member + c->nmember);
    for (size_t i = 0; i < c->nmember + c->nnext; i++) {
        if (i < c->nmember)
            c->upto[i + 1] = c->upto[i] + c->frame[c->member[i]].ndoc;
        kept[i] = c->part[c->member[i]];
        c->part[c->member[i]] = NULL;
    }
    for (size_t i = 0; i < nold; i++) {
        part_free(c->part[old[i]]);
        c->part[old[i]] = NULL;
    }
    for (size_t i = 0; i < c->nmember + c->nnext; i++)
        if (kept[i])
            c->part[c->member[i]] = kept[i];
    c->epoch = epoch;
    c->block = block;
    c->open = 1;
    free(old);
    free(kept);
}

int
sampler_valid(struct sampler *s, size_t source, const struct place *p)
{
    struct source *c = &s->src[source];

    if (p->block >= blocks(s, c))
        return 0;
    open_block(s, source, p->epoch, p->block);
    return p->doc < c->upto[c->nmember];
}

static void
fill(const struct sampler *s, const struct source *c, uint32_t frame,
    uint32_t doc, struct sampled *r)
{
    const struct part *p = c->part[frame];

    r->frame = frame;
    r->doc = doc;
    r->len = p->off[doc + 1] - p->off[doc];
    r->key = p->key[doc];
    r->ids = p->ids + p->off[doc] * s->id_size;
    r->mask = p->mask ? p->mask + p->off[doc] : NULL;
}

int
sampler_at(struct sampler *s, size_t source, const struct place *p,
    struct sampled *r, struct err *e)
{
    struct source *c = &s->src[source];
    size_t lo = 0, hi;
    uint64_t key, n;

    open_block(s, source, p->epoch, p->block);
    assert(p->doc < c->upto[c->nmember]);
    key = rng_key(rng_key(rng_key(rng_key(s->seed, LABEL_DOCS), source),
        p->epoch), p->block);
    n = s->shuffle ? rng_perm(key, c->upto[c->nmember], p->doc) : p->doc;
    for (hi = c->nmember; hi - lo > 1; ) {
        const size_t mid = lo + (hi - lo) / 2;

        if (c->upto[mid] <= n)
            lo = mid;
        else
            hi = mid;
    }
    if (load(s, source, c->member[lo], e) < 0)
        return -1;
    fill(s, c, c->member[lo], (uint32_t)(n - c->upto[lo]), r);
    return 0;
}

int
sampler_ref(struct sampler *s, size_t source, uint32_t frame, uint32_t doc,
    struct sampled *r, struct err *e)
{
    struct source *c;
    int inside = 0;

    if (s->visited) {
        part_free(s->visited->part[s->visitor]);
        s->visited->part[s->visitor] = NULL;
        s->visited = NULL;
    }
    if (source >= s->nsrc || frame >= s->src[source].nframe ||
        doc >= s->src[source].frame[frame].ndoc)
        return err_set(e, EX_INPUT, "there is no document %u in frame %u of "
            "source %zu", doc, frame, source);
    c = &s->src[source];
    for (size_t i = 0; i < c->nmember + c->nnext; i++)
        inside |= c->member[i] == frame;
    if (load(s, source, frame, e) < 0)
        return -1;
    if (!inside) {
        s->visited = c;
        s->visitor = frame;
    }
    fill(s, c, frame, doc, r);
    return 0;
}

void
sampler_step(struct sampler *s, size_t source, struct place *p)
{
    struct source *c = &s->src[source];

    open_block(s, source, p->epoch, p->block);
    p->off = 0;
    if (++p->doc < c->upto[c->nmember])
        return;
    p->doc = 0;
    if (++p->block < blocks(s, c))
        return;
    p->block = 0;
    p->epoch++;
}
