/* Writing a Hugging Face directory; see export.h. */
#include "model/files/export.h"
#include "kern/quant_out.h"
#include "model/files/arranged.h"
#include "model/files/experts_joined.h"
#include "model/config/family.h"
#include "model/files/model.h"

#include "base/dir.h"
#include "base/io.h"
#include "base/mem.h"
#include "format/json.h"
#include "kern/kern.h"
#include "model/config/delta_config.h"
#include "model/files/origin.h"
#include "model/files/tensor_out.h"
#include "model/files/sparse.h"
#include "model/files/tokfile.h"
#include "model/files/weights_out.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TILE = 1 << 14 }; /* most elements of a tile, but at least a row */

void
weight_narrow(enum dtype as, void *out, const float *x, size_t n)
{
    switch (as) {
    case DT_F32: memcpy(out, x, n * sizeof *x); return;
    case DT_BF16: kern.narrow_bf16(out, x, n); return;
    case DT_F16: kern.narrow_f16(out, x, n); return;
    default: quant_encode(QUANT_Q8_0 + (as - DT_Q8_0), out, x, NULL, n);
    }
}

/* Logical row of the weight that is row k of the file. */
static size_t
weight_row_of(const struct tensor_out *p, size_t k)
{
    if (p->order != NULL)
        return delta_row(p->order, p->matrix, k);
    if (p->perm > 0) { /* undo stored_row of weights.c */
        const size_t D = p->w->rows / p->perm, j = k % D;

        k = k - j + j % 2 * (D / 2) + j / 2;
    }
    return k;
}

/* Read rows k..k+n-1, in the order of the file, into x as fp32.  The weight has
 * the first `have` of these rows; the others are padding. */
static void
read_rows(const struct tensor_out *p, size_t k, size_t n, size_t have, float *x)
{
    const struct weight *w = p->w;
    const size_t cols = p->shape[p->ndim - 1];

    if (have < n || w->cols < cols)
        memset(x, 0, n * cols * sizeof *x);
    if (w->cols == cols && p->perm == 0 && (p->order == NULL || w->rows == 1)) {
        weight_rows(w, k, have, x);
    } else {
        for (size_t i = 0; i < have; i++)
            weight_rows(w, weight_row_of(p, k + i), 1, x + i * cols);
    }
    if (p->order != NULL)
        delta_order(p->order, p->matrix, x, n, cols);
    for (size_t i = 0; p->minus_exp && i < n * cols; i++)
        x[i] = -expf(x[i]);
    for (size_t i = 0; p->less != 0.0f && i < n * cols; i++)
        x[i] -= p->less;
}

/* Tiles of a tensor that are rounded at once, each of `rows` rows, the last one
 * perhaps of fewer; x and y have room for all of these tiles. */
struct tiles {
    const struct model *m;
    const struct tensor_out *p;
    enum dtype as;
    size_t cols, rows, all; /* all: rows of the tensor */
    size_t first;           /* row of tile 0 */
    float *x;
    unsigned char *y;
    float *wide; /* a row for each worker */
    enum { TILE_FINE, TILE_NOT_FINITE, TILE_TOO_LARGE } * state;
};

static size_t
tile_rows(const struct tiles *t, size_t i)
{
    const size_t left = t->all - (t->first + i * t->rows);

    return left < t->rows ? left : t->rows;
}

/* Rows of a tile that the weight has; the others are padding. */
static size_t
tile_have(const struct tiles *t, size_t i)
{
    const size_t k = t->first + i * t->rows, n = tile_rows(t, i);
    const size_t left = k < t->p->w->rows ? t->p->w->rows - k : 0;

    return n < left ? n : left;
}

/* Does the weight have the quantised type of the file?  Then its rows are
 * copied: rounding them again could change them. */
static int
is_stored_as(const struct weight *w, enum dtype as, size_t cols)
{
    return as >= DT_Q8_0 && w->dtype == as && w->mask == NULL &&
        w->cols == cols;
}

/* Make row k of the file, whose numbers are x, at y.  have: the weight has this
 * row; else it is padding. */
static void
quantise_row(const struct tiles *t, size_t k, int have, const float *x,
    unsigned char *y)
{
    const struct weight *w = t->p->w;

    if (have && is_stored_as(w, t->as, t->cols))
        memcpy(y, weight_row(w, weight_row_of(t->p, k)), w->stride);
    else
        quant_encode(QUANT_Q8_0 + (t->as - DT_Q8_0), y, x, t->p->importance,
            t->cols);
}

static void
round_tile(void *ctx, size_t i, size_t worker)
{
    const struct tiles *t = ctx;
    const size_t n = tile_rows(t, i), cols = t->cols;
    float *x = t->x + i * t->rows * cols;
    unsigned char *y = t->y + i * t->rows * cols * sizeof *x;
    size_t bytes;

    read_rows(t->p, t->first + i * t->rows, n, tile_have(t, i), x);
    t->state[i] = TILE_NOT_FINITE;
    if (!isfinite(kern.sumsq(x, n * cols)))
        return;
    dtype_bytes(t->as, cols, &bytes);
    for (size_t r = 0; r < n; r++, x += cols, y += bytes) {
        if (t->as >= DT_Q8_0)
            quantise_row(t, t->first + i * t->rows + r, r < tile_have(t, i), x,
                y);
        else
            weight_narrow(t->as, y, x, cols);
        weight_widen(t->wide + worker * cols, t->as, y, cols);
        if (!isfinite(kern.sumsq(t->wide + worker * cols, cols))) {
            t->state[i] = TILE_TOO_LARGE;
            return;
        }
    }
    t->state[i] = TILE_FINE;
}

/* Write tile i. */
static int
write_tile(const struct tiles *t, size_t i, struct io_out *o, struct err *e)
{
    const struct tensor_out *p = t->p;
    const char *path = t->m->path ? t->m->path : "model";
    const size_t n = tile_rows(t, i), cols = t->cols, row = t->rows * cols;
    float *x = t->x + i * row;
    unsigned char *y = t->y + i * row * sizeof *x;
    size_t bytes;
    const int r = dtype_bytes(t->as, n * cols, &bytes);

    assert(r == 0);
    if (t->state[i] == TILE_NOT_FINITE)
        return err_set(e, EX_NUM, "%s: tensor %s is not finite", path, p->name);
    if (t->state[i] == TILE_TOO_LARGE)
        return err_set(e, EX_NUM, "%s: tensor %s is too large for %s", path,
            p->name, dtype_name(t->as));
    if (p->part != COMPRESSED_NOT &&
        compressed_pack(p->part, x, n, cols, y, bytes / (n * cols), &bytes) < 0)
        return err_set(e, EX_INPUT,
            "%s: tensor %s is not 2:4: row %zu has more than two numbers "
            "in columns %zu to %zu",
            path, p->name, t->first + i * t->rows + bytes / cols, bytes % cols,
            bytes % cols + 3);
    return io_out_write(o, y, bytes, e);
}

/* tensor_write of a tensor of one part. */
static int
write_part(const struct model *m, const struct tensor_out *p, enum dtype as,
    struct pool *pool, struct io_out *o, struct err *e)
{
    const size_t workers = pool != NULL ? pool_size(pool) : 1;
    const size_t most = pool != NULL ? 4 * workers : 1;
    struct tiles t = { .m = m, .p = p, .as = as };
    int r = 0;

    t.cols = p->shape[p->ndim - 1];
    t.all = p->ndim == 1 ? 1 : p->shape[0];
    if (p->ndim == 3) /* the rows of all experts */
        t.all *= p->shape[1];
    t.rows = TILE / t.cols ? TILE / t.cols : 1;
    t.rows = t.rows < t.all ? t.rows : t.all;
    t.x = xcalloc(most * t.rows * t.cols, sizeof *t.x);
    t.y = xcalloc(most * t.rows * t.cols, sizeof *t.x);
    t.wide = xcalloc(workers * t.cols, sizeof *t.wide);
    t.state = xcalloc(most, sizeof *t.state);
    for (; r == 0 && t.first < t.all; t.first += most * t.rows) {
        size_t n = (t.all - t.first + t.rows - 1) / t.rows;

        n = n < most ? n : most;
        if (pool != NULL)
            pool_run(pool, n, round_tile, &t);
        else
            round_tile(&t, 0, 0);
        for (size_t i = 0; r == 0 && i < n; i++) {
            const size_t have = tile_have(&t, i);

            if (have > 0)
                model_forget_tile(m, p->w, t.first + i * t.rows, have);
            r = write_tile(&t, i, o, e);
            if (m->written && p->part != COMPRESSED_MASK)
                m->written(have * p->w->cols);
        }
    }
    model_forget(m, p->w);
    free(t.x);
    free(t.y);
    free(t.wide);
    free(t.state);
    return r;
}

/* tensor_write of a tensor of all experts, one expert after another. */
static int
write_joined(const struct model *m, const struct tensor_out *p, enum dtype as,
    struct pool *pool, struct io_out *o, struct err *e)
{
    const size_t in = p->ndim == 3 ? p->shape[1] : 1;
    const size_t wide = p->shape[p->ndim - 1], out = wide / p->joined;
    float *x = xcalloc(in * wide, sizeof *x);
    float *room = xcalloc(in * out, sizeof *room);
    const struct weight one = { .data = (const unsigned char *)x,
        .dtype = DT_F32,
        .rows = in,
        .cols = wide,
        .stride = wide * sizeof *x };
    struct tensor_out part = *p;
    int r = 0;

    part.w = &one;
    part.ndim = 2;
    part.shape[0] = in;
    part.shape[1] = wide;
    for (size_t k = 0; r == 0 && k < p->shape[0]; k++) {
        joined_fill(p->w, p->matrix, p->joined, k, in, out, room, x);
        r = write_part(m, &part, as, pool, o, e);
    }
    for (size_t i = 0; i < p->joined; i++)
        model_forget(m, p->w + i);
    free(x);
    free(room);
    return r;
}

/* tensor_write of a tensor in another arrangement. */
static int
write_arranged(const struct model *m, const struct tensor_out *p, enum dtype as,
    struct pool *pool, struct io_out *o, struct err *e)
{
    const struct block_shape whole = config_whole_block(&m->c, p->group);
    const size_t cols = p->shape[p->ndim - 1];
    const size_t rows = p->ndim == 1 ? 1 : p->shape[0];
    float *x = xcalloc(rows * cols, sizeof *x);
    const struct weight w = { .data = (const unsigned char *)x,
        .dtype = DT_F32,
        .rows = rows,
        .cols = cols,
        .stride = cols * sizeof *x };
    struct tensor_out made = *p;
    int r;

    arranged_fill(&m->c, p->matrix, &whole, p->w, x);
    made.w = &w;
    r = write_part(m, &made, as, pool, o, e);
    for (size_t k = 0; k < p->parts; k++)
        model_forget(m, p->w + k);
    free(x);
    return r;
}

int
tensor_write(const struct model *m, const struct tensor_out *p, enum dtype as,
    struct pool *pool, struct io_out *o, struct err *e)
{
    int r = 0;

    if (p->joined > 0)
        return write_joined(m, p, as, pool, o, e);
    if (p->arranged)
        return write_arranged(m, p, as, pool, o, e);
    for (size_t k = 0; r == 0 && k < p->parts; k++) {
        struct tensor_out part = *p;

        part.w += k;
        if (p->parts > 1)
            block_stored_dims(&m->c, p->matrix + (int)k, NULL, &part.shape[0],
                &part.shape[1]);
        r = write_part(m, &part, as, pool, o, e);
    }
    return r;
}

static int
write_config_file(const struct model *m, const char *file, const char *dtype,
    struct err *e)
{
    struct block_shape *b = xcalloc(m->c.L, sizeof *b);
    json_t *j;
    int r;

    model_shape(m, b);
    j = config_to_json(&m->c, b);
    sparse_write(m, j);
    origin_write(m, j);
    if (m->compress)
        compressed_write(m, j);
    if (dtype) { /* names in transformers 4, and 5 */
        json_object_set_new(j, "torch_dtype", json_string(dtype));
        json_object_set_new(j, "dtype", json_string(dtype));
    }
    r = js_save(j, file, e);
    json_decref(j);
    free(b);
    return r;
}

int
model_write_config(const struct model *m, const char *file, struct err *e)
{
    return write_config_file(m, file, NULL, e);
}

int
model_write_generation(const struct model *m, const char *file, struct err *e)
{
    json_t *j;
    int r;

    if (io_exists(file))
        return 0;
    j = json_pack("{s:b}", "_from_model_config", 1);
    if (m->c.bos >= 0)
        json_object_set_new(j, "bos_token_id", json_integer(m->c.bos));
    if (m->c.neos > 0)
        json_object_set_new(j, "eos_token_id", config_eos_json(&m->c));
    if (m->c.pad >= 0)
        json_object_set_new(j, "pad_token_id", json_integer(m->c.pad));
    r = js_save(j, file, e);
    json_decref(j);
    return r;
}

/* Write all files of the directory into its temporary folder. */
static int
write_model_files(const struct model *m, const struct dir_new *d, enum dtype as,
    const char *tok_from, const struct export *how, struct err *e)
{
    char *config = xasprintf("%s/config.json", d->tmp);
    char *gen = xasprintf("%s/generation_config.json", d->tmp);
    char *name = card_name(d->path);
    int r = write_config_file(m, config,
        as == DT_F32       ? "float32"
            : as == DT_F16 ? "float16"
                           : "bfloat16",
        e);

    if (r == 0)
        r = weights_write(m, d->tmp, as, how->most ? how->most : WEIGHTS_SHARD,
            e);
    if (r == 0 && tok_from)
        r = tokenizer_export(tok_from, d->tmp, e);
    if (r == 0)
        r = model_write_generation(m, gen, e);
    if (r == 0 && how->card)
        r = card_write(how->card, m, d->tmp, name, e);
    free(config);
    free(gen);
    free(name);
    return r;
}

int
model_export(const struct model *m, const char *dir, enum dtype as,
    const char *tok_from, const struct export *how, struct err *e)
{
    static const struct export plain = { 0 };
    char *path = xstrdup(dir);
    size_t n = strlen(path);
    struct dir_new d;
    int r;

    while (n > 1 && path[n - 1] == '/')
        path[--n] = '\0';
    r = io_exists(path) ? err_set(e, EX_USAGE, "%s: exists already", path)
                        : dir_new_begin(&d, path, e);
    free(path);
    if (r < 0)
        return -1;
    r = write_model_files(m, &d, as, tok_from, how ? how : &plain, e);
    if (r == 0)
        r = dir_new_commit(&d, e);
    if (r < 0)
        dir_new_abort(&d);
    return r;
}
