/* Brings frames into memory, on demand and ahead of it: see sampler_load.h */
#include "sampler_load.h"
#include "base/clock.h"
#include "base/mem.h"
#include "msg/rules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

size_t
part_bytes(const struct sampler *s, const struct frame_ref *f)
{
    return sizeof(struct part) +
        ((size_t)f->ndoc + 1) * sizeof(struct part_doc) +
        f->tokens * s->id_size;
}

static void
part_free(struct sampler *s, struct part *p)
{
    s->held -= p->bytes;
    free(p->mask);
    room_free(&s->memory, p, p->own);
}

void
part_drop(struct sampler *s, struct source *c, uint32_t k)
{
    if (c->part[k])
        part_free(s, c->part[k]);
    c->part[k] = NULL;
}

/* Is there memory to read frame f ahead?  A sixteenth of the memory is reserved
 * for frames that the caller needs at once. */
static int
has_room(const struct sampler *s, const struct frame_ref *f)
{
    const size_t bytes = part_bytes(s, f);

    return s->held + bytes <= s->mem - s->mem / 16 &&
        (!s->memory.base || room_has(&s->memory, bytes));
}

static struct part *
part_new(struct sampler *s, const struct frame_ref *f)
{
    const size_t bytes = part_bytes(s, f);
    struct part *p = room_alloc(&s->memory, bytes);

    s->held += bytes;
    *p = (struct part){ .own = bytes, .bytes = bytes };
    p->doc = (struct part_doc *)(void *)(p + 1);
    p->doc[0].off = 0;
    if (!s->lengths)
        p->ids = (unsigned char *)(p->doc + f->ndoc + 1);
    return p;
}

/* Copy len ids of t, from index `at` on. */
static void
copy_ids(unsigned char *to, size_t id_size, const struct st_tensor *t,
    size_t at, size_t len)
{
    const size_t size = t->dtype == DT_U16 ? 2 : 4;
    const char *from = (const char *)t->data + at * size;

    if (size == id_size) {
        memcpy(to, from, len * size);
        return;
    }
    for (size_t i = 0; i < len; i++) {
        uint32_t v = 0;
        uint16_t half;

        memcpy(&v, from + i * size, size);
        half = (uint16_t)v;
        if (id_size == 2)
            memcpy(to + 2 * i, &half, 2);
        else
            memcpy(to + 4 * i, &v, 4);
    }
}

/* Add a document to a part.  Returns -1 if the part is full. */
static int
part_add(struct part *p, const struct frame_ref *f, size_t len, uint64_t key)
{
    struct part_doc *d = &p->doc[p->n];

    if (p->n == f->ndoc || len > f->tokens - d->off)
        return -1;
    d->key = key;
    d[1].off = d->off + len;
    p->n++;
    return 0;
}

/* Store the loss mask of the document added last; NULL: every token counts. */
static void
part_mask(struct part *p, const struct frame_ref *f, const uint8_t *mask,
    size_t at, size_t len)
{
    if (mask && !p->mask) {
        p->mask = xmalloc(f->tokens);
        memset(p->mask, 1, at);
    }
    if (p->mask && mask)
        memcpy(p->mask + at, mask, len);
    else if (p->mask)
        memset(p->mask + at, 1, len);
}

static int
miscounted(const struct sampler *s, const struct frame_ref *f, struct err *e)
{
    return err_set(e, EX_INPUT,
        "%s: shard %u, frame %u: not the documents of a source that the index "
        "counts",
        dirs_name(s->d, f->dir), f->shard, f->frame);
}

/* Index of source i in w->source; nsource: source i does not want the frame. */
static size_t
wants(const struct decoder *w, size_t i)
{
    const size_t k = w->place[i];

    return k < w->nsource && w->source[k] == i ? k : w->nsource;
}

/* Give the documents of a checked message to the sources that want them. */
static int
hand_out(struct decoder *w, const struct st *st, struct err *e)
{
    const struct sampler *s = w->s;
    const struct st_tensor *ids = st_find(st, "ids");
    const struct st_tensor *mask = st_find(st, "loss_mask");
    const char *lens = st_find(st, "doc_len")->data;
    const char *sources = st_find(st, "doc_source")->data;
    const char *keys = st_find(st, "doc_key")->data;
    const size_t n = st_find(st, "doc_len")->n;
    size_t at = 0;

    for (size_t i = 0; i < n; i++) {
        uint32_t len;
        uint16_t source;
        uint64_t key;
        struct part *p;
        size_t k, to;

        memcpy(&len, lens + 4 * i, 4);
        memcpy(&source, sources + 2 * i, 2);
        memcpy(&key, keys + 8 * i, 8);
        if (source >= s->d->nsource[w->frame.dir])
            return miscounted(s, &w->frame, e);
        k = wants(w, s->d->source[w->frame.dir][source]);
        if (k < w->nsource) {
            const struct frame_ref *f =
                &s->src[w->source[k]].frame[w->number[k]];

            p = w->part[k];
            to = p->doc[p->n].off;
            if (part_add(p, f, len, key) < 0)
                return miscounted(s, f, e);
            copy_ids(p->ids + to * s->id_size, s->id_size, ids, at, len);
            part_mask(p, f, mask ? (const uint8_t *)mask->data + at : NULL, to,
                len);
        }
        at += len;
    }
    return 0;
}

/* Give documents of a message, without ids, to the sources that want them; the
 * index has the lengths. */
static int
hand_out_lengths(struct decoder *w, const struct shard_index *x,
    const struct shard_msg *m, struct err *e)
{
    const struct sampler *s = w->s;

    for (size_t i = 0; i < m->n; i++) {
        const struct shard_doc *d;
        size_t k;

        if (m->first + i >= x->ndoc)
            return miscounted(s, &w->frame, e);
        d = &x->doc[m->first + i];
        if (d->source >= s->d->nsource[w->frame.dir])
            return miscounted(s, &w->frame, e);
        k = wants(w, s->d->source[w->frame.dir][d->source]);
        if (k < w->nsource &&
            part_add(w->part[k], &s->src[w->source[k]].frame[w->number[k]],
                d->len, 0) < 0)
            return miscounted(s, &w->frame, e);
    }
    return 0;
}

static int
read_docs_message(struct decoder *w, const struct shard_index *x, size_t k,
    struct err *e)
{
    struct shard_set *set = w->s->d->set[w->frame.dir];
    const struct manifest *mf = set_manifest(set);
    uint64_t tokens = 0;
    struct msg m;

    if (w->s->lengths)
        return hand_out_lengths(w, x, &x->msg[k], e);
    if (set_peek(set, w->frame.shard, k, w->buf, &m, e) < 0)
        return -1;
    if (msg_check_docs(&m.st, mf->vocab, mf->nsource, &tokens, e) < 0 ||
        ((tokens != x->msg[k].tokens ||
             st_find(&m.st, "doc_len")->n != x->msg[k].n) &&
            err_set(e, EX_INPUT, "it is not the message the index describes")))
        return err_prefix(e, "%s: shard %u, frame %u: message %zu",
            dirs_name(w->s->d, w->frame.dir), w->frame.shard, w->frame.frame,
            k);
    return hand_out(w, &m.st, e);
}

/* Decode the frame of w for all sources that want it; called without the
 * lock. */
static int
decode_wanted(struct decoder *w, struct err *e)
{
    const struct frame_ref *f = &w->frame;
    const struct shard_index *x = set_frames(w->s->d->set[f->dir], f->shard, e);
    const struct shard_frame *at;

    if (!x)
        return -1;
    at = &x->frame[f->frame];
    for (size_t k = at->msg; k < at->msg + (size_t)at->nmsg; k++)
        if (x->msg[k].kind == MSG_DOCS && read_docs_message(w, x, k, e) < 0)
            return -1;
    for (size_t i = 0; i < w->nsource; i++)
        if (w->part[i]->n != w->s->src[w->source[i]].frame[w->number[i]].ndoc)
            return miscounted(w->s, f, e);
    return 0;
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

int
is_member(const struct source *c, uint32_t k)
{
    for (size_t m = 0; c->open && m < c->nmember + c->nnext; m++)
        if (c->member[m] == k)
            return 1;
    return 0;
}

/* Find all sources that need the frame of w, which is number `number` of source
 * `source`, for their open block or the next: it is decoded once for all. */
static void
find_wants(struct decoder *w, size_t source, uint32_t number)
{
    struct sampler *s = w->s;

    w->nsource = 0;
    for (size_t i = 0; i < s->nsrc; i++) {
        const struct source *o = &s->src[i];
        uint32_t k = number;

        if (i != source) {
            const struct frame_ref *r = o->open
                ? bsearch(&w->frame, o->frame, o->nframe, sizeof *r,
                      frame_order)
                : NULL;

            if (!r)
                continue;
            k = (uint32_t)(r - o->frame);
            if (o->part[k] || !is_member(o, k))
                continue;
        }
        w->source[w->nsource] = i;
        w->place[i] = w->nsource;
        w->number[w->nsource] = k;
        w->part[w->nsource++] = part_new(s, &o->frame[k]);
    }
}

/* Decode a frame with w; the lock is released meanwhile.  must: keep its
 * documents even if the frame is in no open block. */
static int
bring_frame(struct decoder *w, size_t source, uint32_t k, int must,
    struct err *e)
{
    struct sampler *s = w->s;
    int r;

    w->frame = s->src[source].frame[k];
    find_wants(w, source, k);
    w->busy = 1;
    pthread_mutex_unlock(&s->ahead.lock);
    r = decode_wanted(w, e);
    pthread_mutex_lock(&s->ahead.lock);
    w->busy = 0;
    for (size_t i = 0; i < w->nsource; i++) {
        struct source *c = &s->src[w->source[i]];
        const uint32_t n = w->number[i];
        struct part *p = w->part[i];

        if (p->mask) {
            p->bytes += c->frame[n].tokens;
            s->held += c->frame[n].tokens;
        }
        if (r == 0 && !c->part[n] &&
            (is_member(c, n) || (must && w->source[i] == source)))
            c->part[n] = p;
        else
            part_free(s, p);
    }
    pthread_cond_broadcast(&s->ahead.done);
    return r;
}

static int
in_flight(const struct sampler *s, const struct frame_ref *f)
{
    for (size_t i = 0; i < s->ndecoder; i++)
        if (s->decoder[i].busy && frame_order(&s->decoder[i].frame, f) == 0)
            return 1;
    return 0;
}

/* Index in c->want of the first frame of the open block (next: of the next
 * block) that is neither in memory nor being decoded.  SIZE_MAX: none. */
static size_t
absent(const struct sampler *s, struct source *c, int next)
{
    const size_t end = c->nmember + (next ? c->nnext : 0);
    size_t i = next ? c->nmember : 0;

    while (c->ready < end && c->part[c->want[c->ready]])
        c->ready++;
    for (i = i < c->ready ? c->ready : i; i < end; i++)
        if (!c->part[c->want[i]] && !in_flight(s, &c->frame[c->want[i]]))
            return i;
    return SIZE_MAX;
}

/* Estimate how soon document `doc` of the open block will be drawn, compared
 * with other sources' documents, if each source is drawn as often as so far. */
static double
due(const struct source *c, uint64_t doc)
{
    return doc <= c->at ? 0.0
                        : (double)(doc - c->at) / ((double)c->drawn + 1.0);
}

/* Choose the frame that is needed first, of the open blocks or, with `next`, of
 * the blocks after these.  1: *source and *number are set.  0: no frame is
 * needed.  -1: there is no memory for the frame. */
static int
choose_frame(struct sampler *s, int next, size_t *source, uint32_t *number)
{
    double soonest = INFINITY;

    for (size_t i = 0; i < s->nsrc; i++) {
        struct source *c = &s->src[i];
        const size_t k = c->open ? absent(s, c, next) : SIZE_MAX;
        const double t = k == SIZE_MAX
            ? INFINITY
            : due(c, next ? c->upto[c->nmember] : c->first[k]);

        if (t < soonest) {
            soonest = t;
            *source = i;
            *number = c->want[k];
        }
    }
    if (soonest < INFINITY)
        return has_room(s, &s->src[*source].frame[*number]) ? 1 : -1;
    return 0;
}

/* Wait for a frame that another thread decodes.  Meanwhile decode the frames
 * needed next; an error in one of these is reported when the caller needs that
 * frame. */
static void
wait_for(struct sampler *s, const struct source *c, uint32_t k)
{
    size_t source;
    uint32_t number;
    struct err e;
    int help = 1;

    while (in_flight(s, &c->frame[k])) {
        const double t = clock_now();

        if (help && choose_frame(s, 0, &source, &number) > 0) {
            help = bring_frame(&s->decoder[0], source, number, 0, &e) == 0;
            s->ahead.times.decoded += clock_now() - t;
        } else {
            ahead_wait(&s->ahead, &s->ahead.done, &s->ahead.times.waited, 0);
        }
    }
}

int
part_need(struct sampler *s, size_t source, uint32_t k, struct err *e)
{
    struct source *c = &s->src[source];

    s->ahead.times.late += !c->part[k] && s->ahead.times.ahead;
    while (!c->part[k]) {
        double t;

        wait_for(s, c, k);
        if (c->part[k])
            break;
        t = clock_now();
        if (bring_frame(&s->decoder[0], source, k, 1, e) < 0)
            return -1;
        s->ahead.times.decoded += clock_now() - t;
    }
    return 0;
}

int
decoder_step(void *sampler, size_t i, struct err *e)
{
    struct sampler *s = sampler;
    size_t source;
    uint32_t number;
    int r = choose_frame(s, 0, &source, &number);

    if (r == 0)
        r = choose_frame(s, 1, &source, &number);
    if (r <= 0)
        return 0;
    return bring_frame(&s->decoder[i], source, number, 0, e) < 0 ? -1 : 1;
}

void
sampler_times(struct sampler *s, struct ahead_times *t)
{
    ahead_get_times(&s->ahead, t);
}
