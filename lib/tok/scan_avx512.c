/* Classes of bytes with AVX-512; see scan.h. */
#include "tok/scan.h"
#include "text/unicode.h"

#if defined(__AVX512BW__)
#include <immintrin.h>

#define SCAN_NAME scan_avx512
#define VALID_NAME valid_avx512
#define vec __m512i

static inline vec
vec_load(const unsigned char *p)
{
    return _mm512_loadu_si512((const void *)p);
}

static inline uint64_t
vec_le(vec v, int from, int most)
{
    return _mm512_cmple_epu8_mask(_mm512_sub_epi8(v,
                                      _mm512_set1_epi8((char)from)),
        _mm512_set1_epi8((char)most));
}

static inline uint64_t
vec_eq(vec v, int c)
{
    return _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8((char)c));
}

#include "tok/scan_vec.h"
#endif
