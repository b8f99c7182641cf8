/* Products in 8-bit integers in plain C; see int.h. */
#include "kern/int_form.h"
#include "kern/rows_ref.h"

#include <math.h>
#include <string.h>

/* Round half h of a block. */
static void
round_half_ref(struct int_block *out, const float *x, size_t h)
{
    enum { HALF = INT_BLOCK / 2 };
    uint32_t most = 0, bits;
    float inverse;

    x += h * HALF;
    for (size_t i = 0; i < HALF; i++) {
        memcpy(&bits, &x[i], sizeof bits);
        bits &= 0x7fffffff;
        most = bits > most ? bits : most;
    }
    memcpy(&out->d[h], &most, sizeof most);
    if (!isfinite(out->d[h])) {
        out->d[h] = NAN;
        return;
    }
    out->d[h] /= 127.0f;
    inverse = out->d[h] >= 0x1p-126f ? 1.0f / out->d[h] : 0.0f;
    for (size_t i = 0; i < HALF; i++) {
        out->q[h * HALF + i] = (signed char)lrintf(x[i] * inverse);
        out->neg[h] -= out->q[h * HALF + i];
    }
}

static void
round_ref(struct int_block *out, const float *x, size_t k)
{
    for (size_t i = 0; i < k; i += INT_BLOCK, out++) {
        memset(out, 0, sizeof *out);
        round_half_ref(out, x + i, 0);
        round_half_ref(out, x + i, 1);
        out->s =
            out->d[0] * (float)-out->neg[0] + out->d[1] * (float)-out->neg[1];
    }
}

/* Number i of a row in a block, as the integer that is multiplied. */
static int
code_at(struct int_form f, const unsigned char *block, size_t row, size_t i)
{
    const size_t quad = i / 4, at = 4 * row + i % 4;
    const unsigned char *high = block + 4 * INT_QUAD + at;
    int c;

    if (f.bits == 8)
        return (signed char)block[quad * INT_QUAD + at];
    c = block[quad % 4 * INT_QUAD + at] >> (quad < 4 ? 0 : 4) & 15;
    if (f.bits == 5)
        c |= (*high >> quad & 1) << 4;
    else if (f.bits == 6)
        c |= (high[quad % 2 * INT_QUAD] >> quad / 2 * 2 & 3) << 4;
    if (f.listed)
        return quant_iq4_value[c];
    return f.zero ? c - (1 << f.zero) : c;
}

static float
half_of(const unsigned char *p, size_t row)
{
    return half_to_float(load16(p + 2 * row));
}

/* Set e [groups] to the scales of one row of block b of a piece, and *min to f
 * of int.h, 0 if there is none. */
static void
scales_at(struct int_form f, const unsigned char *piece, size_t row, size_t b,
    float *e, float *min)
{
    const unsigned char *p = piece + int_scale_at(f, b);

    if (!f.super) {
        e[0] = half_of(p, row);
        *min = f.min ? half_of(p + 2 * INT_ROWS, row) : 0.0f;
        return;
    }
    for (int g = 0; g < f.groups; g++)
        e[g] = half_of(piece, row) * (float)(signed char)p[g * INT_ROWS + row];
    *min = f.min ? half_of(piece + 2 * INT_ROWS, row) * (float)p[INT_ROWS + row]
                 : 0.0f;
}

/* Return y plus the product of a row in block b, of a piece of n blocks, with a
 * block of x. */
static float
add_block_ref(struct int_form f, const unsigned char *piece, size_t n, size_t b,
    size_t row, const struct int_block *x, float y)
{
    const unsigned char *codes =
        piece + int_scale_at(f, n) + b * int_code_bytes(f);
    const size_t half = INT_BLOCK / 2;
    float e[2], min;

    scales_at(f, piece, row, b, e, &min);
    for (size_t h = 0; h < 2; h++) {
        int sum = 0;

        for (size_t i = h * half; i < (h + 1) * half; i++)
            sum += code_at(f, codes, row, i) * x->q[i];
        y = fmaf((float)sum, e[f.groups == 2 ? h : 0] * x->d[h], y);
    }
    return f.min ? fmaf(-min, x->s, y) : y;
}

static float
multiply_rows(const struct int_matrix *w, const unsigned char *strip,
    size_t row, const struct int_block *x)
{
    const struct int_form f = int_form(w->type);
    const size_t blocks = w->cols / INT_BLOCK, n = int_piece(f);
    float y = 0.0f;

    for (size_t b = 0; b < blocks; b += n) {
        for (size_t i = 0; i < n; i++)
            y = add_block_ref(f, strip, n, i, row, x + b + i, y);
        strip += int_piece_bytes(f, n);
    }
    return y;
}

static void
multiply_ref(const struct int_matrix *w, size_t first, size_t strips,
    const struct int_block *x, size_t m, unsigned char *panel, float *y,
    size_t ldy)
{
    const size_t step = int_row_bytes(w->cols);
    const size_t end = (first + strips) * INT_ROWS;

    (void)panel;
    for (size_t r = first * INT_ROWS; r < end && r < w->rows; r++) {
        const unsigned char *strip = w->strips + r / INT_ROWS * w->strip;
        const unsigned char *p = (const unsigned char *)x;

        for (size_t i = 0; i < m; i++, p += step)
            y[i * ldy + r] =
                multiply_rows(w, strip, r % INT_ROWS, (const void *)p);
    }
}

const struct int_kern int_kern_ref = { round_ref, multiply_ref };
