/* Products in bfloat16 by VDPBF16PS: registers hold the sums of 8 rows by 3
 * vectors of columns. */
#include "kern/gemm_bf16.h"

#if defined(__AVX512BF16__)
#include "kern/pairs_vec.h"

enum { MR = 8, NV = BF16_STRIP };

/* c: m <= MR rows, nv vectors of columns, `last` columns in the last vector. */
static inline __attribute__((always_inline)) void
tile_bf16(const struct bf16_strip *t, const float *restrict a,
    float *restrict c, size_t m, size_t last, int nv)
{
    const size_t pairs = t->chunks * (BF16_CHUNK / 2);
    const float *restrict b = t->b;
    __m512 s[MR][NV];

    UNROLL
    for (int i = 0; i < MR; i++) {
        UNROLL
        for (int v = 0; v < nv; v++) {
            s[i][v] = _mm512_setzero_ps();
            __builtin_prefetch(c + (size_t)i * t->ldc + v * 16, 1);
        }
    }
    for (size_t l = 0; l < pairs; l++, a += BF16_GROUP, b += BF16_GROUP) {
        __m512bh y[NV];

        UNROLL
        for (int v = 0; v < nv; v++)
            y[v] =
                (__m512bh)_mm512_loadu_ps(b + (size_t)v * pairs * BF16_GROUP);
        UNROLL
        for (int i = 0; i < MR; i++) {
            const __m512bh x = (__m512bh)_mm512_set1_ps(a[i]);

            UNROLL
            for (int v = 0; v < nv; v++)
                s[i][v] = _mm512_dpbf16_ps(s[i][v], x, y[v]);
        }
    }
    UNROLL
    for (int i = 0; i < MR; i++) {
        float *to = c + (size_t)i * t->ldc;

        if ((size_t)i >= m)
            return;
        UNROLL
        for (int v = 0; v < nv; v++, to += 16) {
            const __mmask16 some =
                v < nv - 1 ? 0xffff : (__mmask16)((1u << last) - 1);

            if (t->add)
                s[i][v] =
                    _mm512_add_ps(_mm512_maskz_loadu_ps(some, to), s[i][v]);
            _mm512_mask_storeu_ps(to, some, s[i][v]);
        }
    }
}

#define STRIP(name, nv)                                                    \
    static __attribute__((noinline)) void name(const struct bf16_strip *t) \
    {                                                                      \
        const size_t panel = t->chunks * (BF16_CHUNK / 2 * BF16_GROUP);    \
                                                                           \
        for (size_t i = 0; i < t->m; i += MR)                              \
            tile_bf16(t, t->a + i / BF16_GROUP * panel + i % BF16_GROUP,   \
                t->c + i * t->ldc, t->m - i, t->n - (nv - 1) * 16, nv);    \
    }
STRIP(strip1, 1)
STRIP(strip2, 2)
STRIP(strip3, 3)

static void
multiply_bf16(const struct bf16_strip *t)
{
    if (t->n > 32)
        strip3(t);
    else if (t->n > 16)
        strip2(t);
    else
        strip1(t);
}

const struct bf16_set bf16_avx512 = { KERN_BF16_AVX512, NV, BF16_PAIRS,
    pack_pairs, pack_pairs, multiply_bf16 };
#endif
