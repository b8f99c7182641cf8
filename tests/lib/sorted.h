/* For tests: a teacher's top tokens, found by sorting all tokens. */
#ifndef TESTS_LIB_SORTED_H
#define TESTS_LIB_SORTED_H

#include "base/mem.h"
#include "base/rng.h"
#include "format/targets.h"

#include <math.h>
#include <stdlib.h>

/* The top tokens that a teacher sends. */
struct sorted {
    struct targets x; /* of kind TARGETS_TOP */
    uint32_t *ids;
    float *logp, *lse;
    double *self;
};

/* Set s to the k top tokens of each row of the logits zt [n,V]. */
static inline void
say(struct sorted *s, const float *zt, size_t n, size_t V, size_t k, double tau)
{
    s->ids = xreallocarray(NULL, n * k, sizeof(*s->ids));
    s->logp = xreallocarray(NULL, n * k, sizeof(*s->logp));
    s->lse = xreallocarray(NULL, n * 2, sizeof(*s->lse));
    s->self = xreallocarray(NULL, n, sizeof(*s->self));
    s->x = (struct targets){ .kind = TARGETS_TOP,
        .width = k,
        .part = { { (const void *)s->ids, DT_U32, k },
            { (const void *)s->logp, DT_F32, k },
            { (const void *)s->lse, DT_F32, 2 } } };
    for (size_t i = 0; i < n; i++, zt += V) {
        double max = -INFINITY, one = 0.0, soft = 0.0, mean = 0.0;

        for (size_t v = 0; v < V; v++)
            max = fmax(max, zt[v]);
        for (size_t v = 0; v < V; v++) {
            one += exp(zt[v] - max);
            soft += exp((zt[v] - max) / tau);
            mean += exp((zt[v] - max) / tau) * (zt[v] - max) / tau;
        }
        s->lse[2 * i] = (float)(max + log(one));
        s->lse[2 * i + 1] = (float)(max / tau + log(soft));
        s->self[i] = mean / soft - log(soft);
        for (size_t j = 0; j < k; j++) {
            size_t best = V;

            for (size_t v = 0; v < V; v++) {
                const float last = j > 0 ? zt[s->ids[i * k + j - 1]] : 0.0f;
                const int later = j == 0 || zt[v] < last ||
                    (zt[v] == last && v > s->ids[i * k + j - 1]);

                if (later && (best == V || zt[v] > zt[best]))
                    best = v;
            }
            s->ids[i * k + j] = (uint32_t)best;
            s->logp[i * k + j] = zt[best] - s->lse[2 * i];
        }
    }
}

static inline void
sorted_free(struct sorted *s)
{
    free(s->ids);
    free(s->logp);
    free(s->lse);
    free(s->self);
}

static inline void
fill(float *z, size_t n, double scale, uint64_t seed)
{
    for (size_t i = 0; i < n; i++)
        z[i] = (float)(scale *
            (rng_unit(seed, i) + rng_unit(seed + 1, i) + rng_unit(seed + 2, i) -
                1.5));
}

#endif
