/*
 * Documents in blocks.  Every thread repeats:
 *
 * - If the next block in order is ready and no other thread puts, put that
 *   block.
 * - Else, if there is room and no other thread reads, read a block; then work
 *   on it, while another thread may read.
 *
 * So output does not depend on the number of threads, no thread waits while
 * there is work, and memory holds only blocks that were read but not yet put.
 */
#include "docs/docs.h"
#include "docs/bad_utf8.h"
#include "docs/kind.h"
#include "docs/record.h"
#include "docs/wiki.h"

#include "base/pool.h"
#include "msg/wire.h"
#include "text/unicode.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define TEXT ((size_t)128 << 10) /* bytes of records that fill a block */
#define DOCS 1024                /* most documents in a block */
#define FLIGHT \
    ((size_t)16 << 20) /* reading pauses at this many bytes that
                                   * are read but not put */
#define KEEP \
    ((size_t)2 << 20) /* bytes of memory that a block or buffer
                                   * keeps for reuse, at most */

/* Scratch memory of a thread. */
struct docs_worker {
    struct buf mend, wiki;
};

/* A batch of documents.  A reading thread fills it with cleaned documents and
 * then sets `ready`; from then on only the writing thread, which passes the
 * documents to the caller, uses it. */
struct doc_block {
    struct doc *doc;
    size_t n, cap;
    struct origin **from; /* [nfrom] origins of its documents, referenced */
    size_t nfrom, capfrom;
    size_t text;  /* bytes of its documents */
    double done;  /* bytes of all inputs read so far */
    struct err e; /* error in reading, after the last document */
    int ready;    /* 1: the documents are read and clean; guarded by
                * docs_job.lock */
};

struct docs_job {
    const struct inputs *in;
    const struct docs_opts *o;
    struct docs_sums *sum;      /* sum->passed is written by the thread that
                                 * reads, all other members by the one that
                                 * puts */
    struct docs_worker *worker; /* one for each thread */
    struct doc_block *block;    /* [nblock] ring */
    size_t nblock;
    /* Used by the thread that reads: one at a time, under the lock. */
    struct reader *reader;
    size_t input; /* number of the input that is read */
    double done;  /* bytes of the inputs before this one */
    int before;   /* 1: o->from is not reached yet */
    /* protected by the lock */
    pthread_mutex_t lock;
    pthread_cond_t change;
    uint64_t nread, nput; /* blocks read, and put */
    size_t flight;        /* bytes of the blocks read but not put */
    int reading;          /* 1: a thread reads */
    int putting;          /* 1: a thread puts */
    int ended;            /* 1: no document is left to read */
    int stopped;          /* 1: no more documents are put */
    /* The result, which the thread that puts writes; valid at the end. */
    struct bad_utf8 mended;
    int result;
    struct err e;
};

int
doc_err_at(struct doc *d, uint64_t into)
{
    const unsigned long long at = d->at + into;

    return d->from->jsonl
        ? err_prefix(&d->e, "%s: line %llu, offset %llu", d->from->name,
              (unsigned long long)d->record + 1 + (d->from->documents != 0), at)
        : err_prefix(&d->e, "%s: offset %llu", d->from->name, at);
}

static int
json_lang(const struct docs_job *r, struct doc *d, const char *lang, size_t n)
{
    d->source = inputs_source(r->in, lang, n);
    if (d->source < r->in->nsource)
        return 0;
    err_set(&d->e, EX_INPUT, "\"%.*s\" is none of the names after --lang",
        n < 60 ? (int)n : 60, lang);
    return doc_err_at(d, 0);
}

/* Report that the record p[n] has no text in the field that an option names. */
static int
no_text_field(struct doc *d, const char *p, size_t n, const char *field,
    const char *option)
{
    struct buf names = { 0 };

    if (kind_is_conversation(p, n)) {
        err_set(&d->e, EX_INPUT,
            "the record is a conversation, not a text: tokenize --chat reads "
            "such, and clean if the file begins with one");
        return doc_err_at(d, 0);
    }
    record_names(p, n, &names);
    err_set(&d->e, EX_INPUT, "the record has no text \"%s\"; %s%s%s", field,
        names.n ? option : "it has no other",
        names.n ? " names another field of it: " : "", names.n ? names.p : "");
    buf_release(&names);
    return doc_err_at(d, 0);
}

/* Find the text of the JSON record p[*n], which is decoded in place. */
static int
json_text(const struct docs_job *r, struct doc *d, char *p, const char **text,
    size_t *n)
{
    const char *const field[] = { r->o->field, r->in->o.lang_field };
    struct span found[2] = { { NULL, 0 } };
    size_t at;
    const char *why = field[0] == NULL
        ? record_strings(p, *n, &found[0], &at)
        : record_fields(p, *n, field, field[1] ? 2 : 1, found, &at);

    if (why) {
        err_set(&d->e, EX_INPUT, "%s", why);
        return doc_err_at(d, at);
    }
    if (!found[0].p)
        return no_text_field(d, p, *n, field[0], "--field");
    if (field[1] && !found[1].p)
        return no_text_field(d, p, *n, field[1], "--lang-field");
    *text = found[0].p;
    *n = found[0].n;
    return field[1] ? json_lang(r, d, found[1].p, found[1].n) : 0;
}

/* If *text, of *n bytes, is not UTF-8, set *text and *n to a repaired copy in
 * w->mend.  0; -1 and d->e. */
static int
mend(const struct docs_job *r, struct doc *d, struct docs_worker *w,
    const char **text, size_t *n)
{
    const size_t good = r->o->valid ? r->o->valid(r->o->work_ctx, *text, *n)
                                    : uni_valid(*text, *n);

    if (good == *n)
        return 0;
    if (r->o->strict) {
        err_set(&d->e, EX_INPUT, "is not UTF-8");
        return doc_err_at(d, good);
    }
    d->bad_at = d->at + good;
    d->repaired = uni_repair(*text, *n, NULL);
    if (!r->in->o.lossy && bad_utf8_alone(d, &d->e) < 0)
        return -1;
    buf_clear(&w->mend);
    buf_reserve(&w->mend, *n + 2 * d->repaired);
    uni_repair(*text, *n, &w->mend);
    *text = w->mend.p;
    *n = w->mend.n;
    return 0;
}

/* Find a document's text: in its JSON or wikitext, or else the raw record,
 * repaired if need be. */
static int
find_doc_text(const struct docs_job *r, struct doc *d, struct docs_worker *w,
    const char **text, size_t *n)
{
    char *p;

    *text = d->raw.p;
    *n = d->raw.n;
    if (d->from->warc) {
        *text = (char *)memchr(d->raw.p, '\n', d->raw.n) + 1;
        *n -= (size_t)(*text - d->raw.p);
    }
    if (mend(r, d, w, text, n) < 0)
        return -1;
    if (d->from->wiki) {
        buf_clear(&w->wiki);
        wiki_text(*text, *n, &w->wiki);
        *text = w->wiki.p;
        *n = w->wiki.n;
    }
    if (!d->from->jsonl || *n == strspn(*text, " \t"))
        return d->from->jsonl ? (*n = 0) : 0;
    if (r->o->whole)
        return 0;
    p = *text == d->raw.p ? d->raw.p : w->mend.p;
    return d->from->documents ? documents_read(d, r->in, p, text, n)
                              : json_text(r, d, p, text, n);
}

/* Reset d and find its text; 0, or -1 and d->e. */
static int
find_text(const struct docs_job *r, struct doc *d, struct docs_worker *w,
    const char **text, size_t *n)
{
    d->e.code = 0;
    d->ids.n = d->bytes = d->plain = d->repaired = d->chars = d->words = 0;
    d->source = d->from->source;
    d->next = (struct doc_cursor){ d->input, d->after };
    d->text = (struct span){ NULL, 0 };
    return find_doc_text(r, d, w, text, n);
}

void
doc_keep_text(struct doc *d, const char *text, size_t n)
{
    if (n > 0 && text >= d->raw.p && text < d->raw.p + d->raw.n) {
        d->text = (struct span){ d->raw.p + (text - d->raw.p), n };
        d->text.p[n] = '\0';
    } else {
        buf_clear(&d->copy);
        buf_add(&d->copy, n > 0 ? text : "", n);
        d->text = (struct span){ d->copy.p, n };
    }
}

/* Free the buffers larger than KEEP that are no longer needed: those of w, and
 * d->raw unless d->text lies in it. */
static void
drop_raw(struct doc *d, struct docs_worker *w)
{
    const int in_raw = d->text.p && d->text.p != d->copy.p;
    struct buf *const b[] = { in_raw ? &w->mend : &d->raw, &w->mend, &w->wiki };

    for (size_t i = 0; i < sizeof b / sizeof *b; i++)
        if (b[i]->cap > KEEP)
            buf_release(b[i]);
}

/* Return a document's key.  The first line of a text of WARC is the page's
 * address; unless it is empty, the key is made of the address in place of the
 * file's name and the record's number. */
static uint64_t
doc_key(struct doc *d, const char *source)
{
    char *end = d->from->warc ? memchr(d->raw.p, '\n', d->raw.n) : NULL;
    uint64_t key;

    if (!end || end == d->raw.p)
        return msg_doc_key(source, d->from->name, d->record);
    *end = '\0';
    key = msg_doc_key(source, d->raw.p, 0);
    *end = '\n';
    return key;
}

static void
work_on_doc(const struct docs_job *r, struct doc *d, size_t worker)
{
    const struct docs_opts *o = r->o;
    const char *text = NULL;
    size_t n = 0;

    if (find_text(r, d, &r->worker[worker], &text, &n) == 0) {
        d->bytes = n;
        if (!o->work)
            doc_keep_text(d, text, n);
        else if (n > 0)
            o->work(o->work_ctx, worker, d, text, n);
        if (!d->from->documents)
            d->key = doc_key(d, r->in->source[d->source]);
    }
    drop_raw(d, &r->worker[worker]);
}

/* ---- reading, by one thread at a time ---- */

static struct doc *
new_doc(struct doc_block *b)
{
    if (b->n == b->cap) {
        const size_t cap = b->cap ? 2 * b->cap : 16;

        b->doc = xreallocarray(b->doc, cap, sizeof *b->doc);
        memset(b->doc + b->cap, 0, (cap - b->cap) * sizeof *b->doc);
        b->cap = cap;
    }
    return &b->doc[b->n];
}

/* Let the block hold a reference to the origin. */
static const struct origin *
hold_origin(struct doc_block *b, struct origin *from)
{
    if (b->nfrom && b->from[b->nfrom - 1] == from)
        return from;
    b->from = xgrow(b->from, b->nfrom, &b->capfrom, sizeof *b->from);
    return b->from[b->nfrom++] = origin_ref(from);
}

static int
is_place_before(const struct doc_place *a, const struct doc_place *b)
{
    return a->entry != b->entry ? a->entry < b->entry : a->at < b->at;
}

static int
is_beginning(const struct doc_place *p)
{
    return !p->entry && !p->record && !p->at;
}

/* Open the next input; if o->from lies in it, seek there, unless o->replay. */
static int
open_input(struct docs_job *r, struct err *e)
{
    const struct docs_opts *o = r->o;

    r->reader =
        reader_open(r->in, r->input, (enum split_by)o->split, &o->limit, e);
    if (!r->reader)
        return -1;
    if (r->before && r->input == o->from.input && !o->replay &&
        !is_beginning(&o->from.place))
        return reader_seek(r->reader, &o->from.place, e);
    return 0;
}

/* Read the next record into b->doc[b->n].  Returns 1; 0: all inputs are read;
 * -1 and *e. */
static int
read_record(struct docs_job *r, struct doc_block *b, struct err *e)
{
    while (r->input < r->in->n) {
        struct doc *d = new_doc(b);
        int k;

        if (!r->reader && open_input(r, e) < 0)
            return -1;
        k = reader_next(r->reader, &d->raw, &d->at, e);
        if (k < 0)
            return -1;
        if (k > 0) {
            d->input = r->input;
            d->from = hold_origin(b, reader_origin(r->reader));
            reader_place(r->reader, &d->after);
            d->record = d->after.record - 1;
            if (r->before &&
                (r->input > r->o->from.input ||
                    (r->input == r->o->from.input &&
                        is_place_before(&r->o->from.place, &d->after))))
                r->before = 0;
            d->before = r->before;
            return 1;
        }
        r->done += reader_done(r->reader);
        passed_join(&r->sum->passed, reader_passed(r->reader));
        reader_close(r->reader);
        r->reader = NULL;
        r->input++;
    }
    return 0;
}

static void
release_doc(const struct docs_job *r, struct doc *d)
{
    buf_release(&d->raw);
    buf_release(&d->copy);
    if (d->result)
        r->o->free_result(d->result);
    d->result = NULL;
    free(d->ids.v);
    memset(&d->ids, 0, sizeof d->ids);
}

/* Fill a block.  1: there is more to read; 0: the end, or an error in b->e. */
static int
fill_doc_block(struct docs_job *r, struct doc_block *b)
{
    int k = 1;

    b->n = b->text = 0;
    b->e.code = 0;
    while (b->n < DOCS && b->text < TEXT && (k = read_record(r, b, &b->e)) > 0)
        b->text += b->doc[b->n++].raw.n;
    b->done = r->done + (r->reader ? reader_done(r->reader) : 0);
    return k > 0;
}

/* ---- putting, by one thread at a time, in order ---- */

/* Free d's memory if the block's documents up to d have kept too much; *kept:
 * bytes that they have kept. */
static void
trim_doc(const struct docs_job *r, struct doc *d, size_t *kept)
{
    *kept += d->raw.cap + d->copy.cap + d->ids.cap * sizeof *d->ids.v;
    if (*kept > KEEP)
        release_doc(r, d);
}

/* Count d, and put it if it has text.  Returns what o->put returned, or 0; -1
 * and r->e. */
static int
put_counted(struct docs_job *r, const struct doc *d)
{
    const struct docs_opts *o = r->o;
    struct docs_sums *sum = r->sum;

    if (d->e.code) {
        r->e = d->e;
        return -1;
    }
    if (bad_utf8_doc(&r->mended, d, &r->e) < 0)
        return -1;
    if (!d->before) {
        sum->repaired += d->repaired;
        sum->empty += d->bytes == 0;
        sum->docs += d->bytes > 0;
        sum->bytes += d->bytes;
        sum->tokens += d->ids.n;
    }
    return d->bytes > 0 && o->put ? o->put(o->ctx, d, &r->e) : 0;
}

static int
put_block(struct docs_job *r, struct doc_block *b)
{
    size_t kept = 0;
    int k = 0;

    for (size_t i = 0; i < b->n && k == 0; i++) {
        k = put_counted(r, &b->doc[i]);
        trim_doc(r, &b->doc[i], &kept);
    }
    if (k == 0 && b->e.code) {
        r->e = b->e;
        k = -1;
    }
    for (size_t i = 0; i < b->nfrom; i++)
        origin_unref(b->from[i]);
    b->nfrom = 0;
    if (r->o->progress)
        r->o->progress->at(b->done, NULL);
    return k;
}

/* ---- threads ---- */

/* Put the next block.  The caller holds the lock, which is released
 * meanwhile. */
static void
put_next(struct docs_job *r)
{
    struct doc_block *b = &r->block[r->nput % r->nblock];
    int k;

    r->putting = 1;
    pthread_mutex_unlock(&r->lock);
    k = put_block(r, b);
    pthread_mutex_lock(&r->lock);
    r->putting = 0;
    b->ready = 0;
    r->flight -= b->text;
    r->nput++;
    if (k) {
        r->result = k;
        r->stopped = 1;
    }
    pthread_cond_broadcast(&r->change);
}

static void
read_next(struct docs_job *r, size_t worker)
{
    struct doc_block *b = &r->block[r->nread % r->nblock];
    int more;

    r->reading = 1;
    pthread_mutex_unlock(&r->lock);
    more = fill_doc_block(r, b);
    pthread_mutex_lock(&r->lock);
    r->reading = 0;
    r->ended = !more;
    r->nread++;
    r->flight += b->text;
    pthread_cond_broadcast(&r->change);
    pthread_mutex_unlock(&r->lock);
    for (size_t i = 0; i < b->n; i++)
        work_on_doc(r, &b->doc[i], worker);
    pthread_mutex_lock(&r->lock);
    b->ready = 1;
}

static void
work_as_thread(void *ctx, size_t task, size_t worker)
{
    struct docs_job *r = ctx;

    (void)task;
    pthread_mutex_lock(&r->lock);
    while (!r->stopped && !(r->ended && r->nput == r->nread)) {
        if (!r->putting && r->nput < r->nread &&
            r->block[r->nput % r->nblock].ready)
            put_next(r);
        else if (!r->reading && !r->ended && r->flight < FLIGHT &&
            r->nread - r->nput < r->nblock)
            read_next(r, worker);
        else
            pthread_cond_wait(&r->change, &r->lock);
    }
    pthread_mutex_unlock(&r->lock);
}

/* Make memory for n threads, and the lock. */
static int
prepare(struct docs_job *r, size_t n, struct err *e)
{
    if (pthread_mutex_init(&r->lock, NULL) != 0)
        return err_set(e, EX_SYS, "cannot make threads");
    if (pthread_cond_init(&r->change, NULL) != 0) {
        pthread_mutex_destroy(&r->lock);
        return err_set(e, EX_SYS, "cannot make threads");
    }
    r->nblock = n > 1 ? 2 * n + 4 : 1;
    r->block = xcalloc(r->nblock, sizeof *r->block);
    r->worker = xcalloc(n, sizeof *r->worker);
    return 0;
}

static void
release_job(struct docs_job *r, size_t n)
{
    reader_close(r->reader);
    bad_utf8_release(&r->mended);
    for (size_t i = 0; i < n; i++) {
        buf_release(&r->worker[i].mend);
        buf_release(&r->worker[i].wiki);
    }
    for (size_t k = 0; k < r->nblock; k++) {
        struct doc_block *b = &r->block[k];

        for (size_t i = 0; i < b->cap; i++)
            release_doc(r, &b->doc[i]);
        for (size_t i = 0; i < b->nfrom; i++)
            origin_unref(b->from[i]);
        free(b->doc);
        free(b->from);
    }
    free(r->worker);
    free(r->block);
    pthread_cond_destroy(&r->change);
    pthread_mutex_destroy(&r->lock);
}

size_t
docs_threads(const struct docs_opts *o)
{
    return o->threads ? o->threads : pool_cpus();
}

/* Let n threads read, work on and put all documents. */
static void
run_threads(struct docs_job *r, struct pool *pool, size_t n)
{
    const struct docs_progress *p = r->o->progress;

    if (p) {
        p->begin("read", r->in->bytes, "B");
        p->from(r->done);
    }
    pool_run(pool, n, work_as_thread, r);
    if (p)
        p->end();
}

int
docs_run(const struct inputs *in, const struct docs_opts *o,
    struct docs_sums *sum, struct err *e)
{
    struct docs_job r = { .in = in,
        .o = o,
        .sum = sum,
        .mended = { .lossy = in->o.lossy } };
    struct pool *pool = pool_new(docs_threads(o), e);
    const size_t n = pool != NULL ? pool_size(pool) : 0;

    memset(sum, 0, sizeof *sum);
    if (pool == NULL)
        return -1;
    passed_join(&sum->passed, &in->passed);
    r.before = o->from.input || !is_beginning(&o->from.place);
    if (!o->replay)
        for (; r.input < o->from.input && r.input < in->n; r.input++)
            r.done += (double)in->v[r.input].size;
    if (prepare(&r, n, e) < 0) {
        pool_free(pool);
        return -1;
    }
    run_threads(&r, pool, n);
    pool_free(pool);
    if (r.result == 0)
        r.result = bad_utf8_end(&r.mended, &r.e);
    sum->mended = r.mended.files;
    release_job(&r, n);
    if (r.result < 0)
        *e = r.e;
    return r.result;
}

int
docs_found(const struct inputs *in, struct docs_sums *sum, struct err *e)
{
    char *passed, *what;

    if (sum->docs + sum->empty > 0)
        return 0;
    passed = passed_text(&sum->passed);
    what = in->n == 1 ? xasprintf("%s: holds", input_name(&in->v[0]))
                      : xasprintf("%zu inputs hold", in->n);
    err_set(e, EX_INPUT, "%s no document%s%s%s%s", what, in->n == 1 ? "" : ": ",
        in->n == 1 ? "" : input_name(&in->v[0]), *passed ? "; " : "", passed);
    free(what);
    free(passed);
    return -1;
}
