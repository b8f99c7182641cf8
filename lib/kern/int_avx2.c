/* Products in 8-bit integers for AVX2; see int_vec.h. */
#include "kern/int.h"

#if defined(__AVX2__)
#include "kern/avx2_vec.h"
#include "kern/unroll.h"

#include <string.h>

#define INT_TILE 4 /* rows of x at a time */
enum {
    CODE_ZERO = 0 /* codes of 8 bits are multiplied as they are */
};

#define vi __m256i
#define i_load(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define i_store(p, a) _mm256_store_si256((__m256i *)(void *)(p), a)
#define i_and(a, b) _mm256_and_si256(a, b)
#define i_or(a, b) _mm256_or_si256(a, b)
#define i_left(a, n) _mm256_slli_epi16(a, n)
#define i_right(a, n) _mm256_srli_epi16(a, n)
#define i_set8(a) _mm256_set1_epi8(a)
#define i_set32(a) _mm256_set1_epi32(a)
#define i_max32(a, b) _mm256_max_epi32(a, b)
#define i_add32(a, b) _mm256_add_epi32(a, b)
#define i_bits(a) _mm256_castps_si256(a)
#define i_nearest(a) _mm256_cvtps_epi32(a)
#define i_shift32(a, n) _mm256_slli_epi32(a, n)
#define i_float(a) _mm256_cvtepi32_ps(a)
#define i_bytes(p) v_from_i8(p)
#define i_code(a) (a)
#define i_list(a)                                                             \
    _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128(          \
                            (const __m128i *)(const void *)quant_iq4_value)), \
        a)
static inline int32_t
i_most(__m256i a)
{
    __m128i m = _mm_max_epi32(_mm256_castsi256_si128(a),
        _mm256_extracti128_si256(a, 1));

    m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0x4e));
    return _mm_cvtsi128_si32(_mm_max_epi32(m, _mm_shuffle_epi32(m, 0xb1)));
}

static inline int32_t
i_total(__m256i a)
{
    __m128i s = _mm_add_epi32(_mm256_castsi256_si128(a),
        _mm256_extracti128_si256(a, 1));

    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1)));
}

/* Store signed bytes. */
static inline void
i_narrow(signed char *p, __m256i a)
{
    const __m128i half = _mm_packs_epi32(_mm256_castsi256_si128(a),
        _mm256_extracti128_si256(a, 1));

    _mm_storel_epi64((__m128i *)(void *)p, _mm_packs_epi16(half, half));
}

/* Add the products of n quads of codes, of `range` bits (int_form.h), with 4 n
 * numbers of x to sum.  VPMADDUBSW adds two products in 16 bits, which hold 8
 * such sums of codes of 4 bits (at most 2 * 127 * 15 each), 4 of codes of 5
 * bits (2 * 127 * 31) or 2 of codes of 6 bits (2 * 127 * 63).  Codes of 8 bits
 * give their sign to x; one sum is then at most 2 * 127 * 128 = 32512. */
static inline __attribute__((always_inline)) vi
sum_quads(int range, const vi *q, int n, const signed char *x, vi sum)
{
    const int some = range == 4 ? n : range == 5 ? 4 : range == 6 ? 2 : 1;

    UNROLL
    for (int i = 0; i < n; i += some) {
        vi part;

        UNROLL
        for (int j = i; j < i + some; j++) {
            int32_t four;
            vi a;

            memcpy(&four, x + 4 * j, sizeof four);
            a = i_set32(four);
            a = range == 8 ? _mm256_maddubs_epi16(_mm256_abs_epi8(q[j]),
                                 _mm256_sign_epi8(a, q[j]))
                           : _mm256_maddubs_epi16(q[j], a);
            part = j == i ? a : _mm256_add_epi16(part, a);
        }
        sum = _mm256_add_epi32(sum,
            _mm256_madd_epi16(part, _mm256_set1_epi16(1)));
    }
    return sum;
}

#include "kern/int_vec.h"

const struct int_kern int_kern_avx2 = { round_int, multiply_int };
#endif
