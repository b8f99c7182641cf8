/* Tensors in another arrangement; see arranged.h. */
#include "model/files/arranged.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

int
arranged_is(const struct config *c, int t)
{
    return family_of(c)->by_head && block_stored(c, t).n > 1;
}

void *
arranged_take(const struct config *c, int t, const struct block_shape *shape,
    const struct weight *from, struct weight *w, struct err *e)
{
    size_t rows, cols, size;
    unsigned char *copy;

    if (from->dtype != DT_F32 && from->dtype != DT_F16 &&
        from->dtype != DT_BF16) {
        err_set(e, EX_INPUT, "%s is not supported for a %s",
            dtype_name(from->dtype), c->arch);
        return NULL;
    }
    block_stored_dims(c, t, shape, &rows, &cols);
    (void)dtype_bytes(from->dtype, cols, &size);
    copy = xreallocarray(NULL, rows, size);
    for (size_t r = 0; r < rows; r++)
        memcpy(copy + r * size,
            from->data + block_stored_row(c, t, 0, r) * size, size);
    block_dims(c, t, shape, &rows, &cols);
    *w = *from;
    w->data = copy;
    w->rows = rows;
    w->cols = cols;
    w->stride = size * (block_is_vector(t) ? cols : 1);
    return copy;
}

void
arranged_fill(const struct config *c, int t, const struct block_shape *whole,
    const struct weight *w, float *x)
{
    const int n = block_stored(c, t).n;
    size_t rows, cols;
    float *row = NULL;

    for (int k = t; k < t + n; k++, w++) {
        const int vector = block_is_vector(k);

        block_stored_dims(c, k, whole, &rows, &cols);
        row = xreallocarray(row, w->cols + 1, sizeof *row);
        if (vector && w->rows > 0)
            weight_rows(w, 0, 1, row);
        for (size_t r = 0; r < (vector ? w->cols : w->rows); r++) {
            if (!vector)
                weight_rows(w, r, 1, row);
            memcpy(x + block_stored_row(c, k, 0, r) * cols,
                vector ? row + r : row,
                (vector ? 1 : w->cols) * sizeof *row);
        }
    }
    free(row);
}
