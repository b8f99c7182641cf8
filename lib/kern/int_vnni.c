/* Products in 8-bit integers for AVX-512 with VNNI; see int_vec.h. */
#include "kern/int.h"

#if defined(__AVX512VNNI__)
#include "kern/avx512_vec.h"
#include "kern/unroll.h"

#include <string.h>

#define INT_TILE 8 /* rows of x at a time */
enum {
    CODE_ZERO = 7 /* VPDPBUSD takes unsigned codes: 128 is added to signed */
};

#define vi __m512i
#define i_load(p) _mm512_loadu_si512(p)
#define i_store(p, a) _mm512_store_si512(p, a)
#define i_and(a, b) _mm512_and_si512(a, b)
#define i_or(a, b) _mm512_or_si512(a, b)
#define i_left(a, n) _mm512_slli_epi16(a, n)
#define i_right(a, n) _mm512_srli_epi16(a, n)
#define i_set8(a) _mm512_set1_epi8(a)
#define i_set32(a) _mm512_set1_epi32(a)
#define i_max32(a, b) _mm512_max_epi32(a, b)
#define i_add32(a, b) _mm512_add_epi32(a, b)
#define i_bits(a) _mm512_castps_si512(a)
#define i_nearest(a) _mm512_cvtps_epi32(a)
#define i_most(a) _mm512_reduce_max_epi32(a)
#define i_total(a) _mm512_reduce_add_epi32(a)
#define i_shift32(a, n) _mm512_slli_epi32(a, n)
#define i_float(a) _mm512_cvtepi32_ps(a)
#define i_bytes(p) v_from_i8(p)
#define i_code(a) _mm512_xor_si512(a, _mm512_set1_epi8((char)0x80))
#define i_list(a)                                                              \
    _mm512_shuffle_epi8(i_code(_mm512_broadcast_i32x4(_mm_loadu_si128(         \
                            (const __m128i *)(const void *)quant_iq4_value))), \
        a)
/* Store signed bytes. */
static inline void
i_narrow(signed char *p, __m512i a)
{
    _mm_storeu_si128((__m128i *)(void *)p, _mm512_cvtepi32_epi8(a));
}

/* Add the products of n quads of codes with 4 n numbers of x to sum. */
static inline __attribute__((always_inline)) __m512i
sum_quads(int range, const __m512i *q, int n, const signed char *x, __m512i sum)
{
    (void)range;
    UNROLL
    for (int i = 0; i < n; i++) {
        int32_t four;

        memcpy(&four, x + 4 * i, sizeof four);
        sum = _mm512_dpbusd_epi32(sum, q[i], _mm512_set1_epi32(four));
    }
    return sum;
}

#include "kern/int_vec.h"

const struct int_kern int_kern_vnni = { round_int, multiply_int };
#endif
