/* Merging side by side with AVX-512; see queue.h. */
#include "tok/queue.h"

#if defined(__AVX512BW__)
#include <immintrin.h>

#define QUEUE_NAME queue_avx512

static inline uint32_t
smallest(const uint32_t *key, size_t n)
{
    __m512i a = _mm512_loadu_si512(key);

    if (n > 2)
        a = _mm512_min_epu32(a, _mm512_loadu_si512(key + 16));
    return _mm512_reduce_min_epu32(a);
}

static inline uint64_t
line_find(const uint64_t *line, uint64_t want, unsigned shift)
{
    const __m512i x = _mm512_xor_si512(_mm512_load_si512(line),
        _mm512_set1_epi64((long long)want));
    const unsigned hit = _mm512_cmplt_epu64_mask(x,
        _mm512_set1_epi64((long long)(UINT64_C(1) << shift)));

    return (line[__builtin_ctz(hit | 0x80)] ^ want) | -(uint64_t)!hit;
}

#include "tok/queue_vec.h"
#endif
