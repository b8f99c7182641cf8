/* Dropout of adapters; see dropout.h. */
#include "model/pass/dropout.h"
#include "base/rng.h"

#include <assert.h>

void
dropout_rows(struct dropout *d, const struct rows *r)
{
    for (size_t b = 0; b < r->B; b++) {
        uint64_t key = d->key;

        for (size_t t = 0; t < r->T; t++)
            key = rng_key(key, r->ids[b * r->T + t]);
        d->row[b] = key;
    }
}

uint64_t
dropout_key(const struct dropout *d, size_t b, size_t block, size_t k)
{
    return rng_key(rng_key(d->row[b], block), k);
}

void
dropout_copy(const struct dropout *d, uint64_t key, size_t in, size_t t0,
    size_t n, size_t c0, size_t cols, const float *x, size_t ldx, float *out)
{
    const uint64_t per = (in + 3) / 4; /* numbers of 64 bits for a token */
    const unsigned least = (unsigned)(d->p * 65536.0 + 0.5);
    const float by = (float)(65536.0 / (65536.0 - least));

    assert(c0 % 4 == 0 && least < 65536);
    for (size_t t = 0; t < n; t++)
        for (size_t j = 0; j < cols; j += 4) {
            uint64_t u = rng_u64(key, (t0 + t) * per + (c0 + j) / 4);

            for (size_t i = j; i < j + 4 && i < cols; i++, u >>= 16)
                out[t * cols + i] =
                    (u & 0xffff) < least ? 0.0f : x[t * ldx + i] * by;
        }
}
