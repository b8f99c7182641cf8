/* Rows packed from documents: see docs.h */
#include "docs.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/stop.h"
#include "base/text.h"
#include "mix.h"
#include "packer.h"
#include "sampler.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --dry-run packs this many tokens, and assumes that the rest is alike. */
#define TRY_TOKENS ((uint64_t)200000000)
/* If a stream has more tokens than this, its rows are not counted before it
 * begins.  Counting the rows of this many tokens takes about five seconds. */
#define COUNT_TOKENS 1e9

struct docs {
    struct feed f;
    const struct dirs *d;
    const struct cursor_spec *spec;
    size_t n; /* number of sources */
    struct sampler *sampler;
    struct mix mix;
    struct place *place; /* [n] next token of each source */
    int64_t *owed;       /* [n] buffer for a cursor */
    struct packer packer;
    struct pack_rows rows;
    int begun;           /* open_sources was called */
    size_t unread;       /* sources not yet read as often as --epochs asks */
    uint64_t *w;         /* [n] weights at the beginning of the stream */
    size_t stage;        /* number of stages of the curriculum that have
                          * begun */
    uint64_t emitted;    /* tokens in rows of the whole stream so far */
    struct tally *tally; /* [n] counts for --dry-run, else NULL */
    size_t mem;          /* bytes of memory for the sampler */
};

/* Counts of a source for --dry-run. */
struct tally {
    uint64_t tokens, pieces, cuts;
    double padding; /* the source's part of the padding, which each row divides
                     * among its sources in proportion to their tokens */
};

static int
is_read(const struct docs *x, size_t i)
{
    return x->spec->length == LENGTH_EPOCHS &&
        x->place[i].epoch >= x->spec->limit;
}

/* Source i has begun a new epoch.  If it was read as often as --epochs asks,
 * count it as read; with natural weights, draw from it no more. */
static void
after_epoch(struct docs *x, size_t i)
{
    if (!is_read(x, i) || x->place[i].epoch != x->spec->limit)
        return;
    x->unread--;
    if (x->spec->natural)
        mix_drop(&x->mix, i);
}

/* Open the blocks of all sources before the first piece is drawn, so that the
 * threads read ahead in all of them. */
static void
open_sources(struct docs *x)
{
    for (size_t i = 0; i < x->n; i++)
        if (x->mix.w[i] > 0 && sampler_docs(x->sampler, i) > 0)
            sampler_expect(x->sampler, i, &x->place[i]);
    x->begun = 1;
}

static int
draw_piece(void *ctx, size_t max, struct piece *p, struct err *e)
{
    struct docs *x = ctx;
    const size_t i = mix_next(&x->mix), size = sampler_id_size(x->sampler);
    struct place *at;
    struct sampled s;
    uint64_t epoch;

    if (i == SIZE_MAX || (x->spec->length == LENGTH_EPOCHS && !x->unread))
        return 0;
    at = &x->place[i];
    if (sampler_at(x->sampler, i, at, &s, e) < 0)
        return -1;
    if (at->off >= s.len)
        return err_set(e, EX_INPUT,
            "cursor: source %zu stands after the end of a document", i);
    p->source = (uint32_t)i;
    p->frame = s.frame;
    p->doc = s.doc;
    p->off = (uint32_t)at->off;
    p->len = (uint32_t)(s.len - at->off < max ? s.len - at->off : max);
    p->key = s.key;
    if (s.ids)
        memcpy(p->ids, s.ids + at->off * size, p->len * size);
    p->masked = s.mask && memchr(s.mask + at->off, 0, p->len);
    if (p->masked)
        memcpy(p->mask, s.mask + at->off, p->len);
    mix_took(&x->mix, i, p->len);
    x->f.pieces++;
    x->f.cuts += at->off > 0;
    at->off += p->len;
    epoch = at->epoch;
    if (at->off == s.len)
        sampler_step(x->sampler, i, at);
    if (at->epoch != epoch)
        after_epoch(x, i);
    return 1;
}

/* If the tokens so far have reached a new stage of the curriculum, take its
 * weights. */
static void
turn_stage(struct docs *x)
{
    const struct cursor_spec *s = x->spec;
    const size_t before = x->stage;

    while (x->stage < s->nstage && s->stage[x->stage].at <= x->emitted)
        x->stage++;
    if (x->stage != before)
        mix_turn(&x->mix, s->stage[x->stage - 1].w);
}

static int
docs_row(struct feed *f, struct err *e)
{
    struct docs *x = (struct docs *)(void *)f;
    const struct pack_from from = { draw_piece, x };
    const struct pack_rows was = x->rows;
    int r;

    if (!x->begun)
        open_sources(x);
    r = packer_row(&x->packer, &from, f->rows, &x->rows, e);
    if (r <= 0)
        return r;
    f->tokens += x->rows.tokens - was.tokens;
    x->emitted += x->rows.tokens - was.tokens;
    f->rows++;
    /* rows of other ranks are packed too, but dropped */
    if (f->B++ % x->spec->ranks != x->spec->rank) {
        x->rows.B = was.B;
        x->rows.P = was.P;
        x->rows.tokens = was.tokens;
        x->rows.masked = was.masked;
    }
    f->own_B = x->rows.B;
    f->own_tokens = x->rows.tokens;
    turn_stage(x);
    return 1;
}

static void
docs_put(struct feed *f, struct st_out *o)
{
    const struct docs *x = (const struct docs *)(const void *)f;
    const struct pack_rows *r = &x->rows;
    const size_t bt[2] = { r->B, r->T };

    st_out_tensor(o, "ids", r->id_size == 2 ? DT_U16 : DT_U32, 2, bt, r->ids);
    st_out_tensor(o, "piece_row", DT_U32, 1, &r->P, r->row);
    st_out_tensor(o, "piece_len", DT_U32, 1, &r->P, r->len);
    st_out_tensor(o, "piece_source", DT_U16, 1, &r->P, r->source);
    st_out_tensor(o, "piece_key", DT_U64, 1, &r->P, r->key);
    st_out_tensor(o, "piece_off", DT_U32, 1, &r->P, r->off);
    if (r->masked)
        st_out_tensor(o, "loss_mask", DT_U8, 2, bt, r->mask);
}

static void
docs_clear(struct feed *f)
{
    struct docs *x = (struct docs *)(void *)f;

    pack_rows_clear(&x->rows);
    f->B = f->own_B = 0;
    f->tokens = f->own_tokens = 0;
}

static void
docs_save(struct feed *f, struct cursor *c)
{
    struct docs *x = (struct docs *)(void *)f;

    c->rows = f->rows;
    c->nsource = x->n;
    c->place = x->place;
    c->owed = x->owed;
    if (x->n > CURSOR_SOURCES)
        return; /* the text has "recount" instead */
    for (size_t i = 0; i < x->n; i++)
        x->owed[i] = mix_owed(&x->mix, i);
    c->nwindow = x->packer.n;
    memcpy(c->window, x->packer.piece, c->nwindow * sizeof *c->window);
}

/* Put a piece of the cursor's window back into the packer's window. */
static int
put_back(struct docs *x, const struct piece *from, struct err *e)
{
    struct piece *p = packer_slot(&x->packer);
    const size_t size = sampler_id_size(x->sampler);
    unsigned char *const ids = p->ids;
    uint8_t *const mask = p->mask;
    struct sampled s;

    *p = *from;
    p->ids = ids;
    p->mask = mask;
    if (sampler_ref(x->sampler, p->source, p->frame, p->doc, &s, e) < 0)
        return -1;
    if (p->off >= s.len || p->len > s.len - p->off)
        return err_set(e, EX_INPUT,
            "cursor: a piece reaches over the end of its document");
    p->key = s.key;
    memcpy(ids, s.ids + p->off * size, p->len * size);
    p->masked = s.mask && memchr(s.mask + p->off, 0, p->len);
    if (p->masked)
        memcpy(mask, s.mask + p->off, p->len);
    packer_keep(&x->packer);
    return 0;
}

static int
load_places(struct docs *x, const struct cursor *c, struct err *e)
{
    if (c->nsource != x->n)
        return err_set(e, EX_INPUT,
            "cursor of %zu sources, but the data has %zu", c->nsource, x->n);
    x->f.rows = c->rows;
    x->emitted = c->tokens;
    turn_stage(x);
    for (size_t i = 0; i < x->n; i++) {
        if (sampler_docs(x->sampler, i) == 0)
            continue;
        if (!sampler_valid(x->sampler, i, &c->place[i]))
            return err_set(e, EX_INPUT,
                "cursor: source %zu stands outside the data", i);
        x->place[i] = c->place[i];
        mix_owe(&x->mix, i, c->owed[i]);
        if (is_read(x, i)) {
            if (x->mix.w[i] > 0)
                x->unread--;
            if (x->spec->natural)
                mix_drop(&x->mix, i);
        }
    }
    if (c->nwindow && x->spec->pack != PACK_BEST)
        return err_set(e, EX_INPUT, "cursor: a window, but no best fit");
    open_sources(x);
    for (size_t i = 0; i < c->nwindow; i++)
        if (put_back(x, &c->window[i], e) < 0)
            return -1;
    return 0;
}

/* Expected tokens of the stream: the number asked for, or enough to read each
 * source as often as --epochs asks. */
static double
stream_tokens(const struct docs *x)
{
    const struct cursor_spec *s = x->spec;
    double all = 0.0, sum = 0.0;

    if (s->length == LENGTH_BATCHES)
        return (double)s->limit * (double)s->B * (double)s->T;
    if (s->length == LENGTH_TOKENS)
        return (double)s->limit;
    for (size_t i = 0; i < x->n; i++)
        sum += (double)x->w[i];
    for (size_t i = 0; i < x->n; i++) {
        const double t =
            (double)s->limit * (double)sampler_tokens(x->sampler, i);
        const double need = s->natural ? all + t
            : x->w[i]                  ? t * sum / (double)x->w[i]
                                       : 0.0;

        all = need > all ? need : all;
    }
    return all;
}

/* Add to tokens[i] the number of tokens that source i is expected to give. */
static void
expected_tokens(const struct docs *x, double *tokens)
{
    const struct cursor_spec *s = x->spec;
    const double all = stream_tokens(x);
    const uint64_t *w = x->w;
    double from = 0.0;

    for (size_t g = 0; g <= s->nstage; g++) {
        const double to = g < s->nstage && (double)s->stage[g].at < all
            ? (double)s->stage[g].at
            : all;
        double sum = 0.0;

        for (size_t i = 0; i < x->n; i++)
            sum += (double)w[i];
        for (size_t i = 0; i < x->n; i++)
            tokens[i] += (to - from) * (double)w[i] / sum;
        from = to;
        if (g < s->nstage)
            w = s->stage[g].w;
    }
    for (size_t i = 0; i < x->n; i++)
        if (s->natural && s->length == LENGTH_EPOCHS)
            tokens[i] =
                (double)s->limit * (double)sampler_tokens(x->sampler, i);
}

/* For --dry-run: add the row just made to the tallies of its sources. */
static void
count_row(struct docs *x)
{
    const struct pack_rows *r = &x->rows;
    const double empty = (double)(r->T - r->tokens);

    for (size_t i = 0; i < r->P; i++) {
        struct tally *t = &x->tally[r->source[i]];

        t->tokens += r->len[i];
        t->pieces++;
        t->cuts += r->off[i] > 0;
        t->padding += empty * (double)r->len[i] / (double)r->tokens;
    }
}

/* Pack rows until the stream has `most` tokens.  0: it has as many.  1: it
 * ended with fewer.  -1: damage, or a signal. */
static int
try_rows(struct docs *x, uint64_t most, struct err *e)
{
    const struct cursor_spec *s = x->spec;
    int r = 1;

    for (; x->emitted < most; docs_clear(&x->f)) {
        if (stop_asked)
            return err_set(e, EX_STOP, "interrupted");
        if ((s->length == LENGTH_BATCHES && x->f.rows >= s->limit * s->B) ||
            (s->length == LENGTH_TOKENS && x->emitted >= s->limit) ||
            (r = docs_row(&x->f, e)) <= 0)
            return r < 0 ? -1 : 1;
        if (x->tally)
            count_row(x);
    }
    return 0;
}

static int
docs_plan(struct feed *f, struct err *e)
{
    struct docs *x = (struct docs *)(void *)f;
    double *tokens = xcalloc(x->n, sizeof *tokens), all = 0.0;
    int r;

    x->tally = xcalloc(x->n, sizeof *x->tally);
    expected_tokens(x, tokens);
    r = try_rows(x, TRY_TOKENS, e);
    printf(
        "source\tdocuments\ttokens\tshare\tstreamed\tepochs\tpadding\tcuts\n");
    for (size_t i = 0; i < x->n; i++)
        all += tokens[i] = r == 1 ? (double)x->tally[i].tokens : tokens[i];
    for (size_t i = 0; r >= 0 && i < x->n; i++) {
        const uint64_t has = sampler_tokens(x->sampler, i);
        const struct tally *t = &x->tally[i];
        const double room = t->padding + (double)t->tokens;

        printf("%s\t%" PRIu64 "\t%" PRIu64 "\t%.6f\t%.0f\t%.3f\t%.3f\t%.1f\n",
            SHOWN(x->d->info.source[i]), sampler_docs(x->sampler, i), has,
            all > 0.0 ? tokens[i] / all : 0.0, tokens[i],
            has ? tokens[i] / (double)has : 0.0,
            room > 0.0 ? 100.0 * t->padding / room : 0.0,
            t->pieces ? 100.0 * (double)t->cuts / (double)t->pieces : 0.0);
    }
    free(tokens);
    return r < 0 ? -1 : 0;
}

static void
docs_times(struct feed *f, struct ahead_times *t)
{
    sampler_times(((struct docs *)(void *)f)->sampler, t);
}

static void
docs_free(struct feed *f)
{
    struct docs *x = (struct docs *)(void *)f;

    sampler_free(x->sampler);
    mix_release(&x->mix);
    packer_release(&x->packer);
    pack_rows_release(&x->rows);
    free(x->place);
    free(x->owed);
    free(x->w);
    free(x->tally);
    free(x);
}

static int
set_weights(struct docs *x, struct err *e)
{
    double *share = xcalloc(x->n, sizeof *share);
    int r = 0;

    x->w = xcalloc(x->n, sizeof *x->w);
    for (size_t i = 0; i < x->n; i++)
        share[i] = (double)sampler_tokens(x->sampler, i);
    if (!x->spec->natural)
        memcpy(x->w, x->spec->w, x->n * sizeof *x->w);
    else if (mix_quantise(x->w, share, x->n) < 0)
        r = err_set(e, EX_INPUT, "%s: holds no documents", dirs_name(x->d, 0));
    for (size_t i = 0; r == 0 && i < x->n; i++)
        if (x->w[i] > 0 && !(share[i] > 0.0))
            r = err_set(e, EX_USAGE,
                "source %s has a weight but no documents: leave it out",
                x->d->info.source[i]);
    free(share);
    return r;
}

/* Check that the open blocks fit into memory. */
static int
check_docs_memory(const struct docs *x, struct err *e)
{
    const size_t need = sampler_bytes(x->sampler);

    return need <= x->mem
        ? 0
        : err_set(e, EX_USAGE,
              "%zu frames of each of %zu sources are open at once, which takes "
              "%zu MiB: give a larger --mem or a smaller --open",
              sampler_open(x->sampler), x->n, (need >> 20) + 1);
}

static struct docs *
docs_new(const struct dirs *d, const struct cursor_spec *spec,
    const struct feed_means *how, struct err *e)
{
    const struct sampler_opts o = { .open = spec->open,
        .seed = spec->seed,
        .shuffle = spec->shuffle,
        .mem = how->mem,
        .threads = how->threads,
        .lengths = how->plan };
    struct docs *x = xcalloc(1, sizeof *x);

    x->f = (struct feed){ .row = docs_row,
        .put = docs_put,
        .clear = docs_clear,
        .save = docs_save,
        .plan = docs_plan,
        .times = docs_times,
        .free = docs_free };
    x->d = d;
    x->spec = spec;
    x->n = d->info.nsource;
    x->mem = how->mem;
    x->place = xcalloc(x->n, sizeof *x->place);
    x->owed = xcalloc(x->n, sizeof *x->owed);
    x->sampler = sampler_new(d, &o, e);
    if (!x->sampler || check_docs_memory(x, e) < 0 || set_weights(x, e) < 0) {
        docs_free(&x->f);
        return NULL;
    }
    mix_init(&x->mix, x->w, x->n);
    for (size_t i = 0; i < x->n; i++)
        x->unread += x->w[i] > 0;
    /* a plan reads no ids: the packer copies one byte for each token */
    packer_init(&x->packer, spec->pack, spec->T,
        how->plan ? 1 : sampler_id_size(x->sampler));
    pack_rows_init(&x->rows, spec->T,
        how->plan ? 1 : sampler_id_size(x->sampler));
    turn_stage(x);
    return x;
}

/* Go to a cursor.  With more than CURSOR_SOURCES sources a cursor has no
 * places: then the lengths of documents are packed again, up to the cursor's
 * number of rows. */
static int
docs_load(struct feed *f, const struct cursor *c, struct err *e)
{
    struct docs *x = (struct docs *)(void *)f, *y;
    const struct feed_means how = { .mem = x->mem, .plan = 1 };
    struct cursor at = *c;
    int r = 1;

    if (!c->recount)
        return load_places(x, c, e);
    if (!(y = docs_new(x->d, x->spec, &how, e)))
        return -1;
    for (; r > 0 && y->f.rows < c->rows; docs_clear(&y->f))
        r = stop_asked ? err_set(e, EX_STOP, "interrupted")
                       : docs_row(&y->f, e);
    if (r > 0 && y->emitted == c->tokens) {
        at.nsource = y->n;
        at.place = y->place;
        at.owed = y->owed;
        for (size_t i = 0; i < y->n; i++)
            at.owed[i] = mix_owed(&y->mix, i);
        at.nwindow = y->packer.n;
        memcpy(at.window, y->packer.piece, at.nwindow * sizeof *at.window);
        r = load_places(x, &at, e);
    } else if (r >= 0) {
        r = err_set(e, EX_INPUT, "cursor: its rows are not those of the data");
    }
    docs_free(&y->f);
    return r;
}

/* Count the rows by packing the lengths of all documents, which the indexes
 * have.  More than COUNT_TOKENS tokens are not packed: *rows is 0 then. */
static int
docs_total(struct feed *f, uint64_t *rows, struct err *e)
{
    struct docs *x = (struct docs *)(void *)f;
    const struct feed_means how = { .mem = x->mem, .plan = 1 };
    struct docs *y = docs_new(x->d, x->spec, &how, e);
    int r;

    if (!y)
        return -1;
    if (stream_tokens(y) <= COUNT_TOKENS) {
        r = try_rows(y, UINT64_MAX, e);
        *rows = y->f.rows;
    } else {
        r = 0;
        *rows = 0;
        note("%.3g tokens are not counted in batches before the stream begins, "
             "so it does not say how many it has; --batches %.0f makes about "
             "as long a one, and says so",
            stream_tokens(y),
            ceil(stream_tokens(y) / ((double)x->spec->B * (double)x->spec->T)));
    }
    docs_free(&y->f);
    return r < 0 ? -1 : 0;
}

struct feed *
docs_feed(const struct dirs *d, const struct cursor_spec *spec,
    const struct feed_means *how, struct err *e)
{
    struct docs *x = docs_new(d, spec, how, e);
    struct sampler_distance far;

    if (!x)
        return NULL;
    x->f.total = docs_total;
    x->f.load = docs_load;
    sampler_distance(x->sampler, &far);
    vnote("%zu frames of each of %zu sources open, %.1f MiB; neighbours on "
          "disk come %.0f documents of their source apart, %.0f in a full "
          "shuffle",
        sampler_open(x->sampler), x->n,
        (double)sampler_bytes(x->sampler) / 1048576.0, far.expected, far.full);
    return &x->f;
}
