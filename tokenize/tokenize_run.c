/*
 * Documents in batches: one thread reads records, all threads make ids of
 * them, then they are put in order.  So output does not depend on how many
 * threads there are, and memory is that of one batch.
 */
#include "tokenize_run.h"

#include "base/pool.h"
#include "base/prog.h"
#include "data/unicode.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define TASK ((size_t)64 << 10)     /* bytes of text of one task */
#define TASKS 16                    /* tasks a thread and batch */
#define DOCS 1024                   /* documents of a task at most */
#define KEEP ((size_t)1 << 20)      /* memory of a document that is kept */

struct run {
    const struct inputs *in;
    const struct run_opts *o;
    struct pool *pool;
    struct tok_scratch **scratch;   /* one a thread */
    struct buf *mend;               /* one a thread */
    struct doc *doc;                /* ndoc in this batch */
    size_t ndoc, cap;
    size_t *task;                   /* where each task begins */
    size_t ntask;
};

/* XXH3-64 of source name, NUL, input name, NUL, record as 8 bytes, the
 * smallest first. */
static uint64_t
doc_key(const char *source, const char *input, uint64_t record)
{
    struct buf b = { 0 };
    uint64_t key;

    buf_add(&b, source, strlen(source) + 1);
    buf_add(&b, input, strlen(input) + 1);
    for (int i = 0; i < 8; i++)
        buf_addc(&b, (int)(record >> 8 * i & 255));
    key = XXH3_64bits(b.p, b.n);
    buf_release(&b);
    return key;
}

static void
count_words(struct doc *d, const char *text, size_t n)
{
    const unsigned char *p = (const unsigned char *)text, *end = p + n;
    int inside = 0;
    size_t k;

    d->chars = d->words = 0;
    for (; p < end; p += k) {
        const uint32_t c = uni_next(p, end, &k);
        const int space = c != UTF8_BAD && (uni_class(c) & U_S);

        d->chars++;
        d->words += !space && !inside;
        inside = !space;
    }
}

static void
encode(struct run *r, struct doc *d, const char *text, size_t n, size_t worker)
{
    const struct run_opts *o = r->o;
    const size_t bos = o->bos >= 0;

    if (o->count)
        count_words(d, text, n);
    if (n == 0)
        return;
    if (bos)
        tok_ids_push(&d->ids, (uint32_t)o->bos);
    tok_encode(o->t, r->scratch[worker], text, n,
        o->special ? TOK_SPECIAL : 0, &d->ids);
    d->plain = d->ids.n - bos;
    if (d->plain == 0)
        d->ids.n = 0;               /* all its characters vanished */
    else if (o->eos >= 0)
        tok_ids_push(&d->ids, (uint32_t)o->eos);
}

static int
json_text(const struct run *r, struct doc *d, json_t *j, const char **text,
    size_t *n)
{
    const json_t *v = json_object_get(j, r->o->field), *lang;
    const char *name = input_name(&r->in->v[d->input]);

    if (!json_is_string(v))
        return err_set(&d->e, EX_INPUT, "%s: offset %llu: the record has no "
            "text \"%s\"", name, (unsigned long long)d->at, r->o->field);
    *text = json_string_value(v);
    *n = json_string_length(v);
    if (!r->o->lang_field)
        return 0;
    lang = json_object_get(j, r->o->lang_field);
    if (!json_is_string(lang))
        return err_set(&d->e, EX_INPUT, "%s: offset %llu: the record has no "
            "text \"%s\"", name, (unsigned long long)d->at, r->o->lang_field);
    d->source = inputs_source(r->in, json_string_value(lang),
        json_string_length(lang));
    if (d->source == r->in->nsource)
        return err_set(&d->e, EX_INPUT, "%s: offset %llu: \"%.60s\" is none "
            "of the names after --lang", name, (unsigned long long)d->at,
            json_string_value(lang));
    return 0;
}

/* The text of a document: raw as it is, mended, or out of its JSON (*j, to be
 * released). */
static int
text_of(const struct run *r, struct doc *d, struct buf *mend, json_t **j,
    const char **text, size_t *n)
{
    const struct input *in = &r->in->v[d->input];
    const char *name = input_name(in);
    const size_t good = uni_valid(d->raw.p, d->raw.n);
    json_error_t je;

    *text = d->raw.p;
    *n = d->raw.n;
    if (good < *n) {
        if (r->o->strict)
            return err_set(&d->e, EX_INPUT, "%s: offset %llu: is not UTF-8",
                name, (unsigned long long)(d->at + good));
        buf_clear(mend);
        d->repaired = uni_repair(*text, *n, mend);
        *text = mend->p;
        *n = mend->n;
    }
    if (!in->jsonl || *n == strspn(*text, " \t"))
        return in->jsonl ? (*n = 0) : 0;
    *j = json_loadb(*text, *n, JSON_ALLOW_NUL, &je);
    if (!*j)
        return err_set(&d->e, EX_INPUT, "%s: offset %llu: %s", name,
            (unsigned long long)(d->at + (uint64_t)(je.position > 0 ?
            je.position : 0)), je.text);
    return json_text(r, d, *j, text, n);
}

/* Reset d and find its text; 0, or -1 and d->e. */
static int
begin_doc(struct run *r, struct doc *d, size_t worker, json_t **j,
    const char **text, size_t *n)
{
    d->e.code = 0;
    d->ids.n = d->bytes = d->plain = d->repaired = d->chars = d->words = 0;
    d->source = r->in->v[d->input].source;
    d->drop = NULL;
    buf_clear(&d->sig);
    buf_clear(&d->text);
    return text_of(r, d, &r->mend[worker], j, text, n);
}

/* Keep the text and show it to scan. */
static void
scan_doc(struct run *r, struct doc *d, size_t worker)
{
    const char *text = NULL;
    json_t *j = NULL;
    size_t n = 0;

    if (begin_doc(r, d, worker, &j, &text, &n) == 0 && n > 0) {
        buf_add(&d->text, text, n);
        r->o->scan(r->o->stage_ctx, worker, d, d->text.p, n);
    }
    json_decref(j);
}

static void
finish_doc(struct run *r, struct doc *d, size_t worker, const char *text,
    size_t n)
{
    d->bytes = n;
    if (r->o->keep_text && text != d->text.p) {
        buf_clear(&d->text);
        buf_add(&d->text, text, n);
    }
    if (!r->o->t) {
        if (!d->drop)
            r->o->text(r->o->ctx, text, n);
        return;
    }
    if (!d->drop)
        encode(r, d, text, n, worker);
    d->key = doc_key(r->in->source[d->source],
        input_name(&r->in->v[d->input]), d->record);
}

static void
one_doc(struct run *r, struct doc *d, size_t worker)
{
    const char *text = d->text.p;
    json_t *j = NULL;
    size_t n = d->text.n;

    if ((r->o->scan ? d->e.code == 0 :
        begin_doc(r, d, worker, &j, &text, &n) == 0) &&
        (n == 0 || !r->o->stage ||
        r->o->stage(r->o->stage_ctx, worker, d, &text, &n) == 0))
        finish_doc(r, d, worker, text, n);
    json_decref(j);
}

static void
one_task(void *ctx, size_t task, size_t worker)
{
    struct run *r = ctx;
    const size_t end = task + 1 < r->ntask ? r->task[task + 1] : r->ndoc;

    for (size_t i = r->task[task]; i < end; i++)
        one_doc(r, &r->doc[i], worker);
}

static void
scan_task(void *ctx, size_t task, size_t worker)
{
    struct run *r = ctx;
    const size_t end = task + 1 < r->ntask ? r->task[task + 1] : r->ndoc;

    for (size_t i = r->task[task]; i < end; i++)
        scan_doc(r, &r->doc[i], worker);
}

/* Memory of an unusual document is not kept. */
static void
trim(struct doc *d)
{
    if (d->raw.cap > KEEP)
        buf_release(&d->raw);
    if (d->ids.cap > KEEP)
        tok_ids_release(&d->ids);
    if (d->text.cap > KEEP)
        buf_release(&d->text);
}

/* Documents of the batch before the first fault, in order. */
static int
settle(struct run *r, struct err *e)
{
    pool_run(r->pool, r->ntask, scan_task, r);
    for (size_t i = 0; i < r->ndoc && r->doc[i].e.code == 0; i++)
        if (r->o->settle(r->o->stage_ctx, &r->doc[i], e) < 0)
            return -1;
    return 0;
}

/* Make ids of the batch and put them. */
static int
flush(struct run *r, struct run_sums *sum, struct err *e)
{
    const size_t n = r->ndoc;
    int k = 0;

    if (r->o->scan && settle(r, e) < 0)
        return -1;
    if (r->o->t)
        pool_run(r->pool, r->ntask, one_task, r);
    else
        for (size_t i = 0; i < r->ntask; i++)
            one_task(r, i, 0);
    r->ndoc = r->ntask = 0;
    for (size_t i = 0; i < n && k == 0; i++) {
        struct doc *d = &r->doc[i];

        if (d->e.code) {
            *e = d->e;
            return -1;
        }
        sum->repaired += d->repaired;
        if (r->o->decide && r->o->decide(r->o->stage_ctx, d, e) < 0)
            return -1;
        if (d->drop) {
            sum->dropped++;
            trim(d);
            continue;
        }
        if (d->bytes == 0) {
            sum->empty++;
            continue;
        }
        sum->docs++;
        sum->bytes += d->bytes;
        sum->tokens += d->ids.n;
        if (r->o->put)
            k = r->o->put(r->o->ctx, d, e);
        trim(d);
    }
    return k;
}

static struct doc *
new_doc(struct run *r)
{
    if (r->ndoc == r->cap) {
        const size_t cap = r->cap ? 2 * r->cap : 64;

        r->doc = xreallocarray(r->doc, cap, sizeof *r->doc);
        memset(r->doc + r->cap, 0, (cap - r->cap) * sizeof *r->doc);
        r->cap = cap;
    }
    return &r->doc[r->ndoc];
}

/* The last task, of so many bytes of text. */
static int
task_is_full(const struct run *r, size_t text)
{
    return text >= TASK || r->ndoc - r->task[r->ntask - 1] >= DOCS;
}

/* All records of one input; *text counts bytes since a task began, *done
 * those read of all files. */
static int
read_input(struct run *r, size_t which, size_t *text, double *done,
    struct run_sums *sum, struct err *e)
{
    struct reader *in = reader_open(&r->in->v[which], r->o->split, e);
    const size_t most = TASKS * pool_size(r->pool);
    uint64_t record = 0;
    int k = -1;

    if (!in)
        return -1;
    for (;;) {
        struct doc *d = new_doc(r);

        k = reader_next(in, &d->raw, &d->at, e);
        if (k <= 0)
            break;
        d->input = which;
        d->record = record++;
        if (r->ntask == 0 || task_is_full(r, *text)) {
            r->task[r->ntask++] = r->ndoc;
            *text = 0;
        }
        r->ndoc++;
        *text += d->raw.n;
        if ((r->ntask == most && task_is_full(r, *text)) ||
            *text > most * TASK) {
            k = flush(r, sum, e);
            if (k)
                break;
            progress_at(*done + reader_done(in), NULL);
        }
    }
    *done += reader_done(in);
    reader_close(in);
    return k;
}

static void
release(struct run *r)
{
    for (size_t i = 0; i < pool_size(r->pool); i++) {
        tok_scratch_free(r->scratch[i]);
        buf_release(&r->mend[i]);
    }
    for (size_t i = 0; i < r->cap; i++) {
        buf_release(&r->doc[i].raw);
        tok_ids_release(&r->doc[i].ids);
        buf_release(&r->doc[i].sig);
        buf_release(&r->doc[i].text);
    }
    free(r->scratch);
    free(r->mend);
    free(r->doc);
    free(r->task);
    pool_free(r->pool);
}

size_t
run_threads(const struct run_opts *o)
{
    return !o->t ? 1 : o->threads ? o->threads : pool_cpus();
}

int
run_inputs(const struct inputs *in, const struct run_opts *o,
    struct run_sums *sum, struct err *e)
{
    struct run r = { .in = in, .o = o };
    size_t text = 0, n;
    double done = 0.0;
    int k = 0, last;

    memset(sum, 0, sizeof *sum);
    r.pool = pool_new(run_threads(o));
    n = pool_size(r.pool);
    r.scratch = xcalloc(n, sizeof *r.scratch);
    r.mend = xcalloc(n, sizeof *r.mend);
    r.task = xreallocarray(NULL, TASKS * n + 1, sizeof *r.task);
    for (size_t i = 0; i < n && o->t; i++)
        r.scratch[i] = tok_scratch_new(o->t);
    progress_begin("tokenize", in->bytes, "B");
    for (size_t i = 0; i < in->n && k == 0; i++)
        k = read_input(&r, i, &text, &done, sum, e);
    if (k <= 0 && r.ndoc > 0) {     /* also what stands before a fault */
        struct err mine;

        last = flush(&r, sum, k ? &mine : e);
        if (k == 0)
            k = last;
        else if (last < 0)
            *e = mine;              /* it comes first in the input */
    }
    progress_end();
    release(&r);
    return k;
}
