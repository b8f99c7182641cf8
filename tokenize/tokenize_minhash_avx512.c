/* MinHash eight functions at a time; compiled with the flags of its name. */
#include "tokenize_minhash.h"

#ifdef __AVX512DQ__
#include <immintrin.h>

/* Eight values stay in a register while all x pass. */
void
minhash_avx512(uint64_t *restrict value, const uint64_t *restrict factor,
    const uint64_t *restrict term, size_t functions,
    const uint64_t *restrict x, size_t n)
{
    size_t i = 0;

    for (; i + 16 <= functions; i += 16) {
        const __m512i a = _mm512_loadu_si512(factor + i);
        const __m512i a2 = _mm512_loadu_si512(factor + i + 8);
        const __m512i b = _mm512_loadu_si512(term + i);
        const __m512i b2 = _mm512_loadu_si512(term + i + 8);
        __m512i v = _mm512_loadu_si512(value + i);
        __m512i v2 = _mm512_loadu_si512(value + i + 8);

        for (size_t k = 0; k < n; k++) {
            const __m512i y = _mm512_set1_epi64((long long)x[k]);

            v = _mm512_min_epu64(v, _mm512_add_epi64(
                _mm512_mullo_epi64(a, y), b));
            v2 = _mm512_min_epu64(v2, _mm512_add_epi64(
                _mm512_mullo_epi64(a2, y), b2));
        }
        _mm512_storeu_si512(value + i, v);
        _mm512_storeu_si512(value + i + 8, v2);
    }
    minhash_ref(value + i, factor + i, term + i, functions - i, x, n);
}
#else
void
minhash_avx512(uint64_t *restrict value, const uint64_t *restrict factor,
    const uint64_t *restrict term, size_t functions,
    const uint64_t *restrict x, size_t n)
{
    minhash_ref(value, factor, term, functions, x, n);
}
#endif
