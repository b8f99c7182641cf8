/* MinHash; see tokenize_minhash.h. */
#include "tokenize_minhash.h"

#include "base/cpu.h"
#include "base/rng.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 256
#define SEED UINT64_C(0x6d696e68617368)

void
minhash_ref(uint64_t *restrict value, const uint64_t *restrict factor,
    const uint64_t *restrict term, size_t functions,
    const uint64_t *restrict x, size_t n)
{
    for (size_t i = 0; i < functions; i++) {
        const uint64_t a = factor[i], b = term[i];
        uint64_t least = value[i];

        for (size_t k = 0; k < n; k++) {
            const uint64_t v = a * x[k] + b;

            least = v < least ? v : least;
        }
        value[i] = least;
    }
}

void
minhash_init(struct minhash *m, size_t functions)
{
    enum cpu_code code;

    assert(functions > 0 && functions <= MINHASH_MOST);
    m->n = functions;
    for (size_t i = 0; i < functions; i++) {
        m->factor[i] = rng_u64(SEED, 2 * i) | 1;
        m->term[i] = rng_u64(SEED, 2 * i + 1);
    }
    m->least = minhash_ref;
#ifdef __x86_64__
    if (!cpu_choose(getenv("RETORT_KERNELS"), &code) && code == CPU_AVX512)
        m->least = minhash_avx512;
#else
    (void)code;
#endif
}

/* A run's hash from those of its words, in order. */
static uint64_t
mix(const uint64_t *word, size_t from, size_t n)
{
    uint64_t h = 0;

    for (size_t i = 0; i < n; i++)
        h = (h ^ word[(from + i) % MINHASH_WORDS]) *
            UINT64_C(0x9e3779b97f4a7c15) + (h >> 29);
    h = (h ^ h >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return h ^ h >> 32;
}

size_t
minhash_text(const struct minhash *m, struct words *w, uint64_t *value)
{
    uint64_t word[MINHASH_WORDS], x[BLOCK];
    size_t words = 0, n = 0;

    memset(value, 0xff, m->n * sizeof *value);
    while (words_next(w, &word[words % MINHASH_WORDS])) {
        words++;
        if (words < MINHASH_WORDS)
            continue;
        x[n++] = mix(word, words, MINHASH_WORDS);
        if (n == BLOCK) {
            m->least(value, m->factor, m->term, m->n, x, n);
            n = 0;
        }
    }
    if (words > 0 && words < MINHASH_WORDS)
        x[n++] = mix(word, 0, words);
    m->least(value, m->factor, m->term, m->n, x, n);
    return words;
}
