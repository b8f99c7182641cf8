/* Reading weights in fp32; see weights.h. */
#include "model/files/weights.h"
#include "kern/kern.h"
#include "kern/quant.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

void
weight_widen(float *out, enum dtype t, const unsigned char *p, size_t n)
{
    switch (t) {
    case DT_F32: memcpy(out, p, n * sizeof *out); return;
    case DT_BF16: kern.widen_bf16(out, p, n); return;
    case DT_F16: kern.widen_f16(out, p, n); return;
    case DT_F8_E4M3: quant_f8_widen(out, p, n); return;
    default:
        assert(t >= DT_Q8_0 && t <= DT_MXFP4); /* checked in weight_set */
        quant_widen(QUANT_Q8_0 + (t - DT_Q8_0), out, p, n);
    }
}

/*
 * The row in which logical row r is stored.  llama.cpp's converter permutes the
 * rows of each head so that rotary pairs (j, j + D/2) become neighbours: it
 * reshapes the rows to [2, D/2] and swaps these two dimensions, so row a*D/2 +
 * b of a head is stored as row 2b + a.
 */
static size_t
stored_row(const struct weight *w, size_t r)
{
    const size_t D = w->rows / w->perm, j = r % D;

    return r - j + 2 * (j % (D / 2)) + j / (D / 2);
}

const unsigned char *
weight_row(const struct weight *w, size_t r)
{
    assert(r < w->rows && w->mask == NULL);
    if (w->part != NULL)
        return w->part[r / w->part_rows] + r % w->part_rows * w->stride;
    return w->data + (w->perm ? stored_row(w, r) : r) * w->stride;
}

struct weight
weight_slice(const struct weight *w, size_t r0, size_t n)
{
    struct weight slice = *w;

    assert(n > 0 && w->perm == 0 && w->mask == NULL && w->ints == NULL);
    assert(w->part == NULL || (r0 + n - 1) / w->part_rows == r0 / w->part_rows);
    slice.data = weight_row(w, r0);
    slice.scale_row += r0;
    slice.rows = n;
    slice.part = NULL;
    return slice;
}

static size_t
bytes_of_numbers(const struct weight *w, size_t n)
{
    size_t bytes;
    const int r = dtype_bytes(w->dtype, n, &bytes);

    assert(r == 0);
    return bytes;
}

size_t
weight_bytes(const struct weight *w)
{
    return w->rows * (w->stride + w->mask_stride);
}

/* Widen columns c0..c0+k-1 of a row of a 2:4 matrix, which is stored without
 * its zeros; c0 is a multiple of 8. */
static void
widen_two_of_four(const struct weight *w, size_t row, size_t c0, size_t k,
    float *out)
{
    enum { PART = 512 };
    const unsigned char *mask = w->mask + row * w->mask_stride + c0 / 8;
    const unsigned char *p =
        w->data + row * w->stride + bytes_of_numbers(w, c0 / 2);
    float two[PART / 2];

    for (size_t c = 0; c < k; c += PART) {
        const size_t n = k - c < PART ? k - c : PART;

        weight_widen(two, w->dtype, p + bytes_of_numbers(w, c / 2),
            (n + 3) / 4 * 2);
        kern.spread(out + c, two, mask + c / 8, n);
    }
}

/* Multiply columns c0..c0+k-1 of the stored row r by their scales. */
static void
scale_row(const struct weight *w, size_t r, size_t c0, size_t k, float *out)
{
    const struct f8_scales *s = w->scales;
    const size_t row = w->scale_row + r,
                 high = (s->part + s->rows - 1) / s->rows;
    const float *x =
        s->x + (row / s->part * high + row % s->part / s->rows) * s->across;

    for (size_t c = c0, n; c < c0 + k; c += n) {
        n = s->cols - c % s->cols;
        n = n < c0 + k - c ? n : c0 + k - c;
        kern.scale(out + c - c0, x[c / s->cols], n);
    }
}

/* Widen columns c0..c0+k-1 of rows r0..r0+n-1.  c0 must be the start of a
 * quantised block. */
static void
widen_part(const struct weight *w, size_t r0, size_t n, size_t c0, size_t k,
    float *out)
{
    const size_t skip = w->mask == NULL ? bytes_of_numbers(w, c0) : 0;

    assert(r0 <= w->rows && n <= w->rows - r0);
    for (size_t i = 0; i < n; i++, out += k) {
        if (w->mask != NULL)
            widen_two_of_four(w, w->perm ? stored_row(w, r0 + i) : r0 + i, c0,
                k, out);
        else
            weight_widen(out, w->dtype, weight_row(w, r0 + i) + skip, k);
        if (w->scales != NULL)
            scale_row(w, w->perm ? stored_row(w, r0 + i) : r0 + i, c0, k, out);
    }
}

void
weight_rows(const struct weight *w, size_t r0, size_t n, float *out)
{
    if (n == 0)
        return;
    if (!w->perm && w->mask == NULL && w->part == NULL && w->scales == NULL &&
        bytes_of_numbers(w, w->cols) == w->stride) {
        assert(r0 <= w->rows && n <= w->rows - r0);
        weight_widen(out, w->dtype, w->data + r0 * w->stride, n * w->cols);
    } else {
        widen_part(w, r0, n, 0, w->cols, out);
    }
}

const float *
weight_f32(const struct weight *w)
{
    if (w->dtype != DT_F32 || w->perm || w->mask != NULL || w->part != NULL ||
        w->stride != w->cols * 4 || (uintptr_t)w->data % sizeof(float) != 0)
        return NULL;
    return (const float *)(const void *)w->data;
}

const unsigned char *
weight_halves(const struct weight *w, size_t r0)
{
    if (kern.gemm_half == NULL || w->dtype != DT_BF16 || w->perm ||
        w->mask != NULL || w->part != NULL || w->stride % 2 != 0)
        return NULL;
    return w->data + r0 * w->stride;
}

void
weight_product(const struct weight *w, size_t r0, size_t n, size_t m,
    const float *a, float *wide, float *c, size_t ldc)
{
    enum { ROWS = WEIGHT_PIECE / GEMM_DEEP };
    const float *p = weight_f32(w);
    const unsigned char *half = weight_halves(w, r0);
    const size_t K = w->cols;

    if (p != NULL) {
        kern.gemm_nt(m, n, K, a, K, p + r0 * K, K, GEMM_SET, c, ldc);
        return;
    }
    if (half != NULL) {
        kern.gemm_half(m, n, K, a, K, half, w->stride / 2, 1, GEMM_SET, c, ldc);
        return;
    }
    for (size_t l = 0; l < K; l += GEMM_DEEP) {
        const size_t k = K - l < GEMM_DEEP ? K - l : GEMM_DEEP;

        for (size_t i = 0; i < n; i += ROWS) {
            const size_t rows = n - i < ROWS ? n - i : ROWS;

            widen_part(w, r0 + i, rows, l, k, wide);
            kern.gemm_nt(m, rows, k, a + l, K, wide, k,
                l == 0 ? GEMM_SET : GEMM_ADD, c + i, ldc);
        }
    }
}

void
weight_product_back(const struct weight *w, size_t r0, size_t k, size_t c0,
    size_t n, size_t m, const float *a, size_t lda, int add, float *wide,
    float *c, size_t ldc)
{
    const float *p = weight_f32(w);
    const unsigned char *half = weight_halves(w, r0);

    if (p != NULL) {
        kern.gemm_nn(m, n, k, a, lda, p + r0 * w->cols + c0, w->cols, add, c,
            ldc);
        return;
    }
    if (half != NULL) {
        kern.gemm_half(m, n, k, a, lda, half + 2 * c0, 1, w->stride / 2, add, c,
            ldc);
        return;
    }
    for (size_t l = 0; l < k; l += GEMM_DEEP) {
        const size_t deep = k - l < GEMM_DEEP ? k - l : GEMM_DEEP;

        for (size_t i = 0; i < n; i += WEIGHT_COLS) {
            const size_t cols = n - i < WEIGHT_COLS ? n - i : WEIGHT_COLS;

            widen_part(w, r0 + l, deep, c0 + i, cols, wide);
            kern.gemm_nn(m, cols, deep, a + l, lda, wide, cols,
                l == 0 ? add : GEMM_ADD, c + i, ldc);
        }
    }
}

int
weight_dots(const struct weight *w, size_t r0, size_t n, size_t m,
    const float *x, float *y, size_t ldy)
{
    /* The logical rows of half a head are stored in every second row. */
    const size_t step = w->perm ? 2 : 1;
    const size_t half = w->perm ? w->rows / w->perm / 2 : w->rows;
    struct kern_rows rows = { .stride = step * w->stride,
        .mask_stride = step * w->mask_stride,
        .half = w->dtype == DT_BF16 };

    if (kern.dots_bf16 != NULL && rows.half && !w->perm && w->mask == NULL &&
        w->part == NULL && n % 16 == 0 && w->cols % 32 == 0) {
        kern.dots_bf16(m, n, w->cols, x, w->data + r0 * w->stride, w->stride, y,
            ldy);
        return 0;
    }
    if ((w->dtype != DT_F32 && w->dtype != DT_BF16) || w->part != NULL ||
        kern.dots_stored == NULL)
        return -1;
    for (size_t i = 0, run; i < n; i += run) {
        const size_t row = r0 + i, at = w->perm ? stored_row(w, row) : row;

        run = half - row % half < n - i ? half - row % half : n - i;
        rows.data = w->data + at * w->stride;
        rows.mask = w->mask != NULL ? w->mask + at * w->mask_stride : NULL;
        kern.dots_stored(m, run, w->cols, x, &rows, y + i, ldy);
    }
    return 0;
}

void
weight_add_row(enum dtype t, const unsigned char *p, size_t n, size_t m,
    float *z, size_t ldz)
{
    enum { SPAN = 256 };
    float some[SPAN];
    size_t size;

    if (dtype_bytes(t, 1, &size) != 0)
        return;
    for (size_t i = 0; i < n; i += SPAN) {
        const size_t k = n - i < SPAN ? n - i : SPAN;

        weight_widen(some, t, p + i * size, k);
        for (size_t r = 0; r < m; r++)
            kern.add(z + r * ldz + i, z + r * ldz + i, some, k);
    }
}

void
weight_add_bias(const struct weight *w, size_t r0, size_t n, size_t m, float *z,
    size_t ldz)
{
    size_t before;

    if (w->bias != NULL && dtype_bytes(w->bias_dtype, r0, &before) == 0)
        weight_add_row(w->bias_dtype, w->bias + before, n, m, z, ldz);
}
