/* MinHash; see minhash.h. */
#include "minhash.h"

#include "base/rng.h"

#include <assert.h>
#include <string.h>

#define SEED UINT64_C(0x6d696e68617368)
#define RUN 5     /* words */
#define BLOCK 256 /* runs */

void
minhash_init(struct minhash *m, size_t functions)
{
    assert(functions > 0 && functions <= MINHASH_MOST);
    m->n = functions;
    for (size_t i = 0; i < functions; i++) {
        m->factor[i] = rng_u64(SEED, 2 * i) | 1;
        m->term[i] = rng_u64(SEED, 2 * i + 1);
    }
}

/* Hash a sequence from the hashes of its words; word[RUN] is a ring, and the
 * sequence begins at word[from % RUN]. */
static uint64_t
mix_bits(const uint64_t *word, size_t from, size_t n)
{
    uint64_t h = 0;

    for (size_t i = 0; i < n; i++)
        h = (h ^ word[(from + i) % RUN]) * UINT64_C(0x9e3779b97f4a7c15) +
            (h >> 29);
    h = (h ^ h >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return h ^ h >> 32;
}

/* value[i] = min(value[i], least value of function i over x[n]). */
static void
take_least(const struct minhash *m, const uint64_t *x, size_t n,
    uint64_t *value)
{
    for (size_t i = 0; i < m->n; i++) {
        const uint64_t a = m->factor[i], b = m->term[i];
        uint64_t least = value[i];

        for (size_t k = 0; k < n; k++) {
            const uint64_t v = a * x[k] + b;

            least = v < least ? v : least;
        }
        value[i] = least;
    }
}

size_t
minhash_text(const struct minhash *m, struct words *w, uint64_t *value)
{
    uint64_t word[RUN], x[BLOCK], hash;
    size_t words = 0, n = 0;

    memset(value, 0xff, m->n * sizeof *value);
    while (words_next(w, &hash)) {
        word[words++ % RUN] = hash;
        if (words < RUN)
            continue;
        x[n++] = mix_bits(word, words, RUN);
        if (n == BLOCK) {
            take_least(m, x, n, value);
            n = 0;
        }
    }
    if (words > 0 && words < RUN)
        x[n++] = mix_bits(word, 0, words);
    take_least(m, x, n, value);
    return words;
}
