/* Vectors of AVX2 with FMA and F16C, for the templates *_vec.h. */
#include "kern/x86_vec.h"

#include <immintrin.h>
#include <stdint.h>

#define VW 8
#define vf __m256
#define vd __m256d
#define v_set1(a) _mm256_set1_ps(a)
#define v_load(p) _mm256_loadu_ps(p)
#define v_store(p, a) _mm256_storeu_ps(p, a)
#define v_add(a, b) _mm256_add_ps(a, b)
#define v_sub(a, b) _mm256_sub_ps(a, b)
#define v_mul(a, b) _mm256_mul_ps(a, b)
#define v_div(a, b) _mm256_div_ps(a, b)
#define v_max(a, b) _mm256_max_ps(a, b)
#define v_min(a, b) _mm256_min_ps(a, b)
#define v_fma(a, b, c) _mm256_fmadd_ps(a, b, c)
#define v_fnma(a, b, c) _mm256_fnmadd_ps(a, b, c)
/* a where x > 0, else b */
#define v_where(x, a, b) \
    _mm256_blendv_ps(b, a, _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_GT_OQ))
#define d_store(p, a) _mm256_storeu_pd(p, a)
#define d_load(p) _mm256_loadu_pd(p)
#define d_widen(p) _mm256_cvtps_pd(_mm_loadu_ps(p)) /* floats */
#define d_set1(a) _mm256_set1_pd(a)
#define d_zero() _mm256_setzero_pd()
#define d_add(a, b) _mm256_add_pd(a, b)
#define d_sub(a, b) _mm256_sub_pd(a, b)
#define d_fma(a, b, c) _mm256_fmadd_pd(a, b, c)
#define d_lo(a) _mm256_cvtps_pd(_mm256_castps256_ps128(a))
#define d_hi(a) _mm256_cvtps_pd(_mm256_extractf128_ps(a, 1))
#define v_round(a) \
    _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)

static inline double
d_sum(vd a)
{
    double t[4];

    _mm256_storeu_pd(t, a);
    return (t[0] + t[2]) + (t[1] + t[3]);
}
static inline float
v_hsum(vf a)
{
    float t[8];

    _mm256_storeu_ps(t, a);
    return ((t[0] + t[4]) + (t[2] + t[6])) + ((t[1] + t[5]) + (t[3] + t[7]));
}
static inline float
v_hmax(vf a)
{
    float t[8], m;

    _mm256_storeu_ps(t, a);
    m = t[0];
    for (int i = 1; i < 8; i++)
        m = t[i] > m ? t[i] : m;
    return m;
}
/* For dots_vec.h.  v_unpack_low, v_unpack_high and v_shuffle work within each
 * group of four lanes, as SSE's operations do.  v_low_half, v_high_half: the
 * bf16 numbers in the halves of each 32 bits, as floats.  v_rows4: 16 bytes
 * from p on and 16 from p + step on. */
#define v_unpack_low(a, b) _mm256_unpacklo_ps(a, b)
#define v_unpack_high(a, b) _mm256_unpackhi_ps(a, b)
#define v_shuffle(a, b, how) _mm256_shuffle_ps(a, b, how)
#define v_low_half(a) \
    _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(a), 16))
#define v_high_half(a)                                           \
    _mm256_castsi256_ps(_mm256_and_si256(_mm256_castps_si256(a), \
        _mm256_set1_epi32((int)0xffff0000)))
#define v_rows4(p, step)                                       \
    _mm256_insertf128_ps(_mm256_castps128_ps256(               \
                             _mm_loadu_ps((const void *)(p))), \
        _mm_loadu_ps((const void *)((p) + (step))), 1)

/* For dot_sparse.  Each lane of a vb has the 32-bit mask of one row.
 *   b_set     makes a vb of VW masks
 *   b_places  the lowest four bits of a mask have two ones; returns the place
 *             (0 to 3) of the first plus 4 times the place of the second
 *   b_shift   mask >> n in each lane
 *   v_set4    repeats the four floats at p in each group of four lanes
 *   v_pick    result[i] = a[i - i % 4 + places[i] % 4] */
#define vb __m256i
#define b_set(b)                                                              \
    _mm256_setr_epi32((b)[0], (b)[1], (b)[2], (b)[3], (b)[4], (b)[5], (b)[6], \
        (b)[7])
static inline vb
b_places(vb mask)
{
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(
                                   _mm_setr_epi8(0, 0, 0, 4, 0, 8, 9, 0, 0, 12,
                                       13, 0, 14, 0, 0, 0)),
        _mm256_and_si256(mask, _mm256_set1_epi32(15)));
}
#define b_shift(a, n) _mm256_srli_epi32(a, n)
#define v_set4(p) _mm256_broadcast_ps((const __m128 *)(const void *)(p))
#define v_pick(a, places) _mm256_permutevar_ps(a, places)

/* Split a = 2^n m, 2/3 <= m < 4/3: returns m, sets *n.  a must be normal and
 * positive, or NaN. */
static inline vf
v_split(vf a, vf *n)
{
    const __m256i two_thirds = _mm256_set1_epi32(0x3f2aaaab);
    const __m256i i = _mm256_sub_epi32(_mm256_castps_si256(a), two_thirds);

    *n = _mm256_cvtepi32_ps(_mm256_srai_epi32(i, 23));
    return _mm256_castsi256_ps(
        _mm256_add_epi32(_mm256_and_si256(i, _mm256_set1_epi32(0x7fffff)),
            two_thirds));
}
/* a * 2^n, |n| < 250, as two products: 2^n itself may be out of the range of
 * floats. */
static inline vf
v_scalef(vf a, vf n)
{
    const __m256i i = _mm256_cvtps_epi32(n), h = _mm256_srai_epi32(i, 1);
    const __m256i bias = _mm256_set1_epi32(127);
    const __m256i p = _mm256_slli_epi32(_mm256_add_epi32(h, bias), 23);
    const __m256i q =
        _mm256_slli_epi32(_mm256_add_epi32(_mm256_sub_epi32(i, h), bias), 23);

    return _mm256_mul_ps(_mm256_mul_ps(a, _mm256_castsi256_ps(p)),
        _mm256_castsi256_ps(q));
}
/* bf16_round of each number. */
static inline vf
v_bf16(vf a)
{
    const __m256i u = _mm256_castps_si256(a),
                  size = _mm256_castps_si256(
                      _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a));
    const __m256i nan = _mm256_cmpgt_epi32(size, _mm256_set1_epi32(0x7f800000));
    const __m256i tiny =
        _mm256_cmpgt_epi32(_mm256_set1_epi32(0x00800000), size);
    const __m256i odd =
        _mm256_and_si256(_mm256_srli_epi32(u, 16), _mm256_set1_epi32(1));
    __m256i r =
        _mm256_add_epi32(_mm256_add_epi32(u, odd), _mm256_set1_epi32(0x7fff));

    r = _mm256_blendv_epi8(r, _mm256_or_si256(u, _mm256_set1_epi32(0x400000)),
        nan);
    r = _mm256_blendv_epi8(r,
        _mm256_and_si256(u, _mm256_set1_epi32((int)0x80000000)), tiny);
    return _mm256_castsi256_ps(
        _mm256_and_si256(r, _mm256_set1_epi32((int)0xffff0000)));
}

/* Store the upper halves of 8 words. */
static inline void
v_store_upper(uint16_t *p, __m256i u)
{
    const __m256i h = _mm256_srli_epi32(u, 16);

    _mm_storeu_si128((__m128i *)p,
        _mm_packus_epi32(_mm256_castsi256_si128(h),
            _mm256_extracti128_si256(h, 1)));
}
/* narrow_bf16 and chance_bf16 of kern.h */
static inline void
v_narrow_bf16(uint16_t *p, vf a)
{
    const __m256i u = _mm256_castps_si256(a);
    const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(a, a, _CMP_UNORD_Q));
    const __m256i odd =
        _mm256_and_si256(_mm256_srli_epi32(u, 16), _mm256_set1_epi32(1));
    const __m256i r =
        _mm256_add_epi32(_mm256_add_epi32(u, odd), _mm256_set1_epi32(0x7fff));

    v_store_upper(p,
        _mm256_blendv_epi8(r, _mm256_or_si256(u, _mm256_set1_epi32(0x400000)),
            nan));
}
static inline void
v_chance_bf16(uint16_t *p, vf a, const uint16_t *chance)
{
    const __m256i u = _mm256_castps_si256(a);
    const __m256i most = _mm256_set1_epi32(0x7f800000);
    const __m256i r = _mm256_add_epi32(u,
        _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)chance)));

    v_store_upper(p,
        _mm256_blendv_epi8(r, u,
            _mm256_cmpeq_epi32(_mm256_and_si256(r, most), most)));
}

/* Half a vector.  h_load loads it from fp32 numbers, h_from_bf16 from bf16
 * numbers; p may have any alignment. */
#define vh __m128
static inline vh
h_load(const void *p)
{
    return _mm_castsi128_ps(_mm_loadu_si128(p));
}
static inline vh
h_from_bf16(const void *p)
{
    return _mm_castsi128_ps(
        _mm_slli_epi32(_mm_cvtepu16_epi32(_mm_loadl_epi64(p)), 16));
}
/* spread of kern.h.  For each half byte of the mask the table gives, for each
 * column, the index of its number; -1: the column is 0. */
static inline vf
v_spread(vh in, const unsigned char *mask)
{
#define AT(a, b, c, d)                                      \
    ((uint32_t)(uint8_t)(a) | (uint32_t)(uint8_t)(b) << 8 | \
        (uint32_t)(uint8_t)(c) << 16 | (uint32_t)(uint8_t)(d) << 24)
    static const uint32_t at[16] = { [3] = AT(0, 1, -1, -1),
        [5] = AT(0, -1, 1, -1),
        [6] = AT(-1, 0, 1, -1),
        [9] = AT(0, -1, -1, 1),
        [10] = AT(-1, 0, -1, 1),
        [12] = AT(-1, -1, 0, 1) };
#undef AT
    const __m256i two = _mm256_setr_epi32(0, 0, 0, 0, 2, 2, 2, 2);
    const __m256i i = _mm256_cvtepi8_epi32(
        _mm_set_epi32(0, 0, (int)at[*mask >> 4], (int)at[*mask & 15]));

    return _mm256_andnot_ps(_mm256_castsi256_ps(_mm256_srai_epi32(i, 31)),
        _mm256_permutevar8x32_ps(_mm256_castps128_ps256(in),
            _mm256_add_epi32(i, two)));
}

static inline __m256i
lanes(size_t k)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)k),
        _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
/* Load the first k < VW lanes from p; the lanes after them are `fill`. */
static inline vf
v_load_part(const float *p, size_t k, float fill)
{
    return _mm256_blendv_ps(_mm256_set1_ps(fill),
        _mm256_maskload_ps(p, lanes(k)), _mm256_castsi256_ps(lanes(k)));
}
static inline void
v_store_part(float *p, size_t k, vf a)
{
    _mm256_maskstore_ps(p, lanes(k), a);
}
/* Return a with lanes k and later set to zero. */
static inline vf
v_keep(vf a, size_t k)
{
    return _mm256_and_ps(a, _mm256_castsi256_ps(lanes(k)));
}
/* Load 8 signed bytes, bf16s or halves as floats. */
static inline vf
v_from_i8(const void *p)
{
    return _mm256_cvtepi32_ps(
        _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)p)));
}
static inline vf
v_from_bf16(const void *p)
{
    return _mm256_castsi256_ps(
        _mm256_slli_epi32(_mm256_cvtepu16_epi32(
                              _mm_loadu_si128((const __m128i *)p)),
            16));
}
static inline vf
v_from_f16(const void *p)
{
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
}
