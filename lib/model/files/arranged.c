/* Tensors in another arrangement; see arranged.h. */
#include "model/files/arranged.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

int
arranged_turned(const struct config *c, int t)
{
    return family_of(c)->turned && !block_is_vector(t);
}

int
arranged_is(const struct config *c, int t)
{
    return arranged_turned(c, t) ||
        (block_stored(c, t, 0).n > 1 &&
            (family_of(c)->by_head || block_is_vector(t)));
}

/* arranged_take, of a copy of the tensor in fp32. */
static void *
take_wide(const struct config *c, int t, const struct block_shape *shape,
    size_t before, const struct weight *from, struct weight *w)
{
    float *x = xreallocarray(NULL, from->rows * from->cols, sizeof *x);
    const struct weight wide = { .data = (const unsigned char *)x,
        .dtype = DT_F32,
        .rows = from->rows,
        .cols = from->cols,
        .stride = from->cols * sizeof *x };
    void *copy;

    weight_rows(from, 0, from->rows, x);
    copy = arranged_take(c, t, shape, before, &wide, w);
    free(x);
    return copy;
}

void *
arranged_take(const struct config *c, int t, const struct block_shape *shape,
    size_t before, const struct weight *from, struct weight *w)
{
    const int turned = arranged_turned(c, t);
    size_t rows, cols, one;
    unsigned char *copy, *to;

    if (from->dtype != DT_F32 && from->dtype != DT_F16 &&
        from->dtype != DT_BF16)
        return take_wide(c, t, shape, before, from, w);
    block_stored_dims(c, t, shape, &rows, &cols);
    (void)dtype_bytes(from->dtype, 1, &one);
    to = copy = xreallocarray(NULL, rows * cols, one);
    for (size_t r = 0; r < rows; r++) {
        const size_t at = block_stored_row(c, t, before, r);

        for (size_t k = 0; turned && k < cols; k++, to += one)
            memcpy(to, from->data + k * from->stride + at * one, one);
        if (!turned) {
            memcpy(to, from->data + at * cols * one, cols * one);
            to += cols * one;
        }
    }
    block_dims(c, t, shape, &rows, &cols);
    *w = *from;
    w->data = copy;
    w->rows = rows;
    w->cols = cols;
    w->stride = cols * one;
    return copy;
}

/* Put n numbers, of row `at` of the stored tensor or of a vector from element
 * `at` on, at x; turned: of column `at`, the tensor having `all` columns. */
static void
put_row(float *x, const float *row, size_t n, size_t at, size_t cols,
    int turned, size_t all)
{
    if (!turned)
        memcpy(x + at * cols, row, n * sizeof *row);
    for (size_t k = 0; turned && k < n; k++)
        x[k * all + at] = row[k];
}

void
arranged_fill(const struct config *c, int t, const struct block_shape *whole,
    const struct weight *w, float *x)
{
    const int n = block_stored(c, t, 0).n, vector = block_is_vector(t);
    const int turned = arranged_turned(c, t);
    size_t rows, cols, all = 0, before = 0;
    float *row = NULL;

    for (int k = t; k < t + n; k++, all += rows)
        block_stored_dims(c, k, whole, &rows, &cols);
    for (int k = t; k < t + n; k++, w++, before += rows) {
        const size_t have = vector ? w->rows * w->cols : w->rows;

        block_stored_dims(c, k, whole, &rows, &cols);
        row = xreallocarray(row, w->cols + 1, sizeof *row);
        if (vector && have > 0)
            weight_rows(w, 0, 1, row);
        for (size_t r = 0; r < have; r++) {
            if (!vector)
                weight_rows(w, r, 1, row);
            put_row(x, vector ? row + r : row, vector ? 1 : w->cols,
                block_stored_row(c, k, before, r), cols, turned, all);
        }
    }
    free(row);
}
