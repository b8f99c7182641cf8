/* Products with the bits of VDPBF16PS by fused multiply-adds of fp32, with the
 * vector operations that the including file defines.  Registers hold the sums
 * of MR rows by NV vectors of columns.  Of two neighbours along k the odd one
 * is multiplied first, and denormal results become zero.  Factors are never
 * denormal, as rounding to bfloat16 makes denormal numbers zero. */
#define PACKED(a) v_bf16(a)

#include "kern/gemm_bf16.h"
#include "kern/panel_vec.h"

#include <string.h>

enum { NR = NV * VW };
_Static_assert(BF16_GROUP % MR == 0 && NR % BF16_GROUP == 0, "whole panels");

/* Make a panel: the elements of depth l of its rows or columns lie from l *
 * BF16_GROUP on. */
static void
pack_one(float *out, size_t n, size_t kc, const struct operand *x)
{
    const size_t end = (kc + BF16_CHUNK - 1) / BF16_CHUNK * (size_t)BF16_WHOLE;
    /* pack has rounded only the whole vectors of whole panels */
    size_t i = n < BF16_GROUP ? 0 : kc / VW * VW * BF16_GROUP;

    pack(out, BF16_GROUP, n, kc, x);
    for (; i < kc * BF16_GROUP; i += VW)
        v_store(out + i, v_bf16(v_load(out + i)));
    memset(out + i, 0, (end - i) * sizeof *out);
}

/* Make `panels` whole panels at once, of rows or columns that are contiguous
 * across k.  Then memory is read in longer stretches.  Inlined with constant
 * panels. */
static inline __attribute__((always_inline)) void
pack_some(float *restrict out, size_t kc, const struct operand *x, int panels)
{
    const size_t next = (kc + BF16_CHUNK - 1) / BF16_CHUNK * (size_t)BF16_WHOLE;
    const float *in = x->p;

    for (size_t l = 0; l < kc; l++, in += x->l_step) {
        UNROLL
        for (int v = 0; v < panels * BF16_GROUP / VW; v++)
            v_store(out + l * BF16_GROUP + v * VW / BF16_GROUP * next +
                    v * VW % BF16_GROUP,
                v_bf16(v_load(in + v * VW)));
    }
    for (size_t v = 0; v < (size_t)panels; v++)
        memset(out + v * next + kc * BF16_GROUP, 0,
            (next - kc * BF16_GROUP) * sizeof *out);
}

/* Make all panels of n rows or columns, one after another. */
static void
pack_each(float *out, size_t n, size_t kc, const struct operand *x)
{
    struct operand y = *x;

    for (size_t i = 0; i < n; i += BF16_GROUP) {
        pack_one(out, n - i < BF16_GROUP ? n - i : BF16_GROUP, kc, &y);
        y.p += BF16_GROUP * y.i_step;
        out += (kc + BF16_CHUNK - 1) / BF16_CHUNK * (size_t)BF16_WHOLE;
    }
}

static void
pack_across(float *out, size_t n, size_t kc, const struct operand *x)
{
    const size_t next = (kc + BF16_CHUNK - 1) / BF16_CHUNK * (size_t)BF16_WHOLE;
    struct operand y = *x;
    size_t panels = 0;

    if (x->i_step == 1) {
        for (; (n / BF16_GROUP - panels) / 3 > 0;
             panels += 3, y.p += 3 * BF16_GROUP)
            pack_some(out + panels * next, kc, &y, 3);
        for (; n / BF16_GROUP > panels; panels++, y.p += BF16_GROUP)
            pack_some(out + panels * next, kc, &y, 1);
    }
    pack_each(out + panels * next, n - panels * BF16_GROUP, kc, &y);
}

/* Copy rows; rows that are contiguous along k are not transposed.  Rows past n
 * may have any content. */
static void
pack_rows(float *out, size_t n, size_t kc, const struct operand *x)
{
    const size_t len = (kc + BF16_CHUNK - 1) / BF16_CHUNK * BF16_CHUNK;

    if (x->l_step != 1) {
        pack_across(out, n, kc, x);
        return;
    }
    for (size_t i = 0; i < n; i++, out += len) {
        const float *in = x->p + i * x->i_step;
        size_t l = 0;

        for (; l + VW <= kc; l += VW)
            v_store(out + l, v_bf16(v_load(in + l)));
        for (; l < len; l += VW)
            v_store(out + l,
                v_bf16(
                    l < kc ? v_load_part(in + l, kc - l, 0.0f) : v_set1(0.0f)));
    }
}

/* Compute the sums of MR rows and nv vectors of columns over all chunks.
 * Element l of row i of a is at i * ai + l * al; sums of row i go to out + i *
 * NR; c is only prefetched.  Inlined with constant nv, and constant ai or
 * al. */
static inline __attribute__((always_inline)) void
dot(const struct bf16_strip *t, const float *restrict a, size_t ai, size_t al,
    const float *c, float *restrict out, int nv)
{
    const float *restrict b = t->b;
    vf s[MR][NV];

    UNROLL
    for (int i = 0; i < MR; i++) {
        UNROLL
        for (int v = 0; v < nv; v++) {
            s[i][v] = v_set1(0.0f);
            if (v % (64 / (VW * 4)) == 0)
                __builtin_prefetch(c + (size_t)i * t->ldc + v * VW, 1);
        }
    }
    for (size_t l = 0; l < t->chunks * BF16_CHUNK; l += 2) {
        UNROLL
        for (int odd = 1; odd >= 0; odd--) {
            const float *x = a + (l + (size_t)odd) * al;
            const float *y = b + (l + (size_t)odd) * BF16_GROUP;
            vf w[NV];

            UNROLL
            for (int v = 0; v < nv; v++)
                w[v] = v_load(
                    y + v * VW / BF16_GROUP * t->b_step + v * VW % BF16_GROUP);
            UNROLL
            for (int i = 0; i < MR; i++) {
                const vf z = v_set1(x[(size_t)i * ai]);

                UNROLL
                for (int v = 0; v < nv; v++)
                    s[i][v] = v_fma(z, w[v], s[i][v]);
            }
        }
    }
    UNROLL
    for (int i = 0; i < MR; i++) {
        UNROLL
        for (int v = 0; v < nv; v++)
            v_store(out + i * NR + v * VW, s[i][v]);
    }
}

/* dot for one, two and three panels of columns.  Not inlined, so that the whole
 * call runs in the mode in which denormal results become zero. */
#define SUMS(name, panels, ai, al)                                         \
    static __attribute__((noinline)) void name(const struct bf16_strip *t, \
        const float *a, const float *c, float *out)                        \
    {                                                                      \
        const int nv = panels * BF16_GROUP / VW;                           \
                                                                           \
        dot(t, a, ai, al, c, out, nv < NV ? nv : NV);                      \
    }
SUMS(across1, 1, 1, BF16_GROUP)
SUMS(across2, 2, 1, BF16_GROUP)
SUMS(across3, 3, 1, BF16_GROUP)
SUMS(along1, 1, t->chunks *BF16_CHUNK, 1)
SUMS(along2, 2, t->chunks *BF16_CHUNK, 1)
SUMS(along3, 3, t->chunks *BF16_CHUNK, 1)

static void (*const sums[2][3])(const struct bf16_strip *t, const float *a,
    const float *c,
    float *out) = { { across1, across2, across3 }, { along1, along2, along3 } };

/* Set n rows of c from i0 on to the sums, or add the sums to them. */
static void
put(const struct bf16_strip *t, const float *sum, size_t i0, size_t n)
{
    for (size_t i = 0; i < n; i++, sum += NR) {
        float *to = t->c + (i0 + i) * t->ldc;
        size_t j = 0;

        for (; j + VW <= t->n; j += VW)
            v_store(to + j,
                t->add ? v_add(v_load(to + j), v_load(sum + j))
                       : v_load(sum + j));
        for (; j < t->n; j++)
            to[j] = t->add ? to[j] + sum[j] : sum[j];
    }
}

static void
multiply(const struct bf16_strip *t)
{
    enum { ROWS = 32 }; /* the mode is set once for these, as that takes time */
    const size_t panel = t->chunks * BF16_WHOLE;
    const size_t row = t->along ? t->chunks * BF16_CHUNK : 1;
    _Alignas(64) float sum[ROWS * NR];

    for (size_t i = 0, n; i < t->m; i += n) {
        const unsigned mode = v_tiny_to_zero();

        n = t->m - i < ROWS ? t->m - i : ROWS;
        for (size_t k = i; k < i + n; k += MR)
            sums[t->along][(t->n - 1) / BF16_GROUP](t,
                t->a + k / BF16_GROUP * panel + k % BF16_GROUP * row,
                t->c + k * t->ldc, sum + (k - i) * NR);
        v_set_mode(mode);
        put(t, sum, i, n);
    }
}

const struct bf16_set SET = { KERN_BF16_AVX512, NR / BF16_GROUP, 0, BF16_WHOLE,
    pack_rows, pack_across, multiply };
