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
#include "model/fetch.h"
#include "model/origin.h"
#include "model/tensor_out.h"
#include "model/sparse.h"
#include "model/tokfile.h"

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

/* Set *p to tensor i, and p->part to the part that this walk writes; 0: it
 * writes none.  Three walks over the tensors write the file: shapes of
 * compressed matrices come first and masks last, so that the numbers in between
 * stay aligned. */
static int
walk_part(const struct model *m, int walk, size_t i, struct tensor_out *p)
{
    model_tensor(m, i, p);
    if (!(m->compress && p->two_of_four))
        return walk == 1;
    p->part = COMPRESSED_SHAPE + walk;
    return 1;
}

/* List all parts in the header. */
static int
list_parts(const struct model *m, enum dtype as, struct st_out *st,
    struct err *e)
{
    struct tensor_out p;
    char name[sizeof p.name + 8];

    st_out_begin(st);
    st_out_meta(st, "format", "pt"); /* transformers asks for it */
    for (int walk = 0; walk < 3; walk++)
        for (size_t i = 0; i < model_ntensors(m); i++) {
            if (!walk_part(m, walk, i, &p))
                continue;
            if (p.part == COMPRESSED_NOT) {
                st_out_tensor(st, p.name, as, p.ndim, p.shape, NULL);
                continue;
            }
            if (p.shape[1] % 4 != 0)
                return err_set(e, EX_INPUT,
                    "%s: tensor %s: a row of %zu numbers cannot be cut into "
                    "fours",
                    m->path ? m->path : "model", p.name, p.shape[1]);
            compressed_name(name, sizeof name, p.name, p.part);
            compressed_dims(p.shape, p.part);
            st_out_tensor(st, name,
                p.part == COMPRESSED_SHAPE      ? DT_I64
                    : p.part == COMPRESSED_MASK ? DT_U8
                                                : as,
                2, p.shape, NULL);
        }
    st_out_end(st);
    return 0;
}

/* Write all parts after the header.  After an error go on fetching weights to
 * the end: the other ranks wait for this one in each fetch. */
static int
write_part_files(const struct model *m, enum dtype as, struct io_out *o, int r,
    struct err *e)
{
    struct tensor_out p;

    for (int walk = 0; walk < 3; walk++)
        for (size_t i = 0; i < model_ntensors(m); i++) {
            if (!walk_part(m, walk, i, &p))
                continue;
            if (p.part == COMPRESSED_SHAPE) {
                unsigned char shape[16];

                le_put(shape, p.shape[0], 8);
                le_put(shape + 8, p.shape[1], 8);
                if (r == 0)
                    r = io_out_write(o, shape, sizeof shape, e);
                continue;
            }
            fetch_now(m, p.group);
            if (r == 0)
                r = tensor_write(m, &p, as, o, e);
            fetch_done(m, p.group);
        }
    return r;
}

int
model_write_weights(const struct model *m, const char *file, enum dtype as,
    struct err *e)
{
    struct st_out st = { 0 };
    struct io_out o;
    int r;

    assert(!m->compress || m->fetch == NULL);
    if (as != DT_F32 && as != DT_F16 && as != DT_BF16)
        return err_set(e, EX_USAGE,
            "%s: weights are written as F32, F16 or BF16 there, not %s", file,
            dtype_name(as));
    if ((r = list_parts(m, as, &st, e)) < 0)
        goto done;
    if ((r = io_out_begin(&o, file, e)) < 0) {
        fetch_each(m);
        goto done;
    }
    r = io_out_write(&o, st.head.p, st.head.n, e);
    r = write_part_files(m, as, &o, r, e);
    if (r == 0)
        r = io_out_commit(&o, e);
    if (r < 0)
        io_out_abort(&o);
done:
    st_out_release(&st);
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

/* Write all files of the directory. */
static int
write_model_files(const struct model *m, const char *dir, enum dtype as,
    const char *tok_from, struct err *e)
{
    char *config = xasprintf("%s/config.json", dir);
    char *weights = xasprintf("%s/model.safetensors", dir);
    char *gen = xasprintf("%s/generation_config.json", dir);
    int r = write_config_file(m, config,
        as == DT_F32       ? "float32"
            : as == DT_F16 ? "float16"
                           : "bfloat16",
        e);

    if (r == 0)
        r = model_write_weights(m, weights, as, e);
    if (r == 0 && tok_from)
        r = tokenizer_export(tok_from, dir, e);
    if (r == 0)
        r = model_write_generation(m, gen, e);
    free(config);
    free(weights);
    free(gen);
    return r;
}

int
model_export(const struct model *m, const char *dir, enum dtype as,
    const char *tok_from, struct err *e)
{
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
    r = write_model_files(m, d.tmp, as, tok_from, e);
    if (r == 0)
        r = dir_new_commit(&d, e);
    if (r < 0)
        dir_new_abort(&d);
    return r;
}
