/*
 * A document that is too long to be held, because it cannot be cut or because
 * something has to see the whole of it before it is encoded.  What has to is
 * given its text in a spool, from which it is read once more.
 */
#include "tokenize_run_impl.h"

#include <string.h>

#define SECTION ((size_t)256 << 10) /* bytes of text that are encoded */
#define PART ((size_t)64 << 10)     /* ... that are read from a spool */
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
    d->plain = made.plain;
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

/* Put what there is of the document; more of it comes. */
static int
put_section(struct longdoc *l, int more)
{
    struct doc *d = l->d;
    int k;

    d->middle = l->put;
    d->more = more;
    d->norm = l->norm;
    d->repaired = l->repaired;
    d->key = run_key(l->r, d);
    k = run_put(l->r, d);
    d->ids.n = d->bytes = d->plain = d->chars = d->words = 0;
    memset(&l->norm, 0, sizeof l->norm);
    l->repaired = 0;
    l->put = 1;
    return k;
}

/* Encode the first n bytes of the rest. */
static void
encode(struct longdoc *l, size_t n)
{
    const struct run_opts *o = l->r->o;
    struct doc *d = l->d;
    const int middle = l->put || d->bytes > 0;
    size_t before;

    if (n == 0)
        return;
    if (o->count)
        run_count(d, l->rest.p, n, &l->inside);
    if (o->bos >= 0 && !middle)
        tok_ids_push(&d->ids, (uint32_t)o->bos);
    before = d->ids.n;
    tok_encode(o->t, l->w->scratch, l->rest.p, n, (o->special ? TOK_SPECIAL :
        0) | (middle ? TOK_MIDDLE : 0), &d->ids);
    d->plain += d->ids.n - before;
    d->bytes += n;
    memmove(l->rest.p, l->rest.p + n, l->rest.n - n);
    l->rest.n -= n;
}

/* Have `want` bytes of text, or all that are left: 1 there may be more, 0,
 * -1. */
static int
fill(struct longdoc *l, size_t want)
{
    const char *text;
    size_t n;
    int k = 1;

    while (l->rest.n < want && (k = next_text(l, &text, &n)) > 0)
        buf_add(&l->rest, text, n);
    return k;
}

static int
encode_all(struct longdoc *l)
{
    const struct run_opts *o = l->r->o;
    size_t want = SECTION;
    int k;

    while ((k = fill(l, want)) > 0) {
        const size_t cut = tok_cut(o->t, l->rest.p, l->rest.n, o->special ?
            TOK_SPECIAL : 0);

        encode(l, cut);
        want = cut > 0 ? SECTION : 2 * want;
        if (l->d->ids.n >= IDS && (k = put_section(l, 1)) != 0)
            return k;
    }
    if (k < 0)
        return -1;
    encode(l, l->rest.n);
    if (o->eos >= 0 && (l->put || l->d->bytes > 0))
        tok_ids_push(&l->d->ids, (uint32_t)o->eos);
    return put_section(l, 0);
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
