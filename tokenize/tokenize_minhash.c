/* MinHash; see tokenize_minhash.h. */
#include "tokenize_minhash.h"

#include "base/cpu.h"
#include "base/rng.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

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

void
minhash_begin(struct minhash_run *r, const struct minhash *m, uint64_t *value)
{
    r->m = m;
    r->value = value;
    r->words = r->n = 0;
    memset(value, 0xff, m->n * sizeof *value);
}

static void
add_block(struct minhash_run *r)
{
    const struct minhash *m = r->m;

    m->least(r->value, m->factor, m->term, m->n, r->x, r->n);
    r->n = 0;
}

void
minhash_word(struct minhash_run *r, uint64_t hash)
{
    r->word[r->words++ % MINHASH_WORDS] = hash;
    if (r->words < MINHASH_WORDS)
        return;
    r->x[r->n++] = mix(r->word, r->words, MINHASH_WORDS);
    if (r->n == MINHASH_BLOCK)
        add_block(r);
}

size_t
minhash_end(struct minhash_run *r)
{
    if (r->words > 0 && r->words < MINHASH_WORDS)
        r->x[r->n++] = mix(r->word, 0, r->words);
    add_block(r);
    return r->words;
}

size_t
minhash_text(const struct minhash *m, struct words *w, uint64_t *value)
{
    struct minhash_run r;
    uint64_t hash;

    minhash_begin(&r, m, value);
    while (words_next(w, &hash))
        minhash_word(&r, hash);
    return minhash_end(&r);
}
