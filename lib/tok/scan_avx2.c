/* Classes of bytes with AVX2; see scan.h. */
#include "tok/scan.h"
#include "text/unicode.h"

#if defined(__AVX2__)
#include <immintrin.h>

#define SCAN_NAME scan_avx2
#define VALID_NAME valid_avx2
#define vec struct two

struct two {
    __m256i a, b;
};

static inline vec
vec_load(const unsigned char *p)
{
    return (vec){ _mm256_loadu_si256((const void *)p),
        _mm256_loadu_si256((const void *)(p + 32)) };
}

static inline uint64_t
bits(__m256i a, __m256i b)
{
    return (uint32_t)_mm256_movemask_epi8(a) |
        (uint64_t)(uint32_t)_mm256_movemask_epi8(b) << 32;
}

static inline __m256i
half_le(__m256i v, int from, int most)
{
    const __m256i d = _mm256_sub_epi8(v, _mm256_set1_epi8((char)from));

    return _mm256_cmpeq_epi8(_mm256_min_epu8(d, _mm256_set1_epi8((char)most)),
        d);
}

static inline uint64_t
vec_le(vec v, int from, int most)
{
    return bits(half_le(v.a, from, most), half_le(v.b, from, most));
}

static inline uint64_t
vec_eq(vec v, int c)
{
    const __m256i x = _mm256_set1_epi8((char)c);

    return bits(_mm256_cmpeq_epi8(v.a, x), _mm256_cmpeq_epi8(v.b, x));
}

#include "tok/scan_vec.h"
#endif
