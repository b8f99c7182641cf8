/*
 * Products in 8-bit integers, over the vectors that the including file defines:
 * VW floats (*_vec.h), and integers, vi: i_load, i_store, i_and, i_or, i_left,
 * i_right (shifts of 16-bit lanes), i_set8, i_set32, i_shift32 (left), i_list
 * (codes to values of quant_iq4_value), i_float, i_max32, i_add32, i_bits (of
 * floats), i_nearest (integers), i_most and i_total (of all lanes), i_narrow,
 * i_bytes (16 or 8 signed bytes to floats), i_code (stored codes of 8 bits to
 * those that are multiplied), sum_quads.  The including file also defines
 * INT_TILE and CODE_ZERO (zero_of).  A file that defines OWN_BLOCKS has its own
 * load_codes, add_half, panel_code and panel_block, and leaves out the
 * operations that only those below use.
 *
 * A strip is computed VW rows at a time.  One row of x is multiplied by codes
 * in registers; for more rows, a strip is first unpacked to a panel, which
 * stays in the first or second level cache: for each block the codes, a byte
 * each, e of each row as floats for each group, then f.
 */
#include "kern/int_form.h"

#include <math.h>

#define INLINE static inline __attribute__((always_inline))

/* Round half h of a block. */
static inline void
round_half(struct int_block *out, const float *x, int h)
{
    enum { HALF = INT_BLOCK / 2 };
    const vi size = i_set32(0x7fffffff);
    vi most = i_set32(0), sum = most;
    int32_t bits;
    float d, inverse;

    x += h * HALF;
    UNROLL
    for (int i = 0; i < HALF; i += VW)
        most = i_max32(most, i_and(i_bits(v_load(x + i)), size));
    bits = i_most(most);
    memcpy(&d, &bits, sizeof d);
    if (!isfinite(d)) {
        memset(out->q + h * HALF, 0, HALF);
        out->d[h] = NAN;
        out->neg[h] = 0;
        return;
    }
    d /= 127.0f;
    inverse = d >= 0x1p-126f ? 1.0f / d : 0.0f;
    UNROLL
    for (int i = 0; i < HALF; i += VW) {
        const vi q = i_nearest(v_mul(v_load(x + i), v_set1(inverse)));

        i_narrow(out->q + h * HALF + i, q);
        sum = i_add32(sum, q);
    }
    out->d[h] = d;
    out->neg[h] = -i_total(sum);
}

static void
round_int(struct int_block *out, const float *x, size_t k)
{
    for (size_t i = 0; i < k; i += INT_BLOCK, out++) {
        round_half(out, x + i, 0);
        round_half(out, x + i, 1);
        out->s =
            out->d[0] * (float)-out->neg[0] + out->d[1] * (float)-out->neg[1];
    }
}

/* ---- products ---- */

/* A block of VW rows of w. */
struct int_part {
    vi q[INT_QUADS];
    vf e[2], f;
};

/* Returns z > 0: codes in a product are larger by 2^z than c_l of int.h; 0: the
 * codes are c_l. */
INLINE int
zero_of(struct int_form f)
{
    return f.range == 8 ? CODE_ZERO : f.zero;
}

#ifndef OWN_BLOCKS
INLINE void
load_codes(struct int_form f, const unsigned char *p, vi q[INT_QUADS])
{
    const unsigned char *high = p + 4 * INT_QUAD;

    UNROLL
    for (int i = 0; i < INT_QUADS; i++) {
        if (f.bits == 8) {
            q[i] = i_load(p + i * INT_QUAD);
            continue;
        }
        q[i] = i_load(p + i % 4 * INT_QUAD);
        q[i] = i_and(i < 4 ? q[i] : i_right(q[i], 4), i_set8(15));
    }
    UNROLL
    for (int i = 0; i < INT_QUADS; i++) {
        if (f.bits == 5) {
            const vi h = i_load(high);

            q[i] = i_or(q[i],
                i_and(i < 4 ? i_left(h, 4 - i) : i_right(h, i - 4),
                    i_set8(16)));
        } else if (f.bits == 6) {
            const vi h = i_load(high + i % 2 * INT_QUAD);
            const int s = i / 2 * 2;

            q[i] = i_or(q[i],
                i_and(s <= 4 ? i_left(h, 4 - s) : i_right(h, s - 4),
                    i_set8(48)));
        } else if (f.listed) {
            q[i] = i_list(q[i]);
        } else if (f.bits == 8) {
            q[i] = i_code(q[i]);
        }
    }
}

/* Return y plus the product of half h of a block of x with that half of a block
 * of VW rows of w.  q: the codes of w, larger by 2^zero if zero > 0; e: the
 * scales of its rows. */
INLINE vf
add_half(struct int_form f, int zero, const vi *q, vf e,
    const struct int_block *x, int h, vf y)
{
    enum { N = INT_QUADS / 2 };
    vi sum = i_set32(0);

    if (zero)
        sum = i_shift32(i_set32(x->neg[h]), zero);
    sum = sum_quads(f.range, q, N, x->q + 4 * h * N, sum);
    return v_fma(i_float(sum), v_mul(e, v_set1(x->d[h])), y);
}

/* The codes q of a block as a panel has them. */
#define panel_code(f, q) (q)
#endif

/* Load VW rows, from `row` on, of block b of a piece of n. */
INLINE void
load_part(struct int_form f, const unsigned char *piece, size_t n, size_t b,
    size_t row, struct int_part *w)
{
    const unsigned char *p = piece + int_scale_at(f, b);

    load_codes(f, piece + int_scale_at(f, n) + b * int_code_bytes(f) + 4 * row,
        w->q);
    if (!f.super) {
        w->e[0] = v_from_f16(p + 2 * row);
        if (f.min)
            w->f = v_from_f16(p + 2 * (INT_ROWS + row));
        return;
    }
    for (int g = 0; g < f.groups; g++)
        w->e[g] = v_mul(v_from_f16(piece + 2 * row),
            i_bytes(p + (size_t)g * INT_ROWS + row));
    if (f.min)
        w->f = v_mul(v_from_f16(piece + 2 * (INT_ROWS + row)),
            i_bytes(p + INT_ROWS + row));
}

/* Return y plus the product of a block of VW rows of w with a block of a row of
 * x. */
INLINE vf
add_block(struct int_form f, const struct int_part *w,
    const struct int_block *x, vf y)
{
    enum { N = INT_QUADS / 2 };
    const int zero = zero_of(f);

    UNROLL
    for (int h = 0; h < 2; h++)
        y = add_half(f, zero, w->q + h * N, w->e[f.groups == 2 ? h : 0], x, h,
            y);
    return f.min ? v_fnma(w->f, v_set1(x->s), y) : y;
}

/* Store v, the elements of y for the VW rows from `row` on of a matrix of n
 * rows. */
INLINE void
store_rows(float *y, size_t row, size_t n, vf v)
{
    if (row + VW <= n)
        v_store(y + row, v);
    else if (row < n)
        v_store_part(y + row, n - row, v);
}

/* Multiply one row of x by a strip. */
INLINE void
one_row(struct int_form f, const unsigned char *piece, size_t k,
    const struct int_block *x, float *y, size_t at, size_t rows)
{
    const size_t blocks = k / INT_BLOCK, n = int_piece(f);
    vf sum[INT_ROWS / VW];

    UNROLL
    for (int v = 0; v < INT_ROWS / VW; v++)
        sum[v] = v_set1(0.0f);
    for (size_t b = 0; b < blocks; b += n) {
        for (size_t i = 0; i < n; i++) {
            UNROLL
            for (int v = 0; v < INT_ROWS / VW; v++) {
                struct int_part w;

                load_part(f, piece, n, i, (size_t)v * VW, &w);
                sum[v] = add_block(f, &w, x + b + i, sum[v]);
            }
        }
        piece += int_piece_bytes(f, n);
    }
    UNROLL
    for (int v = 0; v < INT_ROWS / VW; v++)
        store_rows(y, at + (size_t)v * VW, rows, sum[v]);
}

/* ---- panels ---- */

/* Store VW rows, from `row` on, of a block in a panel. */
INLINE void
put_part(struct int_form f, const struct int_part *w, size_t row,
    unsigned char *panel)
{
    float *e = (float *)(void *)(panel + INT_QUADS * INT_QUAD);

    UNROLL
    for (int i = 0; i < INT_QUADS; i++)
        i_store(panel + i * INT_QUAD + 4 * row, panel_code(f, w->q[i]));
    for (int g = 0; g < f.groups; g++)
        v_store(e + (size_t)g * INT_ROWS + row, w->e[g]);
    if (f.min)
        v_store(e + INT_ROWS + row, w->f);
}

INLINE void
fill_panel(struct int_form f, const unsigned char *piece, size_t k,
    unsigned char *panel)
{
    const size_t blocks = k / INT_BLOCK, n = int_piece(f);

    for (size_t b = 0; b < blocks; b += n) {
        for (size_t i = 0; i < n; i++, panel += INT_PANEL_BLOCK) {
            for (size_t row = 0; row < INT_ROWS; row += VW) {
                struct int_part w;

                load_part(f, piece, n, i, row, &w);
                put_part(f, &w, row, panel);
            }
        }
        piece += int_piece_bytes(f, n);
    }
}

#ifndef OWN_BLOCKS
/* Add to sum [m] the products of VW rows, from `row` on, of a block of a panel
 * with the blocks of m rows of x, `step` bytes apart. */
INLINE void
panel_block(struct int_form f, const unsigned char *p, size_t row,
    const unsigned char *x, size_t step, int m, vf *sum)
{
    const float *e = (const float *)(const void *)(p + INT_QUADS * INT_QUAD);
    struct int_part w;

    UNROLL
    for (int i = 0; i < INT_QUADS; i++)
        w.q[i] = i_load(p + i * INT_QUAD + 4 * row);
    w.e[0] = v_load(e + row);
    if (f.groups == 2)
        w.e[1] = v_load(e + INT_ROWS + row);
    if (f.min)
        w.f = v_load(e + INT_ROWS + row);
    UNROLL
    for (int i = 0; i < m; i++)
        sum[i] = add_block(f, &w, (const void *)(x + (size_t)i * step), sum[i]);
}
#endif

/* Multiply m rows of x by a panel.  Inlined with constant m. */
INLINE void
panel_rows(struct int_form f, const unsigned char *panel, size_t k,
    const unsigned char *x, int m, float *y, size_t ldy, size_t at, size_t n)
{
    const size_t blocks = k / INT_BLOCK, step = int_row_bytes(k);

    for (size_t row = 0; row < INT_ROWS; row += VW) {
        const unsigned char *p = panel;
        vf sum[INT_TILE];

        UNROLL
        for (int i = 0; i < m; i++)
            sum[i] = v_set1(0.0f);
        for (size_t b = 0; b < blocks; b++, p += INT_PANEL_BLOCK)
            panel_block(f, p, row, x + b * sizeof(struct int_block), step, m,
                sum);
        for (int i = 0; i < m; i++)
            store_rows(y + (size_t)i * ldy, at + row, n, sum[i]);
    }
}

/* Multiply m rows of x by a panel.  Inlined with constant f, the form of the
 * panel's codes. */
INLINE void
panel_product(struct int_form f, const unsigned char *panel, size_t k,
    const struct int_block *x, size_t m, float *y, size_t ldy, size_t at,
    size_t n)
{
    const unsigned char *p = (const unsigned char *)x;
    const size_t step = int_row_bytes(k);

    for (; m >= INT_TILE; m -= INT_TILE) {
        panel_rows(f, panel, k, p, INT_TILE, y, ldy, at, n);
        p += INT_TILE * step;
        y += INT_TILE * ldy;
    }
#if INT_TILE > 4
    for (; m >= 4; m -= 4, p += 4 * step, y += 4 * ldy)
        panel_rows(f, panel, k, p, 4, y, ldy, at, n);
#endif
    for (; m >= 2; m -= 2, p += 2 * step, y += 2 * ldy)
        panel_rows(f, panel, k, p, 2, y, ldy, at, n);
    if (m > 0)
        panel_rows(f, panel, k, p, 1, y, ldy, at, n);
}

/* Types that differ only in how codes are stored share a function. */
#define PANEL(name, range, zero, min, groups)                                 \
    static void panel_##name(const unsigned char *panel, size_t k,            \
        const struct int_block *x, size_t m, float *y, size_t ldy, size_t at, \
        size_t n)                                                             \
    {                                                                         \
        panel_product((struct int_form){ 8, 0, range, zero, 0, min, groups }, \
            panel, k, x, m, y, ldy, at, n);                                   \
    }
PANEL(q4_0, 4, 3, 0, 1)
PANEL(q4_1, 4, 0, 1, 1)
PANEL(q5_0, 5, 4, 0, 1)
PANEL(q5_1, 5, 0, 1, 1)
PANEL(q6_k, 6, 5, 0, 2)
PANEL(q8_0, 8, 0, 0, 1)
#define panel_q4_k panel_q4_1
#define panel_q5_k panel_q5_1
#define panel_iq4_nl panel_q8_0
#define panel_iq4_xs panel_q8_0

/* ---- types ---- */

#define MULTIPLY(name, type)                                                  \
    static void multiply_##name(const struct int_matrix *w, size_t first,     \
        size_t strips, const struct int_block *x, size_t m,                   \
        unsigned char *panel, float *y, size_t ldy)                           \
    {                                                                         \
        const struct int_form f = int_form(type);                             \
                                                                              \
        for (size_t s = first; s < first + strips; s++) {                     \
            const unsigned char *strip = w->strips + s * w->strip;            \
                                                                              \
            if (m == 1) {                                                     \
                one_row(f, strip, w->cols, x, y, s *INT_ROWS, w->rows);       \
                continue;                                                     \
            }                                                                 \
            fill_panel(f, strip, w->cols, panel);                             \
            panel_##name(panel, w->cols, x, m, y, ldy, s *INT_ROWS, w->rows); \
        }                                                                     \
    }
MULTIPLY(q8_0, QUANT_Q8_0)
MULTIPLY(q4_0, QUANT_Q4_0)
MULTIPLY(q4_1, QUANT_Q4_1)
MULTIPLY(q5_0, QUANT_Q5_0)
MULTIPLY(q5_1, QUANT_Q5_1)
MULTIPLY(q4_k, QUANT_Q4_K)
MULTIPLY(q5_k, QUANT_Q5_K)
MULTIPLY(q6_k, QUANT_Q6_K)
MULTIPLY(iq4_nl, QUANT_IQ4_NL)
MULTIPLY(iq4_xs, QUANT_IQ4_XS)

static void
multiply_int(const struct int_matrix *w, size_t first, size_t strips,
    const struct int_block *x, size_t m, unsigned char *panel, float *y,
    size_t ldy)
{
    static void (*const fn[QUANT_N])(const struct int_matrix *, size_t, size_t,
        const struct int_block *, size_t, unsigned char *, float *,
        size_t) = { [QUANT_Q8_0] = multiply_q8_0,
        [QUANT_Q4_0] = multiply_q4_0,
        [QUANT_Q4_1] = multiply_q4_1,
        [QUANT_Q5_0] = multiply_q5_0,
        [QUANT_Q5_1] = multiply_q5_1,
        [QUANT_Q4_K] = multiply_q4_k,
        [QUANT_Q5_K] = multiply_q5_k,
        [QUANT_Q6_K] = multiply_q6_k,
        [QUANT_IQ4_NL] = multiply_iq4_nl,
        [QUANT_IQ4_XS] = multiply_iq4_xs };

    assert(fn[w->type] != NULL);
    fn[w->type](w, first, strips, x, m, panel, y, ldy);
}
