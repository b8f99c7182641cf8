/*
 * Panels of the factors of a product in fp32, over the vector operations that
 * the including file defines (VW floats a vector).  If that file defines
 * PACKED(vector), PACKED is applied to numbers that are read as whole vectors.
 * Panels consist of vectors tf of TW floats, with operations t_load and so on:
 * those of VW floats, unless that file defines shorter ones.
 */
#include "kern/gemm.h"
#include "kern/rows_ref.h"
#include "kern/unroll.h"
#if VW == 16
#include "kern/turn16.h"
#endif

#include <stddef.h>
#include <string.h>

#ifndef PACKED
#define PACKED(a) (a)
#endif
#include "kern/turn8_vec.h"

#ifndef TW
#define TW VW
#define tf vf
#define t_set1(a) v_set1(a)
#define t_load(p) v_load(p)
#define t_load_part(p, k) v_load_part(p, k, 0.0f)
#define t_store(p, a) v_store(p, a)
#define t_store_part(p, k, a) v_store_part(p, k, a)
#define t_add(a, b) v_add(a, b)
#define t_fma(a, b, c) v_fma(a, b, c)
#endif

/* Copy `vectors` vectors of contiguous columns.  Inlined with a constant: else
 * compilers turn the loop into calls of memcpy. */
static inline __attribute__((always_inline)) void
copy_columns(float *restrict out, const float *restrict in, size_t step,
    size_t kc, int vectors)
{
    for (size_t l = 0; l < kc; l++, in += step) {
        UNROLL
        for (int v = 0; v < vectors; v++, out += TW)
            t_store(out, PACKED(t_load(in + v * TW)));
    }
}

/* Transpose `by` rows of a panel over the whole depth. */
static inline void
turn(float *restrict out, size_t width, size_t by, size_t kc,
    const float *restrict in, size_t step)
{
    size_t l = 0;

    for (; l + by <= kc; l += by) {
#if VW == 16
        if (by == 16) {
            __m512 row[16];

            UNROLL
            for (int i = 0; i < 16; i++)
                row[i] = PACKED(v_load(in + (size_t)i * step + l));
            turn16(out + l * width, width, row);
            continue;
        }
#endif
        if (by == 8)
            turn8(out + l * width, width, in + l, step);
        else if (by == 4)
            turn4(out + l * width, width, in + l, step);
        else
            out[l * width] = in[l];
    }
    for (; l < kc; l++)
        for (size_t r = 0; r < by; r++)
            out[l * width + r] = in[r * step + l];
}

/* Make a panel of `width` rows of a or columns of b: out[l * width + i].  If n
 * < width, only n rows or columns exist; the panel has zeros for i >= n. */
static inline void
pack(float *restrict out, size_t width, size_t n, size_t kc,
    const struct operand *x)
{
    const float *in = x->p;

    if (n < width)
        memset(out, 0, kc * width * sizeof *out);
    if (x->i_step != 1) {
        for (size_t i = 0, by; i < n; i += by) {
            by = n - i < 4 ? 1 : n - i < 8 ? 4 : n - i < VW ? 8 : VW;
            turn(out + i, width, by, kc, in + i * x->i_step, x->i_step);
        }
    } else if (n == width && n % TW == 0 && n <= 3 * TW) {
        if (n == TW)
            copy_columns(out, in, x->l_step, kc, 1);
        else if (n == 2 * TW)
            copy_columns(out, in, x->l_step, kc, 2);
        else
            copy_columns(out, in, x->l_step, kc, 3);
    } else {
        for (size_t l = 0; l < kc; l++, out += width, in += x->l_step)
            memcpy(out, in, n * sizeof *out);
    }
}
