/* Merging side by side with AVX2; see queue.h. */
#include "tok/queue.h"

#if defined(__AVX2__)
#include <immintrin.h>

#define QUEUE_NAME queue_avx2

static inline uint32_t
smallest(const uint32_t *key, size_t n)
{
    __m256i a = _mm256_loadu_si256((const void *)key);
    __m128i b;

    for (size_t i = 1; i < n; i++)
        a = _mm256_min_epu32(a,
            _mm256_loadu_si256((const void *)(key + 8 * i)));
    b = _mm_min_epu32(_mm256_castsi256_si128(a),
        _mm256_extracti128_si256(a, 1));
    b = _mm_min_epu32(b, _mm_shuffle_epi32(b, 0x4e));
    b = _mm_min_epu32(b, _mm_shuffle_epi32(b, 0xb1));
    return (uint32_t)_mm_cvtsi128_si32(b);
}

static inline unsigned
half_hits(const uint64_t *line, __m256i want, __m128i shift)
{
    const __m256i x =
        _mm256_xor_si256(want, _mm256_load_si256((const void *)line));

    return (unsigned)_mm256_movemask_pd(
        _mm256_castsi256_pd(_mm256_cmpeq_epi64(_mm256_srl_epi64(x, shift),
            _mm256_setzero_si256())));
}

static inline uint64_t
line_find(const uint64_t *line, uint64_t want, unsigned shift)
{
    const __m256i w = _mm256_set1_epi64x((long long)want);
    const __m128i s = _mm_cvtsi32_si128((int)shift);
    const unsigned hit = half_hits(line, w, s) | half_hits(line + 4, w, s) << 4;

    return (line[__builtin_ctz(hit | 0x80)] ^ want) | -(uint64_t)!hit;
}

#include "tok/queue_vec.h"
#endif
