/*
 * Panels of a product in bfloat16, rounded from fp32 by instructions of
 * AVX512-BF16, for the files that use these.  Past the last row or column, and
 * past kc, panels have zeros.
 */
#include "kern/gemm_bf16.h"
#include "kern/turn16.h"

#include <immintrin.h>

/* Round 32 floats at p to pairs of neighbours along k.  If n < 32, only n of
 * them exist; zeros take the place of the others. */
static inline __m512
pairs_along(const float *p, size_t n)
{
    const __mmask32 some = n < 32 ? (1u << n) - 1 : 0xffffffffu;
    const __m512 lo = _mm512_maskz_loadu_ps((__mmask16)some, p);
    const __m512 hi = n > 16
        ? _mm512_maskz_loadu_ps((__mmask16)(some >> 16), p + 16)
        : _mm512_setzero_ps();

    return (__m512)_mm512_cvtne2ps_pbh(hi, lo);
}

/* Round the numbers of 16 rows or columns at two neighbouring depths to pairs.
 * even, odd: the numbers at the even and at the odd depth; odd NULL: zeros.
 * Only n of the 16 exist. */
static inline __m512
pairs_across(const float *even, const float *odd, size_t n)
{
    const __mmask16 some = (__mmask16)((1u << n) - 1);
    const __m512 lo = _mm512_maskz_loadu_ps(some, even);
    const __m512 hi =
        odd != NULL ? _mm512_maskz_loadu_ps(some, odd) : _mm512_setzero_ps();
    /* lanes 0, 16, 1, 17, ... */
    const __m512i mix =
        _mm512_add_epi32(_mm512_mullo_epi32(_mm512_set1_epi32(0x10001),
                             _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7,
                                 6, 5, 4, 3, 2, 1, 0)),
            _mm512_set1_epi32(0x100000));

    return (__m512)_mm512_permutexvar_epi16(mix,
        (__m512i)_mm512_cvtne2ps_pbh(hi, lo));
}

/* Load 32 bfloat16 numbers from p on, neighbours along k.  If n < 32, only n of
 * them exist; zeros take the place of the others. */
static inline __m512
halves_along(const void *p, size_t n)
{
    return (
        __m512)_mm512_maskz_loadu_epi16(n < 32 ? (1u << n) - 1 : 0xffffffffu,
        p);
}
/* Join bfloat16 numbers at two neighbouring depths to pairs, for 16 rows or
 * columns of which n exist.  odd NULL: the second numbers are zeros. */
static inline __m512
halves_across(const void *even, const void *odd, size_t n)
{
    const __mmask16 some = (__mmask16)((1u << n) - 1);
    const __m512i lo =
        _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(some, even));
    const __m512i hi = odd != NULL
        ? _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(some, odd))
        : _mm512_setzero_si512();

    return (__m512)_mm512_or_si512(lo, _mm512_slli_epi32(hi, 16));
}

/* Load a chunk (32 along k) of 16 rows, rounded to pairs: row i goes to
 * r[i]. */
static inline __attribute__((always_inline)) void
rows_along(__m512 r[BF16_GROUP], const struct operand *x, size_t l, size_t n,
    size_t kc)
{
    UNROLL
    for (size_t i = 0; i < BF16_GROUP; i++) {
        const float *p = operand_from(x, i, l).p;

        r[i] = i >= n ? _mm512_setzero_ps()
            : x->half ? halves_along(p, kc - l)
                      : pairs_along(p, kc - l);
    }
}

/* Load a chunk of rows that are contiguous across k, rounded to pairs: pair i
 * of all rows goes to r[i]. */
static inline __attribute__((always_inline)) void
rows_across(__m512 r[BF16_GROUP], const struct operand *x, size_t l, size_t n,
    size_t kc)
{
    UNROLL
    for (size_t i = 0; i < BF16_GROUP; i++) {
        const float *even = operand_from(x, 0, l + 2 * i).p;
        const float *odd =
            l + 2 * i + 1 < kc ? operand_from(x, 0, l + 2 * i + 1).p : NULL;

        r[i] = l + 2 * i >= kc ? _mm512_setzero_ps()
            : x->half          ? halves_across(even, odd, n)
                               : pairs_across(even, odd, n);
    }
}

/* Pack the chunk at depth l of a panel of n rows.  Its words are [row][pair] if
 * by_row, else [pair][row]; in a panel of b, rows are columns.  along: x has
 * l_step 1. */
static inline __attribute__((always_inline)) void
pack_chunk(float *out, size_t n, size_t l, size_t kc, const struct operand *x,
    int along, int by_row)
{
    __m512 r[BF16_GROUP];

    if (along)
        rows_along(r, x, l, n, kc);
    else
        rows_across(r, x, l, n, kc);
    if (along == by_row) {
        UNROLL
        for (size_t i = 0; i < BF16_GROUP; i++)
            _mm512_storeu_ps(out + BF16_GROUP * i, r[i]);
    } else {
        turn16(out, BF16_GROUP, r);
    }
}

/* Pack all panels of n rows, in the order in which memory is read: panel by
 * panel if rows are contiguous along k, else chunk by chunk. */
static inline __attribute__((always_inline)) void
pack_panels(float *out, size_t n, size_t kc, const struct operand *x,
    int by_row)
{
    const size_t panel = (kc + BF16_CHUNK - 1) / BF16_CHUNK * BF16_PAIRS;
    const int along = x->l_step == 1;
    struct operand y = *x;

    for (size_t i = 0, some; along && i < n; i += some, out += panel) {
        some = n - i < BF16_GROUP ? n - i : BF16_GROUP;
        y = operand_from(x, i, 0);
        for (size_t l = 0; l < kc; l += BF16_CHUNK)
            pack_chunk(out + l / BF16_CHUNK * BF16_PAIRS, some, l, kc, &y, 1,
                by_row);
    }
    for (size_t l = 0; !along && l < kc; l += BF16_CHUNK, out += BF16_PAIRS)
        for (size_t i = 0; i < n; i += BF16_GROUP) {
            y = operand_from(x, i, 0);
            pack_chunk(out + i / BF16_GROUP * panel,
                n - i < BF16_GROUP ? n - i : BF16_GROUP, l, kc, &y, 0, by_row);
        }
}

static void
pack_pairs(float *out, size_t n, size_t kc, const struct operand *x)
{
    pack_panels(out, n, kc, x, 0);
}
