/* Vectors of AVX-512 (F, BW, DQ, VL), for the templates *_vec.h. */
#include "kern/x86_vec.h"

#include <immintrin.h>
#include <stdint.h>

#define VW 16
#define vf __m512
#define vd __m512d
#define v_set1(a) _mm512_set1_ps(a)
#define v_load(p) _mm512_loadu_ps(p)
#define v_store(p, a) _mm512_storeu_ps(p, a)
#define v_add(a, b) _mm512_add_ps(a, b)
#define v_sub(a, b) _mm512_sub_ps(a, b)
#define v_mul(a, b) _mm512_mul_ps(a, b)
#define v_div(a, b) _mm512_div_ps(a, b)
#define v_max(a, b) _mm512_max_ps(a, b)
#define v_min(a, b) _mm512_min_ps(a, b)
#define v_fma(a, b, c) _mm512_fmadd_ps(a, b, c)
#define v_fnma(a, b, c) _mm512_fnmadd_ps(a, b, c)
/* a where x > 0, else b */
#define v_where(x, a, b)                                            \
    _mm512_mask_blend_ps(_mm512_cmp_ps_mask(x, _mm512_setzero_ps(), \
                             _CMP_GT_OQ),                           \
        b, a)
#define d_store(p, a) _mm512_storeu_pd(p, a)
#define d_load(p) _mm512_loadu_pd(p)
#define d_widen(p) _mm512_cvtps_pd(_mm256_loadu_ps(p)) /* floats */
#define d_set1(a) _mm512_set1_pd(a)
#define d_zero() _mm512_setzero_pd()
#define d_add(a, b) _mm512_add_pd(a, b)
#define d_sub(a, b) _mm512_sub_pd(a, b)
#define d_fma(a, b, c) _mm512_fmadd_pd(a, b, c)
#define d_lo(a) _mm512_cvtps_pd(_mm512_castps512_ps256(a))
#define d_hi(a) _mm512_cvtps_pd(_mm512_extractf32x8_ps(a, 1))
#define d_sum(a) _mm512_reduce_add_pd(a)
#define v_hsum(a) _mm512_reduce_add_ps(a)
#define v_hmax(a) _mm512_reduce_max_ps(a)
#define v_round(a) _mm512_roundscale_ps(a, 8) /* nearest, no exception */
#define v_scalef(a, n) _mm512_scalef_ps(a, n) /* a * 2^n */

/* For dots_vec.h.  v_unpack_low, v_unpack_high and v_shuffle work within each
 * group of four lanes, as SSE's operations do.  v_low_half, v_high_half: the
 * bf16 numbers in the halves of each 32 bits, as floats.  v_rows4: 16 bytes
 * from each of four places, which are step bytes apart. */
#define v_unpack_low(a, b) _mm512_unpacklo_ps(a, b)
#define v_unpack_high(a, b) _mm512_unpackhi_ps(a, b)
#define v_shuffle(a, b, how) _mm512_shuffle_ps(a, b, how)
#define v_low_half(a) \
    _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(a), 16))
#define v_high_half(a)                                           \
    _mm512_castsi512_ps(_mm512_and_si512(_mm512_castps_si512(a), \
        _mm512_set1_epi32((int)0xffff0000)))
static inline __attribute__((always_inline)) vf
v_rows4(const unsigned char *p, size_t step)
{
    vf v = _mm512_castps128_ps512(_mm_loadu_ps((const void *)p));

    v = _mm512_insertf32x4(v, _mm_loadu_ps((const void *)(p + step)), 1);
    v = _mm512_insertf32x4(v, _mm_loadu_ps((const void *)(p + 2 * step)), 2);
    return _mm512_insertf32x4(v, _mm_loadu_ps((const void *)(p + 3 * step)), 3);
}

/* For dot_sparse.  Each lane of a vb has the 32-bit mask of one row.
 *   b_set     makes a vb of VW masks
 *   b_places  the lowest four bits of a mask have two ones; returns the place
 *             (0 to 3) of the first plus 4 times the place of the second
 *   b_shift   mask >> n in each lane
 *   v_set4    repeats the four floats at p in each group of four lanes
 *   v_pick    result[i] = a[i - i % 4 + places[i] % 4] */
#define vb __m512i
#define b_set(b)                                                              \
    _mm512_setr_epi32((b)[0], (b)[1], (b)[2], (b)[3], (b)[4], (b)[5], (b)[6], \
        (b)[7], (b)[8], (b)[9], (b)[10], (b)[11], (b)[12], (b)[13], (b)[14],  \
        (b)[15])
static inline vb
b_places(vb mask)
{
    return _mm512_permutexvar_epi32(mask,
        _mm512_setr_epi32(0, 0, 0, 4, 0, 8, 9, 0, 0, 12, 13, 0, 14, 0, 0, 0));
}
#define b_shift(a, n) _mm512_srli_epi32(a, n)
#define v_set4(p) _mm512_broadcast_f32x4(_mm_loadu_ps(p))
#define v_pick(a, places) _mm512_permutevar_ps(a, places)

/* Split a = 2^n m, 2/3 <= m < 4/3: returns m, sets *n.  a must be normal and
 * positive, or NaN. */
static inline vf
v_split(vf a, vf *n)
{
    const __m512i two_thirds = _mm512_set1_epi32(0x3f2aaaab);
    const __m512i i = _mm512_sub_epi32(_mm512_castps_si512(a), two_thirds);

    *n = _mm512_cvtepi32_ps(_mm512_srai_epi32(i, 23));
    return _mm512_castsi512_ps(
        _mm512_add_epi32(_mm512_and_si512(i, _mm512_set1_epi32(0x7fffff)),
            two_thirds));
}

/* bf16_round of each number.  NaN and denormal numbers have no branch: a branch
 * for each vector slows the transposing of panels. */
static inline vf
v_bf16(vf a)
{
    enum { NAN_OR_DENORMAL = 0xa1, DENORMAL = 0x20 };
    const __m512i u = _mm512_castps_si512(a);
    const __mmask16 up = _mm512_test_epi32_mask(u, _mm512_set1_epi32(0x10000));
    const __mmask16 rare = _mm512_fpclass_ps_mask(a, NAN_OR_DENORMAL);
    __m512i r = _mm512_add_epi32(u, _mm512_set1_epi32(0x7fff));

    r = _mm512_mask_add_epi32(r, up, u, _mm512_set1_epi32(0x8000));
    r = _mm512_mask_or_epi32(r, rare, u, _mm512_set1_epi32(0x400000));
    r = _mm512_mask_and_epi32(r, _mm512_fpclass_ps_mask(a, DENORMAL), u,
        _mm512_set1_epi32((int)0x80000000));
    return _mm512_castsi512_ps(
        _mm512_and_epi32(r, _mm512_set1_epi32((int)0xffff0000)));
}

/* Store the upper halves of 16 words. */
static inline void
v_store_upper(uint16_t *p, __m512i u)
{
    _mm256_storeu_si256((__m256i *)p,
        _mm512_cvtepi32_epi16(_mm512_srli_epi32(u, 16)));
}
/* narrow_bf16 and chance_bf16 of kern.h */
static inline void
v_narrow_bf16(uint16_t *p, vf a)
{
    enum { NANS = 0x81 };
    const __m512i u = _mm512_castps_si512(a);
    const __m512i odd =
        _mm512_and_si512(_mm512_srli_epi32(u, 16), _mm512_set1_epi32(1));
    const __m512i r =
        _mm512_add_epi32(_mm512_add_epi32(u, odd), _mm512_set1_epi32(0x7fff));

    v_store_upper(p,
        _mm512_mask_or_epi32(r, _mm512_fpclass_ps_mask(a, NANS), u,
            _mm512_set1_epi32(0x400000)));
}
static inline void
v_chance_bf16(uint16_t *p, vf a, const uint16_t *chance)
{
    const __m512i u = _mm512_castps_si512(a);
    const __m512i most = _mm512_set1_epi32(0x7f800000);
    const __m512i r = _mm512_add_epi32(u,
        _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)chance)));

    v_store_upper(p,
        _mm512_mask_mov_epi32(r,
            _mm512_cmpeq_epi32_mask(_mm512_and_si512(r, most), most), u));
}

/* Half a vector.  h_load loads it from fp32 numbers, h_from_bf16 from bf16
 * numbers; p may have any alignment. */
#define vh __m256
static inline vh
h_load(const void *p)
{
    return _mm256_castsi256_ps(_mm256_loadu_si256(p));
}
static inline vh
h_from_bf16(const void *p)
{
    return _mm256_castsi256_ps(
        _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(p)), 16));
}
/* spread of kern.h */
static inline vf
v_spread(vh in, const unsigned char *mask)
{
    return _mm512_maskz_expand_ps((__mmask16)(mask[0] | mask[1] << 8),
        _mm512_castps256_ps512(in));
}

static inline __mmask16
lanes(size_t k)
{
    return (__mmask16)((1u << k) - 1);
}
/* Load the first k < VW lanes from p; the lanes after them are `fill`. */
static inline vf
v_load_part(const float *p, size_t k, float fill)
{
    return _mm512_mask_loadu_ps(_mm512_set1_ps(fill), lanes(k), p);
}
static inline void
v_store_part(float *p, size_t k, vf a)
{
    _mm512_mask_storeu_ps(p, lanes(k), a);
}
/* Return a with lanes k and later set to zero. */
static inline vf
v_keep(vf a, size_t k)
{
    return _mm512_maskz_mov_ps(lanes(k), a);
}
/* Load 16 signed bytes, bf16s or halves as floats. */
static inline vf
v_from_i8(const void *p)
{
    return _mm512_cvtepi32_ps(
        _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)p)));
}
static inline vf
v_from_bf16(const void *p)
{
    return _mm512_castsi512_ps(
        _mm512_slli_epi32(_mm512_cvtepu16_epi32(
                              _mm256_loadu_si256((const __m256i *)p)),
            16));
}
static inline vf
v_from_f16(const void *p)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
}
