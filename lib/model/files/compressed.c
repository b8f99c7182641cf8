/* 2:4 matrices without their zeros; see compressed.h. */
#include "model/files/compressed.h"

#include "base/mem.h"
#include "model/files/open.h"
#include "model/files/tensor_out.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number of bits that are set in a number of 4 bits. */
static const unsigned char bits[16] = { 0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2,
    3, 3, 4 };

void
compressed_name(char *out, size_t size, const char *weight,
    enum compressed part)
{
    static const char *const end[] = { "weight", "shape", "compressed",
        "bitmask" };

    snprintf(out, size, "%.*s%s", (int)(strlen(weight) - strlen(end[0])),
        weight, end[part]);
}

void
compressed_dims(size_t dims[2], enum compressed part)
{
    if (part == COMPRESSED_SHAPE) {
        dims[0] = 2;
        dims[1] = 1;
    } else if (part == COMPRESSED_VALUES) {
        dims[1] /= 2;
    } else if (part == COMPRESSED_MASK) {
        dims[1] = (dims[1] + 7) / 8;
    }
}

/* Return a mask of which of the four numbers at x are kept: all that are not
 * zero and, if these are fewer than two, the first zeros.  More than two bits:
 * x is not 2:4. */
static unsigned
pair(const float *x)
{
    unsigned mask = 0;

    for (int i = 0; i < 4; i++)
        mask |= (unsigned)(x[i] != 0.0f) << i;
    for (int i = 0; bits[mask] < 2; i++)
        mask |= 1u << i;
    return mask;
}

int
compressed_pack(enum compressed part, const float *x, size_t n, size_t cols,
    unsigned char *y, size_t size, size_t *bytes)
{
    size_t at = 0;

    for (size_t r = 0; r < n; r++)
        for (size_t c = 0; c < cols; c += 4) {
            const size_t i = r * cols + c;
            const unsigned mask = pair(x + i);

            if (bits[mask] > 2) {
                *bytes = i;
                return -1;
            }
            if (part == COMPRESSED_MASK) {
                if (c % 8 == 0)
                    y[at++] = (unsigned char)mask;
                else
                    y[at - 1] |= (unsigned char)(mask << 4);
                continue;
            }
            for (size_t k = 0; k < 4; k++)
                if (mask >> k & 1) {
                    memmove(y + at, y + (i + k) * size, size);
                    at += size;
                }
        }
    *bytes = at;
    return 0;
}

/* Check types and shapes of the parts; errors as in compressed_set. */
static int
check_shape_tensor(const struct st_tensor *const *t, size_t rows, size_t cols,
    struct err *e)
{
    const struct st_tensor *s = t[COMPRESSED_SHAPE];
    struct weight w;

    if (s->dtype != DT_I64 || s->n != 2 || st_uint(s, 0) != rows ||
        st_uint(s, 1) != cols)
        return err_set(e, EX_INPUT,
            "tensor %s is not I64 [2] of %zu and %zu, as config.json means",
            s->name, rows, cols);
    for (enum compressed k = COMPRESSED_VALUES; k < COMPRESSED_N; k++) {
        size_t dims[2] = { rows, cols };

        compressed_dims(dims, k);
        if (cols % 4 != 0 || t[k]->ndim != 2 || t[k]->shape[0] != dims[0] ||
            t[k]->shape[1] != dims[1] ||
            (k == COMPRESSED_MASK
                    ? t[k]->dtype != DT_U8
                    : weight_set(&w, NULL, t[k]->dtype, rows, cols) < 0))
            return err_set(e, EX_INPUT,
                "tensor %s is %s of %zu elements, where %s [%zu,%zu] is "
                "[%zu,%zu]",
                t[k]->name, dtype_name(t[k]->dtype), t[k]->n, s->name, rows,
                cols, dims[0], dims[1]);
    }
    return 0;
}

/* Check that a mask has two bits in each four columns, and none past the last
 * column. */
static int
check_mask(const struct weight *w, const char *name, struct err *e)
{
    const size_t cols = w->cols;

    for (size_t r = 0; r < w->rows; r++)
        for (size_t c = 0; c < (cols + 7) / 8 * 8; c += 4) {
            const unsigned four =
                w->mask[r * w->mask_stride + c / 8] >> (c % 8) & 15;

            if (bits[four] != (c < cols ? 2 : 0))
                return err_set(e, EX_INPUT,
                    "tensor %s: row %zu has %d bits in columns %zu to %zu",
                    name, r, bits[four], c, c + 3);
        }
    return 0;
}

int
compressed_set(struct weight *w, const struct st_tensor *const *t, size_t rows,
    size_t cols, struct err *e)
{
    const struct st_tensor *values = t[COMPRESSED_VALUES];

    if (check_shape_tensor(t, rows, cols, e) < 0)
        return -1;
    weight_set(w, values->data, values->dtype, rows, cols / 2);
    w->cols = cols;
    w->mask = t[COMPRESSED_MASK]->data;
    w->mask_stride = (cols + 7) / 8;
    return check_mask(w, t[COMPRESSED_MASK]->name, e);
}

size_t
compressed_count(const struct model *m)
{
    struct tensor_out p;
    size_t n = 0;

    for (size_t i = 0; i < model_ntensors(m); i++) {
        model_tensor(m, i, &p);
        n += (size_t)p.two_of_four;
    }
    return n;
}

void
compressed_write(const struct model *m, json_t *j)
{
    json_t *targets = json_array();
    struct tensor_out p;

    for (size_t i = 0; i < model_ntensors(m); i++) {
        model_tensor(m, i, &p);
        if (!p.two_of_four)
            continue;
        p.name[strlen(p.name) - strlen(".weight")] = '\0';
        json_array_append_new(targets, json_string(p.name));
    }
    json_object_set_new(j, "quantization_config",
        json_pack("{s:s, s:{s:s, s:s, s:o}}", "quant_method",
            "compressed-tensors", "sparsity_config", "format",
            "sparse-24-bitmask", "sparsity_structure", "2:4", "targets",
            targets));
}
