/* The order of documents: see sampler.h */
#include "sampler.h"
#include "base/mem.h"
#include "base/rng.h"
#include "sampler_load.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { OPEN_MIN = 4, LABEL_FRAMES = 1, LABEL_DOCS = 2, SCAN = 8 };

static void
add_frame(struct source *s, const struct frame_ref *f)
{
    s->frame = xgrow(s->frame, s->nframe, &s->cap, sizeof *s->frame);
    s->frame[s->nframe++] = *f;
    s->docs += f->ndoc;
    s->tokens += f->tokens;
}

static int
add_shard_frames(struct sampler *s, size_t dir, size_t shard, struct err *e)
{
    const struct shard_index *x = s->lengths
        ? set_index(s->d->set[dir], shard, e)
        : set_frames(s->d->set[dir], shard, e);

    if (!x)
        return -1;
    for (size_t i = 0; i < x->npart; i++) {
        const struct shard_part *p = &x->part[i];
        const struct frame_ref f = { (uint32_t)dir, (uint32_t)shard, p->frame,
            p->ndoc, p->tokens };

        if (p->source >= s->d->nsource[dir])
            return err_set(e, EX_INPUT,
                "%s: shard %zu: the index names source %u of %zu",
                dirs_name(s->d, dir), shard, (unsigned)p->source,
                s->d->nsource[dir]);
        if (p->ndoc > 0)
            add_frame(&s->src[s->d->source[dir][p->source]], &f);
    }
    return 0;
}

/* List the frames of each source. */
static int
find_frames(struct sampler *s, struct err *e)
{
    const struct dirs *d = s->d;

    s->nsrc = d->info.nsource;
    s->src = xcalloc(s->nsrc, sizeof *s->src);
    s->id_room = d->info.vocab <= 65536 ? 2 : 4;
    for (size_t i = 0; i < d->n; i++)
        for (size_t k = 0; k < set_manifest(d->set[i])->nfile; k++)
            if (add_shard_frames(s, i, k, e) < 0)
                return -1;
    return 0;
}

static void
drop_frames(struct sampler *s)
{
    for (size_t i = 0; i < s->nsrc; i++)
        free(s->src[i].frame);
    free(s->src);
}

/* Expected bytes of K frames of every source together, without masks. */
static double
bytes_of_frames(const struct sampler *s, size_t K)
{
    double sum = 0.0;

    for (size_t i = 0; i < s->nsrc; i++) {
        const struct source *c = &s->src[i];
        const size_t n = c->nframe < K ? c->nframe : K;

        if (n)
            sum += (double)n / (double)c->nframe *
                ((double)c->tokens * (double)s->id_room +
                    16.0 * (double)c->docs);
    }
    return sum;
}

size_t
sampler_fit(const struct dirs *d, size_t mem, struct err *e)
{
    struct sampler s = { .d = d };
    size_t lo = OPEN_MIN, hi = OPEN_MIN;

    if (find_frames(&s, e) < 0) {
        drop_frames(&s);
        return 0;
    }
    for (size_t i = 0; i < s.nsrc; i++)
        hi = s.src[i].nframe > hi ? s.src[i].nframe : hi;
    while (lo < hi) {
        const size_t mid = lo + (hi - lo + 1) / 2;

        if (bytes_of_frames(&s, mid) <= (double)mem / 2.0)
            lo = mid;
        else
            hi = mid - 1;
    }
    lo *= s.nsrc;
    drop_frames(&s);
    return lo;
}

static void
make_decoders(struct sampler *s, size_t threads)
{
    ahead_init(&s->ahead, threads, decoder_step, s);
    s->decoder = xcalloc(1 + threads, sizeof *s->decoder);
    s->ndecoder = 1 + threads;
    for (size_t i = 0; i < s->ndecoder; i++) {
        s->decoder[i].s = s;
        s->decoder[i].buf = &s->ahead.worker[i].buf;
        s->decoder[i].source = xcalloc(s->nsrc, sizeof *s->decoder[i].source);
        s->decoder[i].place = xcalloc(s->nsrc, sizeof *s->decoder[i].place);
        s->decoder[i].number = xcalloc(s->nsrc, sizeof *s->decoder[i].number);
        s->decoder[i].part = xcalloc(s->nsrc, sizeof *s->decoder[i].part);
    }
}

/* Bytes of memory for parts: mem, or less if all data takes less. */
static size_t
most_bytes(const struct sampler *s)
{
    size_t all = 0;

    for (size_t i = 0; i < s->nsrc && all < s->mem; i++)
        for (size_t k = 0; k < s->src[i].nframe && all < s->mem; k++)
            all += part_bytes(s, &s->src[i].frame[k]) / 31 * 32 + 64;
    return all < s->mem ? all : s->mem;
}

struct sampler *
sampler_new(const struct dirs *d, const struct sampler_opts *o, struct err *e)
{
    struct sampler *s = xcalloc(1, sizeof *s);

    s->d = d;
    s->seed = o->seed;
    s->shuffle = o->shuffle;
    s->lengths = o->lengths;
    s->mem = o->mem;
    if (find_frames(s, e) < 0) {
        sampler_free(s);
        return NULL;
    }
    s->id_size = s->lengths ? 0 : s->id_room;
    s->K = o->open / s->nsrc;
    if (s->K < OPEN_MIN)
        s->K = OPEN_MIN;
    if (!o->lengths)
        room_init(&s->memory, most_bytes(s));
    make_decoders(s, o->lengths ? 0 : o->threads);
    for (size_t i = 0; i < s->nsrc; i++) {
        s->src[i].part = xcalloc(s->src[i].nframe, sizeof *s->src[i].part);
        s->src[i].member = xcalloc(2 * s->K, sizeof *s->src[i].member);
        s->src[i].upto = xcalloc(s->K + 1, sizeof *s->src[i].upto);
        s->src[i].want = xcalloc(2 * s->K, sizeof *s->src[i].want);
        s->src[i].first = xcalloc(s->K, sizeof *s->src[i].first);
    }
    return s;
}

void
sampler_free(struct sampler *s)
{
    if (!s)
        return;
    if (s->decoder)
        ahead_stop(&s->ahead);
    for (size_t i = 0; i < s->nsrc; i++) {
        for (size_t k = 0; s->src[i].part && k < s->src[i].nframe; k++)
            part_drop(s, &s->src[i], (uint32_t)k);
        free(s->src[i].part);
        free(s->src[i].member);
        free(s->src[i].upto);
        free(s->src[i].want);
        free(s->src[i].first);
    }
    room_release(&s->memory);
    drop_frames(s);
    for (size_t i = 0; i < s->ndecoder; i++) {
        free(s->decoder[i].source);
        free(s->decoder[i].place);
        free(s->decoder[i].number);
        free(s->decoder[i].part);
    }
    if (s->decoder)
        ahead_release(&s->ahead);
    free(s->decoder);
    free(s);
}

size_t
sampler_bytes(const struct sampler *s)
{
    return (size_t)bytes_of_frames(s, s->K);
}

void
sampler_distance(const struct sampler *s, struct sampler_distance *r)
{
    double docs = 0.0;

    r->expected = r->full = 0.0;
    for (size_t i = 0; i < s->nsrc; i++) {
        const struct source *c = &s->src[i];
        const double n = (double)c->docs;

        if (c->nframe == 0)
            continue;
        docs += n;
        r->full += n * n / 3.0;
        r->expected +=
            n * (!s->shuffle ? 1.0 : n / 3.0 * ahead_near(c->nframe, s->K, n));
    }
    if (docs > 0.0) {
        r->full /= docs;
        r->expected /= docs;
    }
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
sampler_open(const struct sampler *s)
{
    return s->K;
}

static size_t
source_blocks(const struct sampler *s, const struct source *c)
{
    return (c->nframe + s->K - 1) / s->K;
}

/* Set `member` to the frames of a block; returns the number of frames. */
static size_t
block_frames(const struct sampler *s, const struct source *c, uint64_t epoch,
    uint64_t block, uint32_t *member)
{
    const uint64_t key = rng_key(rng_key(s->seed, LABEL_FRAMES), epoch);
    const size_t from = (size_t)block * s->K;
    const size_t n = c->nframe - from < s->K ? c->nframe - from : s->K;

    for (size_t i = 0; i < n; i++)
        member[i] = (uint32_t)(s->shuffle ? rng_perm(key, c->nframe, from + i)
                                          : from + i);
    return n;
}

/* Number, in stored order, of the document of the open block that is drawn as
 * number `doc`. */
static uint64_t
stored_number(const struct sampler *s, size_t source, uint64_t doc)
{
    const struct source *c = &s->src[source];

    return s->shuffle
        ? rng_perm(rng_key(rng_key(rng_key(rng_key(s->seed, LABEL_DOCS),
                                       source),
                               c->epoch),
                       c->block),
              c->upto[c->nmember], doc)
        : doc;
}

/* Sort the open block's frames into the order in which threads read them: by
 * the first document from `doc` on that each frame gives.  When shuffled, only
 * the next SCAN documents per frame are looked up; frames without any of these
 * follow, and then the next block's frames. */
static void
order_wants(struct sampler *s, size_t source, uint64_t doc)
{
    struct source *c = &s->src[source];
    const uint64_t end = c->upto[c->nmember];
    const uint64_t far = s->shuffle ? SCAN * c->nmember : 0;
    unsigned char *seen = xcalloc(c->nmember, 1);
    size_t n = 0;

    for (uint64_t k = doc; n < c->nmember && k < end && k - doc < far; k++) {
        const size_t m =
            ahead_span(c->upto, c->nmember, stored_number(s, source, k));

        if (seen[m]++ == 0) {
            c->first[n] = k;
            c->want[n++] = c->member[m];
        }
    }
    for (size_t m = 0; m < c->nmember; m++)
        if (!seen[m]) {
            c->first[n] = s->shuffle ? doc + far : c->upto[m];
            c->want[n++] = c->member[m];
        }
    memcpy(c->want + n, c->member + n, c->nnext * sizeof *c->want);
    c->ready = 0;
    free(seen);
}

/* Open the block of place p.  Frames in memory stay if they are in this block
 * or the next. */
static void
open_source_block(struct sampler *s, size_t source, const struct place *p)
{
    struct source *c = &s->src[source];
    const uint64_t epoch = p->epoch, block = p->block;
    const int last = block + 1 >= source_blocks(s, c);
    const size_t nold = c->nmember + c->nnext;
    struct part **kept;
    uint32_t *old;

    if (c->open && c->epoch == epoch && c->block == block)
        return;
    old = xreallocarray(NULL, 2 * s->K, sizeof *old);
    kept = xcalloc(2 * s->K, sizeof *kept);
    memcpy(old, c->member, nold * sizeof *old);
    c->nmember = block_frames(s, c, epoch, block, c->member);
    c->nnext = block_frames(s, c, epoch + (uint64_t)last, last ? 0 : block + 1,
        c->member + c->nmember);
    for (size_t i = 0; i < c->nmember + c->nnext; i++) {
        if (i < c->nmember)
            c->upto[i + 1] = c->upto[i] + c->frame[c->member[i]].ndoc;
        kept[i] = c->part[c->member[i]];
        c->part[c->member[i]] = NULL;
    }
    for (size_t i = 0; i < nold; i++)
        part_drop(s, c, old[i]);
    for (size_t i = 0; i < c->nmember + c->nnext; i++)
        if (kept[i])
            c->part[c->member[i]] = kept[i];
    c->epoch = epoch;
    c->block = block;
    c->open = 1;
    c->at = p->doc;
    order_wants(s, source, p->doc);
    for (size_t i = 0; i < SOON; i++)
        c->soon[i].doc = UINT64_MAX;
    free(old);
    free(kept);
    pthread_cond_broadcast(&s->ahead.room);
}

int
sampler_valid(const struct sampler *s, size_t source, const struct place *p)
{
    const struct source *c = &s->src[source];
    uint32_t *member;
    uint64_t docs = 0;
    size_t n;

    if (p->block >= source_blocks(s, c))
        return 0;
    member = xreallocarray(NULL, s->K, sizeof *member);
    n = block_frames(s, c, p->epoch, p->block, member);
    for (size_t i = 0; i < n; i++)
        docs += c->frame[member[i]].ndoc;
    free(member);
    return p->doc < docs;
}

void
sampler_expect(struct sampler *s, size_t source, const struct place *p)
{
    pthread_mutex_lock(&s->ahead.lock);
    open_source_block(s, source, p);
    pthread_mutex_unlock(&s->ahead.lock);
}

static void
fill_sampled(const struct sampler *s, const struct source *c, uint32_t frame,
    uint32_t doc, struct sampled *r)
{
    const struct part *p = c->part[frame];
    const struct part_doc *d = &p->doc[doc];

    r->frame = frame;
    r->doc = doc;
    r->len = d[1].off - d->off;
    r->key = d->key;
    r->ids = p->ids ? p->ids + d->off * s->id_size : NULL;
    r->mask = p->mask ? p->mask + d->off : NULL;
}

/* Find document `doc` of the open block. */
static const struct soon *
find_doc(const struct sampler *s, size_t source, uint64_t doc)
{
    struct source *c = &s->src[source];
    struct soon *r = &c->soon[doc % SOON];
    uint64_t n;
    size_t m;

    if (r->doc == doc)
        return r;
    n = stored_number(s, source, doc);
    m = ahead_span(c->upto, c->nmember, n);
    r->doc = doc;
    r->frame = c->member[m];
    r->in_frame = (uint32_t)(n - c->upto[m]);
    return r;
}

/* Documents lie all over memory.  Prefetch the ids of the next document, and
 * the struct part_doc of the one after it, before the caller asks for them. */
static void
fetch_soon(const struct sampler *s, size_t source, uint64_t doc)
{
    enum { LINE = 64, LINES = 16 };
    const struct source *c = &s->src[source];
    const uint64_t end = c->upto[c->nmember];

    for (uint64_t k = 1; k <= 2 && doc + k < end; k++) {
        const struct soon *r = find_doc(s, source, doc + k);
        const struct part *p = c->part[r->frame];
        const struct part_doc *d = p ? &p->doc[r->in_frame] : NULL;

        if (!d || !p->ids)
            continue;
        if (k == 2) {
            __builtin_prefetch(d);
            continue;
        }
        for (size_t i = 0;
             i < LINES && i * LINE < (d[1].off - d->off) * s->id_size; i++)
            __builtin_prefetch(p->ids + d->off * s->id_size + i * LINE);
    }
}

int
sampler_at(struct sampler *s, size_t source, const struct place *p,
    struct sampled *r, struct err *e)
{
    struct source *c = &s->src[source];
    const struct soon *at;
    int bad;

    ahead_start(&s->ahead);
    pthread_mutex_lock(&s->ahead.lock);
    open_source_block(s, source, p);
    assert(p->doc < c->upto[c->nmember]);
    at = find_doc(s, source, p->doc);
    c->at = p->doc;
    c->drawn++;
    bad = part_need(s, source, at->frame, e);
    if (!bad) {
        fill_sampled(s, c, at->frame, at->in_frame, r);
        fetch_soon(s, source, p->doc);
    }
    pthread_mutex_unlock(&s->ahead.lock);
    return bad;
}

int
sampler_ref(struct sampler *s, size_t source, uint32_t frame, uint32_t doc,
    struct sampled *r, struct err *e)
{
    struct source *c;
    int bad;

    if (source >= s->nsrc || frame >= s->src[source].nframe ||
        doc >= s->src[source].frame[frame].ndoc)
        return err_set(e, EX_INPUT,
            "there is no document %u in frame %u of source %zu", doc, frame,
            source);
    c = &s->src[source];
    pthread_mutex_lock(&s->ahead.lock);
    if (s->visited)
        part_drop(s, s->visited, s->visitor);
    s->visited = NULL;
    bad = part_need(s, source, frame, e);
    if (!bad && !is_member(c, frame)) {
        s->visited = c;
        s->visitor = frame;
    }
    if (!bad)
        fill_sampled(s, c, frame, doc, r);
    pthread_mutex_unlock(&s->ahead.lock);
    return bad;
}

void
sampler_step(struct sampler *s, size_t source, struct place *p)
{
    struct source *c = &s->src[source];

    pthread_mutex_lock(&s->ahead.lock);
    open_source_block(s, source, p);
    pthread_mutex_unlock(&s->ahead.lock);
    p->off = 0;
    if (++p->doc < c->upto[c->nmember])
        return;
    p->doc = 0;
    if (++p->block < source_blocks(s, c))
        return;
    p->block = 0;
    p->epoch++;
}
