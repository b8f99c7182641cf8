/*
 * Panels of the factors of a product in fp32, over the vector operations that
 * the including file defines (VW floats a vector).  If that file defines
 * PACKED(vector), PACKED is applied to numbers that are read as whole vectors.
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

/* Copy `vectors` vectors of contiguous columns.  Inlined with a constant: else
 * compilers turn the loop into calls of memcpy. */
static inline __attribute__((always_inline)) void
copy_columns(float *restrict out, const float *restrict in, size_t step,
    size_t kc, int vectors)
{
    for (size_t l = 0; l < kc; l++, in += step) {
        UNROLL
        for (int v = 0; v < vectors; v++, out += VW)
            v_store(out, PACKED(v_load(in + v * VW)));
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
    } else if (n == width && n % VW == 0 && n <= 3 * VW) {
        if (n == VW)
            copy_columns(out, in, x->l_step, kc, 1);
        else if (n == 2 * VW)
            copy_columns(out, in, x->l_step, kc, 2);
        else
            copy_columns(out, in, x->l_step, kc, 3);
    } else {
        for (size_t l = 0; l < kc; l++, out += width, in += x->l_step)
            memcpy(out, in, n * sizeof *out);
    }
}
