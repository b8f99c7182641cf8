/* Writing a Hugging Face directory; see export.h. */
#include "model/export.h"
#include "kern/quant_out.h"
#include "model/model.h"

#include "base/bytes.h"
#include "base/dir.h"
#include "base/io.h"
#include "base/mem.h"
#include "format/json.h"
#include "kern/kern.h"
#include "model/origin.h"
#include "model/tensor_out.h"
#include "model/sparse.h"
#include "model/tokfile.h"
#include "model/weights_out.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TILE = 1 << 14 }; /* elements written at a time */

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

/* Is a number in p[bytes] infinite or NaN: are all bits of its exponent ones?
 * In a quantised block only the scale can be. */
static int
not_finite(enum dtype as, const void *p, size_t bytes)
{
    const uint32_t mask = as == DT_F32 ? 0x7f800000
        : as == DT_BF16                ? 0x7f80
                                       : 0x7c00;
    const size_t size = as == DT_F32 ? 4 : 2,
                 step = as == DT_Q8_0 ? 34
        : as == DT_Q4_0               ? 18
                                      : size;
    const unsigned char *s = p;
    int found = 0;

    for (size_t i = 0; i < bytes; i += step)
        found |= (le_get(s + i, size) & mask) == mask;
    return found;
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
    if (w->cols == cols && p->perm == 0) {
        weight_rows(w, k, have, x);
    } else {
        for (size_t i = 0; i < have; i++) {
            size_t r = k + i;

            if (p->perm > 0) { /* undo stored_row of weights.c */
                const size_t D = w->rows / p->perm, j = r % D;

                r = r - j + j % 2 * (D / 2) + j / 2;
            }
            weight_rows(w, r, 1, x + i * cols);
        }
    }
    for (size_t i = 0; p->less != 0.0f && i < n * cols; i++)
        x[i] -= p->less;
}

int
tensor_write(const struct model *m, const struct tensor_out *p, enum dtype as,
    struct io_out *o, struct err *e)
{
    const size_t cols = p->shape[p->ndim - 1];
    const size_t rows = p->ndim == 1 ? 1 : p->shape[0];
    size_t tile = TILE / cols ? TILE / cols : 1, bytes;
    float *x;
    void *y;
    int r = 0;

    if (tile > rows)
        tile = rows;
    x = xcalloc(tile * cols, sizeof *x);
    y = xcalloc(tile * cols, sizeof *x);
    for (size_t k = 0; r == 0 && k < rows; k += tile) {
        const size_t n = tile < rows - k ? tile : rows - k;
        const size_t left = k < p->w->rows ? p->w->rows - k : 0;
        const size_t have = n < left ? n : left;

        read_rows(p, k, n, have, x);
        if (have > 0)
            model_forget_tile(m, p->w, k, have);
        weight_narrow(as, y, x, n * cols);
        r = dtype_bytes(as, n * cols, &bytes);
        assert(r == 0);
        if (not_finite(DT_F32, x, n * cols * sizeof *x))
            r = err_set(e, EX_NUM, "%s: tensor %s is not finite",
                m->path ? m->path : "model", p->name);
        else if (not_finite(as, y, bytes))
            r = err_set(e, EX_NUM, "%s: tensor %s is too large for %s",
                m->path ? m->path : "model", p->name, dtype_name(as));
        else if (p->part != COMPRESSED_NOT &&
            compressed_pack(p->part, x, n, cols, y, bytes / (n * cols),
                &bytes) < 0)
            r = err_set(e, EX_INPUT,
                "%s: tensor %s is not 2:4: row %zu has more than two numbers "
                "in columns %zu to %zu",
                m->path ? m->path : "model", p->name, k + bytes / cols,
                bytes % cols, bytes % cols + 3);
        else
            r = io_out_write(o, y, bytes, e);
        if (m->written && p->part != COMPRESSED_MASK)
            m->written(have * p->w->cols);
    }
    model_forget(m, p->w);
    free(x);
    free(y);
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
    if (dtype) { /* transformers 4, and 5 */
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
