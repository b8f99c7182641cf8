/*
 * Products with the bits of VDPBF16PS by fused multiply-adds of fp32, over the
 * vector operations that the including file defines: MR rows by NV vectors of
 * columns, MR * NV sums in registers.  Of two neighbours along k the odd one
 * goes first, and tiny results become zero; what is rounded to bfloat16 is
 * never denormal here.
 */
#include "kern/gemm_bf16.h"
#include "kern/panel_vec.h"

#include <string.h>

enum { NR = NV * VW };
_Static_assert(BF16_GROUP % MR == 0 && NR % BF16_GROUP == 0, "whole panels");

/* bf16_round of n floats in their place, in a form that compilers make vectors
 * of. */
static void
round_all(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t u, r;

        memcpy(&u, x + i, sizeof u);
        r = u + 0x7fff + (u >> 16 & 1);
        r = (u & 0x7fffffff) > 0x7f800000 ? u | 0x400000 : r;
        r = (u & 0x7fffffff) < 0x00800000 ? u & 0x80000000 : r;
        r &= 0xffff0000;
        memcpy(x + i, &r, sizeof r);
    }
}

static void
pack_whole(float *out, size_t n, size_t kc, const struct operand *x)
{
    const size_t words =
        (kc + BF16_CHUNK - 1) / BF16_CHUNK * (size_t)BF16_WHOLE;

    pack(out, BF16_GROUP, n, kc, x);
    round_all(out, kc * BF16_GROUP);
    memset(out + kc * BF16_GROUP, 0, (words - kc * BF16_GROUP) * sizeof *out);
}

/* The sums of MR rows and nv vectors of columns over all chunks; row i at
 * out + i * NR.  Inlined with constant nv. */
static inline __attribute__((always_inline)) void
dot(const struct bf16_strip *t, const float *restrict a, float *restrict out,
    int nv)
{
    const float *restrict b = t->b;
    const size_t next = t->chunks * BF16_WHOLE; /* panel of columns */
    vf s[MR][NV];

    UNROLL
    for (int i = 0; i < MR; i++) {
        UNROLL
        for (int v = 0; v < nv; v++)
            s[i][v] = v_set1(0.0f);
    }
    for (size_t l = 0; l < t->chunks * BF16_CHUNK; l += 2) {
        UNROLL
        for (int odd = 1; odd >= 0; odd--) {
            const float *x = a + (l + (size_t)odd) * BF16_GROUP;
            const float *y = b + (l + (size_t)odd) * BF16_GROUP;
            vf w[NV];

            UNROLL
            for (int v = 0; v < nv; v++)
                w[v] = v_load(
                    y + v * VW / BF16_GROUP * next + v * VW % BF16_GROUP);
            UNROLL
            for (int i = 0; i < MR; i++) {
                const vf z = v_set1(x[i]);

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

/* Of one, two and three panels of columns.  Not inlined: all of it is done
 * while results that are tiny become zero. */
#define SUMS(name, panels)                                                 \
    static __attribute__((noinline)) void name(const struct bf16_strip *t, \
        const float *a, float *out)                                        \
    {                                                                      \
        const int nv = panels * BF16_GROUP / VW;                           \
                                                                           \
        dot(t, a, out, nv < NV ? nv : NV);                                 \
    }
SUMS(sums1, 1)
SUMS(sums2, 2)
SUMS(sums3, 3)

/* Into c, what it has of the sums. */
static void
put(const struct bf16_strip *t, const float *sum, size_t i0)
{
    const size_t m = t->m - i0 < MR ? t->m - i0 : MR;

    for (size_t i = 0; i < m; i++, sum += NR) {
        float *to = t->c + (i0 + i) * t->ldc;

        for (size_t j = 0; j < t->n; j++)
            to[j] = t->add ? to[j] + sum[j] : sum[j];
    }
}

static void
multiply(const struct bf16_strip *t)
{
    enum { TINY_TO_ZERO = 0x8000 };
    const unsigned mode = _mm_getcsr();
    const size_t panel = t->chunks * BF16_WHOLE;
    void (*const sums)(const struct bf16_strip *t, const float *a, float *out) =
        t->n > 2 * BF16_GROUP ? sums3
        : t->n > BF16_GROUP   ? sums2
                              : sums1;
    float sum[MR * NR];

    for (size_t i = 0; i < t->m; i += MR) {
        _mm_setcsr(mode | TINY_TO_ZERO);
        sums(t, t->a + i / BF16_GROUP * panel + i % BF16_GROUP, sum);
        _mm_setcsr(mode);
        put(t, sum, i);
    }
}

const struct bf16_set SET = { KERN_BF16_AVX512, NR / BF16_GROUP, BF16_WHOLE,
    pack_whole, pack_whole, multiply };
