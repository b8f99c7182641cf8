/*
 * Rows of recorded batches, in stored order or a keyed permutation of all rows:
 * see rows.h.  Every tensor [B,T,...] moves with its rows, and every piece_*
 * tensor [P,...] with its pieces, even one of an unknown name.
 */
#include "rows.h"
#include "groups.h"
#include "base/mem.h"
#include "base/note.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct column {
    char *name;
    enum dtype dtype;
    int ndim;
    size_t shape[ST_DIMS_MAX]; /* shape[0]: rows, or pieces, in data */
    size_t bytes;              /* bytes of each row, or of each piece */
    int by_piece;
    struct buf data;
};

struct rows {
    struct feed f;
    const struct dirs *d;
    const struct cursor_spec *spec;
    struct groups *groups;
    size_t mem; /* bytes of memory for frames */
    uint64_t R; /* rows of an epoch */
    struct column *col;
    size_t ncol;
    size_t P; /* number of pieces in the batch being made */
};

static int
is_by_piece(const char *name)
{
    return strncmp(name, "piece_", 6) == 0;
}

/* Does the tensor have elements for each piece, or for each token, so that they
 * move with their row? */
static int
moves(const struct st_tensor *t, size_t P, size_t B, size_t T)
{
    if (is_by_piece(t->name))
        return t->ndim >= 1 && t->shape[0] == P;
    return t->ndim >= 2 && t->shape[0] == B && t->shape[1] == T;
}

static struct column *
find_column(struct rows *x, const char *name)
{
    for (size_t i = 0; i < x->ncol; i++)
        if (strcmp(x->col[i].name, name) == 0)
            return &x->col[i];
    return NULL;
}

static void
drop_columns(struct rows *x)
{
    for (size_t i = 0; i < x->ncol; i++) {
        free(x->col[i].name);
        buf_release(&x->col[i].data);
    }
    free(x->col);
    x->col = NULL;
    x->ncol = 0;
}

static struct column *
add_column(struct rows *x, const struct st_tensor *t)
{
    struct column *c;
    size_t n = 1;

    x->col = xreallocarray(x->col, x->ncol + 1, sizeof *x->col);
    c = &x->col[x->ncol++];
    *c = (struct column){ .dtype = t->dtype, .ndim = t->ndim };
    c->name = xstrdup(t->name);
    memcpy(c->shape, t->shape, sizeof c->shape);
    c->by_piece = is_by_piece(t->name);
    for (int i = 1; i < t->ndim; i++)
        n *= t->shape[i];
    dtype_bytes(t->dtype, n, &c->bytes);
    return c;
}

static int
fits(const struct column *c, const struct st_tensor *t)
{
    if (c->dtype != t->dtype || c->ndim != t->ndim)
        return 0;
    for (int i = 1; i < t->ndim; i++)
        if (c->shape[i] != t->shape[i])
            return 0;
    return 1;
}

/* Fill the loss mask with ones up to `rows` rows: in messages without a mask
 * all tokens count. */
static void
fill_mask(struct column *c, size_t rows)
{
    const size_t n = rows * c->bytes;

    if (c->data.n >= n)
        return;
    buf_reserve(&c->data, n - c->data.n);
    memset(c->data.p + c->data.n, 1, n - c->data.n);
    c->data.n = n;
}

/* Did the previous batch have the tensors of s, in this order?  Then its
 * columns are used again. */
static int
suits(const struct rows *x, const struct st *s)
{
    if (x->ncol != s->nt)
        return 0;
    for (size_t i = 0; i < s->nt; i++)
        if (strcmp(x->col[i].name, s->t[i].name) != 0 ||
            !fits(&x->col[i], &s->t[i]))
            return 0;
    return 1;
}

/* Check that the tensors of k fit the batch being made.  The first row of the
 * batch decides which tensors it has. */
static int
match(struct rows *x, const struct held_batch *k, struct err *e)
{
    const struct st *s = &k->m.st;
    const struct st_tensor *ids = st_find(s, "ids");
    const size_t P = st_find(s, "piece_row")->n;
    const char *dir = dirs_name(x->d, k->dir);
    size_t seen = 0;

    if (x->f.own_B == 0 && !suits(x, s))
        drop_columns(x);
    for (size_t i = 0; i < s->nt; i++) {
        const struct st_tensor *t = &s->t[i];
        struct column *c = find_column(x, t->name);

        if (!moves(t, P, ids->shape[0], ids->shape[1]))
            return err_set(e, EX_INPUT,
                "%s: message %" PRIu64 ": tensor %.100s has no row a token, so "
                "it cannot be replayed by rows",
                dir, k->m.seq, t->name);
        if (!c && (x->f.own_B == 0 || strcmp(t->name, "loss_mask") == 0)) {
            c = add_column(x, t);
            fill_mask(c, x->f.own_B);
        }
        if (!c || !fits(c, t))
            return err_set(e, EX_INPUT,
                "%s: message %" PRIu64
                ": tensor %.100s is not in the other rows of the batch, or not "
                "of this shape",
                dir, k->m.seq, t->name);
        seen++;
    }
    if (x->ncol !=
        seen + (find_column(x, "loss_mask") && !st_find(s, "loss_mask")))
        return err_set(e, EX_INPUT,
            "%s: message %" PRIu64
            ": lacks tensors that the other rows of the batch have",
            dir, k->m.seq);
    return 0;
}

/* Set the row numbers of the pieces just added, and replace their sources'
 * numbers in directory `dir` by the merged numbers. */
static void
renumber_pieces(struct rows *x, size_t dir, size_t pieces)
{
    char *row = find_column(x, "piece_row")->data.p + 4 * x->P;
    char *source = find_column(x, "piece_source")->data.p + 2 * x->P;

    for (size_t i = 0; i < pieces; i++) {
        const uint32_t b = (uint32_t)x->f.own_B;
        uint16_t v;

        memcpy(row + 4 * i, &b, 4);
        memcpy(&v, source + 2 * i, 2);
        v = x->d->source[dir][v];
        memcpy(source + 2 * i, &v, 2);
    }
}

/* Index of the first piece of k's message that is in row `row` or a later
 * one. */
static size_t
first_piece(const struct held_batch *k, size_t row)
{
    const struct st_tensor *of = st_find(&k->m.st, "piece_row");
    size_t lo = 0, hi = of->n;

    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;

        if (st_u32(of, mid) < row)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static void
append_row(struct rows *x, const struct held_batch *k, size_t row)
{
    const struct st *s = &k->m.st;
    const size_t from = first_piece(k, row), to = first_piece(k, row + 1);

    for (size_t i = 0; i < s->nt; i++) {
        const struct st_tensor *t = &s->t[i];
        struct column *c = find_column(x, t->name);
        const size_t at = c->by_piece ? from : row;
        const size_t n = c->by_piece ? to - from : 1;

        if (n * c->bytes > 0)
            buf_add(&c->data, (const char *)t->data + at * c->bytes,
                n * c->bytes);
    }
    if (to > from)
        renumber_pieces(x, k->dir, to - from);
    x->f.pieces += to - from;
    x->P += to - from;
    x->f.own_B++;
    if (find_column(x, "loss_mask"))
        fill_mask(find_column(x, "loss_mask"), x->f.own_B);
}

/* Number of tokens in a row. */
static uint64_t
count_row_tokens(const struct held_batch *k, size_t row)
{
    const struct st_tensor *len = st_find(&k->m.st, "piece_len");
    uint64_t n = 0;

    for (size_t i = first_piece(k, row), end = first_piece(k, row + 1); i < end;
         i++)
        n += st_u32(len, i);
    return n;
}

static int
rows_row(struct feed *f, struct err *e)
{
    struct rows *x = (struct rows *)(void *)f;
    const uint64_t epoch = f->rows / x->R, i = f->rows % x->R;
    const struct cursor_spec *s = x->spec;
    const struct held_batch *k;
    size_t row = 0;

    if (s->length == LENGTH_EPOCHS && epoch >= s->limit)
        return 0;
    k = groups_find(x->groups, epoch, i, &row, e);
    if (!k)
        return -1;
    f->tokens += count_row_tokens(k, row);
    if (f->B % s->ranks == s->rank) {
        if (match(x, k, e) < 0)
            return -1;
        f->own_tokens += count_row_tokens(k, row);
        append_row(x, k, row);
    }
    f->B++;
    f->rows++;
    return 1;
}

static void
rows_put(struct feed *f, struct st_out *o)
{
    struct rows *x = (struct rows *)(void *)f;

    for (size_t i = 0; i < x->ncol; i++) {
        struct column *c = &x->col[i];

        c->shape[0] = c->by_piece ? x->P : f->own_B;
        st_out_tensor(o, c->name, c->dtype, c->ndim, c->shape,
            c->data.n ? c->data.p : "");
    }
}

static void
rows_clear(struct feed *f)
{
    struct rows *x = (struct rows *)(void *)f;

    for (size_t i = 0; i < x->ncol; i++)
        buf_clear(&x->col[i].data);
    x->P = 0;
    f->B = f->own_B = 0;
    f->tokens = f->own_tokens = 0;
}

static void
rows_save(struct feed *f, struct cursor *c)
{
    c->rows = f->rows;
}

static int
rows_load(struct feed *f, const struct cursor *c, struct err *e)
{
    (void)e;
    f->rows = c->rows;
    return 0;
}

/* Set *rows to the number of rows with which a replay reaches `tokens` tokens.
 * Whole epochs and blocks are counted by the indexes; only the last block's
 * rows are read. */
static int
rows_until(const struct rows *x, uint64_t tokens, uint64_t *rows, struct err *e)
{
    const struct feed_means how = { .mem = x->mem };
    struct groups *g = groups_new(x->d, x->spec, &how, e);
    const uint64_t all = g ? groups_tokens(g) : 0;
    const uint64_t epoch = all ? (tokens - 1) / all : 0;
    uint64_t i = 0, left = tokens - epoch * all;
    int r = g ? 0 : -1;

    if (all > 0)
        i = groups_skip(g, epoch, &left);
    while (all > 0 && left > 0 && r == 0) {
        size_t row = 0;
        const struct held_batch *k = groups_find(g, epoch, i, &row, e);
        const uint64_t n = k ? count_row_tokens(k, row) : 0;

        r = k ? 0 : -1;
        left -= n < left ? n : left;
        i++;
    }
    groups_free(g);
    *rows = epoch * x->R + i;
    return r;
}

static int
rows_total(struct feed *f, uint64_t *rows, struct err *e)
{
    const struct rows *x = (const struct rows *)(const void *)f;
    const struct cursor_spec *s = x->spec;

    *rows = s->length == LENGTH_BATCHES ? s->limit * s->B
        : s->limit <= UINT64_MAX / x->R ? x->R * s->limit
                                        : 0;
    return s->length == LENGTH_TOKENS ? rows_until(x, s->limit, rows, e) : 0;
}

static int
rows_plan(struct feed *f, struct err *e)
{
    const struct rows *x = (const struct rows *)(const void *)f;
    const struct cursor_spec *s = x->spec;
    uint64_t tokens = 0;
    double epochs = (double)s->limit;

    for (size_t i = 0; i < x->d->n; i++)
        tokens += set_manifest(x->d->set[i])->tokens;
    if (s->length == LENGTH_BATCHES)
        epochs = (double)s->limit * (double)s->B / (double)x->R;
    else if (s->length == LENGTH_TOKENS)
        epochs = tokens ? (double)s->limit / (double)tokens : 0.0;
    printf("rows\ttokens\tT\tepochs\n%" PRIu64 "\t%" PRIu64 "\t%zu\t%.3f\n",
        x->R, tokens, x->d->info.T, epochs);
    (void)e;
    return 0;
}

static void
rows_times(struct feed *f, struct ahead_times *t)
{
    groups_times(((struct rows *)(void *)f)->groups, t);
}

static void
rows_free(struct feed *f)
{
    struct rows *x = (struct rows *)(void *)f;

    groups_free(x->groups);
    drop_columns(x);
    free(x);
}

static int
check_rows_memory(const struct rows *x, struct err *e)
{
    const double need = groups_bytes(x->groups);

    if (x->spec->shuffle && x->spec->open > 1 && need > (double)x->mem)
        return err_set(e, EX_USAGE,
            "%zu frames are open at once, which takes %.0f MiB: give a larger "
            "--mem or a smaller --open",
            x->spec->open, need / 1048576.0 + 1.0);
    if (x->spec->shuffle)
        vnote("%zu frames open, %.1f MiB; neighbours on disk come %.0f rows "
              "apart, %.0f in a full shuffle",
            x->spec->open, need / 1048576.0, groups_distance(x->groups),
            (double)groups_rows(x->groups) / 3.0);
    return 0;
}

struct feed *
rows_feed(const struct dirs *d, const struct cursor_spec *spec,
    const struct feed_means *how, struct err *e)
{
    struct rows *x = xcalloc(1, sizeof *x);

    x->f = (struct feed){ .row = rows_row,
        .put = rows_put,
        .clear = rows_clear,
        .save = rows_save,
        .load = rows_load,
        .total = rows_total,
        .plan = rows_plan,
        .times = rows_times,
        .free = rows_free };
    x->d = d;
    x->spec = spec;
    x->mem = how->mem;
    x->groups = groups_new(d, spec, how, e);
    if (!x->groups || check_rows_memory(x, e) < 0) {
        rows_free(&x->f);
        return NULL;
    }
    x->R = groups_rows(x->groups);
    return &x->f;
}
