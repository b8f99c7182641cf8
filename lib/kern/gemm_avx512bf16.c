/* Products in bfloat16 by VDPBF16PS: registers hold the sums of 8 rows by 3
 * vectors of columns.  Few rows are multiplied by a weight where it lies, with
 * additions in the same order. */
#include "kern/gemm_bf16.h"

#if defined(__AVX512BF16__)
#include "kern/pairs_vec.h"

enum { MR = 8, NV = BF16_STRIP };

/* Compute the first MR of m rows of c, or all m if m < MR, in nv vectors of
 * columns.  The last vector has `last` columns. */
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
            y[v] = (__m512bh)_mm512_loadu_ps(b + (size_t)v * t->b_step);
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

const struct bf16_set bf16_avx512 = { KERN_BF16_AVX512, NV, 0, BF16_PAIRS,
    pack_pairs, pack_pairs, multiply_bf16 };

/* ---- few rows with a weight in bfloat16 as it lies in a file ---- */

enum { ROWS = BF16_GROUP }; /* rows of w at a time: lanes of a vector */

/* Add to s the products of a chunk of m rows of x with the same chunk of ROWS
 * rows of w. */
static inline __attribute__((always_inline)) void
dot_chunk(__m512 s[DOTS_MOST], int m, const float *x, size_t k,
    const unsigned char *w, size_t stride)
{
    _Alignas(64) float in[DOTS_MOST][BF16_GROUP];
    _Alignas(64) float pairs[BF16_PAIRS];
    __m512 row[ROWS];

    UNROLL
    for (int i = 0; i < m; i++)
        _mm512_store_ps(in[i], pairs_along(x + (size_t)i * k, BF16_CHUNK));
    UNROLL
    for (size_t i = 0; i < ROWS; i++)
        row[i] = _mm512_loadu_ps((const void *)(w + i * stride));
    turn16(pairs, BF16_GROUP, row);
    UNROLL
    for (size_t c = 0; c < BF16_GROUP; c++) {
        const __m512bh y = (__m512bh)_mm512_load_ps(pairs + c * BF16_GROUP);

        UNROLL
        for (int i = 0; i < m; i++)
            s[i] =
                _mm512_dpbf16_ps(s[i], (__m512bh)_mm512_set1_ps(in[i][c]), y);
    }
}

/* Compute m rows of y for ROWS rows of w.  Inlined with constant m. */
static inline __attribute__((always_inline)) void
dot_rows(int m, size_t k, const float *restrict x, const unsigned char *w,
    size_t stride, float *restrict y, size_t ldy)
{
    for (size_t l = 0, kc; l < k; l += kc) {
        const size_t at = l % GEMM_DEEP;
        const size_t deep = k - (l - at) < GEMM_DEEP ? k - (l - at) : GEMM_DEEP;
        __m512 s[DOTS_MOST];

        kc = bf16_block(KERN_BF16_AVX512, deep);
        kc = deep - at < kc ? deep - at : kc;
        UNROLL
        for (int i = 0; i < m; i++)
            s[i] = _mm512_setzero_ps();
        for (size_t t = l; t < l + kc; t += BF16_CHUNK) {
            /* prefetch a share of the next rows: memory is read in order */
            for (size_t i = 0; i < ROWS; i++)
                _mm_prefetch(w + ROWS * stride + (t * ROWS + 32 * i) * 2,
                    _MM_HINT_T1);
            dot_chunk(s, m, x + t, k, w + 2 * t, stride);
        }
        UNROLL
        for (int i = 0; i < m; i++) {
            float *to = y + (size_t)i * ldy;

            _mm512_storeu_ps(to,
                l > 0 ? _mm512_add_ps(_mm512_loadu_ps(to), s[i]) : s[i]);
        }
    }
}

void
dots_bf16_avx512(size_t m, size_t n, size_t k, const float *x,
    const unsigned char *w, size_t stride, float *y, size_t ldy)
{
    for (size_t j = 0; j < n; j += ROWS, w += ROWS * stride, y += ROWS)
        switch (m) {
        case 1: dot_rows(1, k, x, w, stride, y, ldy); break;
        case 2: dot_rows(2, k, x, w, stride, y, ldy); break;
        case 3: dot_rows(3, k, x, w, stride, y, ldy); break;
        default: dot_rows(4, k, x, w, stride, y, ldy);
        }
}
#endif
