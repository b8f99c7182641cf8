/*
 * A document that is too long to be held, because it cannot be cut or because
 * something has to see the whole of it before it is encoded.  What has to is
 * given its text in a spool, from which it is read once more.
 */
#include "tokenize_run_impl.h"

#include "data/unicode.h"

#include <string.h>

#define SECTION ((size_t)256 << 10) /* bytes of text that are encoded */
#define PART ((size_t)64 << 10)     /* ... that are read from a spool */
#define OPEN ((size_t)1 << 20)      /* ... that have no place to cut them */
#define IDS ((size_t)64 << 10)      /* that are put */

struct longdoc {
    struct run *r;
    struct block *b;
    struct doc *d;
    struct worker *w;
    struct spool text;          /* all of it, where it was judged */
    int judged;
    uint64_t at;                /* read of that */
    int begun, ended;           /* a section has been read; the last one */
    struct buf part;            /* of the spool */
    struct buf rest;            /* text that is not encoded yet */
    struct norm_counts norm;    /* of what has not been put yet */
    size_t repaired;
    int put;                    /* sections that were put before */
    int inside;                 /* a word */
    int stop;                   /* what put has returned, or -1 */
};

/* The next section's text, as it was read: 1, 0, -1. */
static int
read_section(struct longdoc *l, const char **text, size_t *n)
{
    struct run *r = l->r;
    struct doc *d = l->d;
    const struct doc made = *d;         /* of the sections before */

    if (l->ended)
        return 0;
    if (l->begun && run_record(r, l->b, &r->e) < 0)
        return -1;
    l->begun = 1;
    l->ended = !d->more;
    if (run_text(r, d, l->w, text, n) < 0) {
        r->e = d->e;
        return -1;
    }
    d->ids.n = made.ids.n;
    d->bytes = made.bytes;
    d->chars = made.chars;
    d->words = made.words;
    l->repaired += d->repaired;
    l->norm.nfc |= d->norm.nfc;
    l->norm.controls += d->norm.controls;
    l->norm.romanian += d->norm.romanian;
    return 1;
}

/* Text that goes on with what was there before: 1, 0, -1. */
static int
next_text(struct longdoc *l, const char **text, size_t *n)
{
    int k;

    if (!l->judged)
        return read_section(l, text, n);
    k = spool_text(&l->text, &l->at, PART, &l->part, &l->r->e);
    *text = l->part.p;
    *n = l->part.n;
    return k;
}

/* Append it to *text, and count it: 1, 0, -1. */
static int
add_text(struct longdoc *l, struct buf *text)
{
    const char *p;
    size_t n;
    const int k = next_text(l, &p, &n);

    if (k <= 0)
        return k;
    if (l->r->o->count)
        run_count(l->d, p, n, &l->inside);
    l->d->bytes += n;
    buf_add(text, p, n);
    return 1;
}

/* Put the ids there are of the document; more of it comes. */
static int
put_section(struct longdoc *l, int more)
{
    const struct run_opts *o = l->r->o;
    struct doc *d = l->d;
    int k;

    d->middle = l->put;
    d->more = more;
    d->plain = d->ids.n;
    if (d->ids.n > 0 && o->bos >= 0 && !l->put)
        d->plain--;
    if (!more && o->eos >= 0 && (d->bytes > 0 || l->put) && !d->drop)
        tok_ids_push(&d->ids, (uint32_t)o->eos);
    d->norm = l->norm;
    d->repaired = l->repaired;
    d->key = run_key(l->r, d);
    k = run_put(l->r, d);
    d->ids.n = d->bytes = d->chars = d->words = 0;
    memset(&l->norm, 0, sizeof l->norm);
    l->repaired = 0;
    l->put = 1;
    return k;
}

/* How many of v[n] end with a whole character. */
static size_t
whole_ids(const struct longdoc *l, const uint32_t *v, size_t n)
{
    struct buf b = { 0 };
    struct err e;

    for (; n > 0; n--) {
        buf_clear(&b);
        if (tok_decode(l->r->o->t, v + n - 1, 1, TOK_MIDDLE, &b, &e) == 0 &&
            b.n > 0 && uni_valid(b.p, b.n) == b.n)
            break;
    }
    buf_release(&b);
    return n;
}

/* struct tok_more */
static int
more_text(void *ctx, struct buf *text)
{
    struct longdoc *l = ctx;
    const int k = l->stop ? 0 : add_text(l, text);

    l->stop = k < 0 ? -1 : l->stop;
    return k > 0;
}

static size_t
take_ids(void *ctx, struct tok_ids *ids, size_t n)
{
    struct longdoc *l = ctx;
    const size_t all = ids->n;

    if (l->r->o->count)
        n = whole_ids(l, ids->v, n);
    if (n == 0)
        return 0;
    ids->n = n;
    if (!l->stop)
        l->stop = put_section(l, 1);
    memmove(ids->v, ids->v + n, (all - n) * sizeof *ids->v);
    ids->n = all - n;
    return n;
}

/* Have `want` bytes of text, or all that are left: 1 there may be more, 0,
 * -1. */
static int
fill(struct longdoc *l, size_t want)
{
    int k = 1;

    while (l->rest.n < want && (k = add_text(l, &l->rest)) > 0)
        ;
    return k;
}

static int
encode_all(struct longdoc *l)
{
    const struct run_opts *o = l->r->o;
    const int special = o->special ? TOK_SPECIAL : 0;
    const struct tok_more more = { more_text, take_ids, l };
    struct tok_ids *ids = &l->d->ids;
    struct tok_scratch *s = l->w->scratch;
    size_t want = SECTION, n;
    int k, middle = l->put;

    while ((k = fill(l, want)) >= 0) {
        if (l->rest.n == 0)
            break;
        n = k == 0 ? l->rest.n : tok_cut(o->t, l->rest.p, l->rest.n, special);
        if (n == 0 && l->rest.n < OPEN) {
            want *= 2;
            continue;
        }
        if (!middle && o->bos >= 0 && ids->n == 0)
            tok_ids_push(ids, (uint32_t)o->bos);
        if (n > 0) {
            tok_encode(o->t, s, l->rest.p, n, special | (middle ? TOK_MIDDLE :
                0), ids);
            memmove(l->rest.p, l->rest.p + n, l->rest.n - n);
            l->rest.n -= n;
        } else if ((k = tok_encode_open(o->t, s, &l->rest, special | (middle ?
            TOK_MIDDLE : 0), &more, ids, &l->r->e)) < 0) {
            err_prefix(&l->r->e, "%s: offset %llu", l->d->from->name,
                (unsigned long long)l->d->at);
            return -1;
        }
        middle |= n > 0 || k > 0;
        want = n > 0 || k > 0 ? SECTION : 2 * l->rest.n;
        if (l->stop == 0 && ids->n >= IDS)
            l->stop = put_section(l, 1);
        if (l->stop)
            return l->stop;
    }
    return k < 0 ? -1 : put_section(l, 0);
}

/* Have the whole text judged: 0, -1. */
static int
judge(struct longdoc *l, size_t worker)
{
    struct run *r = l->r;
    const char *text;
    size_t n;
    int k;

    while ((k = read_section(l, &text, &n)) > 0)
        if (spool_add(&l->text, text, n, &r->e) < 0)
            return -1;
    if (k < 0)
        return -1;
    l->judged = 1;
    return spool_size(&l->text) == 0 ? 0 :
        r->o->judge(r->o->stage_ctx, worker, l->d, &l->text, &r->e);
}

int
run_long(struct run *r, struct block *b, size_t worker)
{
    struct doc *d = &b->doc[0];
    struct longdoc l = { .r = r, .b = b, .d = d, .w = &r->worker[worker],
        .put = d->middle, .inside = d->middle };
    int k = 0;

    d->ids.n = d->bytes = d->plain = d->chars = d->words = 0;
    if (r->o->stage)
        k = judge(&l, worker);
    if (k == 0)
        k = d->drop || d->before ? put_section(&l, 0) : encode_all(&l);
    spool_release(&l.text);
    buf_release(&l.part);
    buf_release(&l.rest);
    return k;
}
