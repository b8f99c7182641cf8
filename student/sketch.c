/* Sketches of gradients: see sketch.h. */
#include "sketch.h"
#include "base/mem.h"
#include "base/rng.h"
#include "kern/kern.h"

#include <math.h>

enum { BITS = 16, BUCKETS = 1 << BITS, WIDE = 1024 };

/* Add g [n], the gradient's elements from index `at` on.  64 random bits serve
 * three elements. */
static void
sketch_add(double *sum, const float *g, size_t at, size_t n)
{
    uint64_t bits = 0;

    for (size_t i = 0; i < n; i++) {
        const size_t k = at + i;

        if (i == 0 || k % 3 == 0)
            bits = rng_u64(0, k / 3) >> k % 3 * (BITS + 1);
        sum[bits & (BUCKETS - 1)] += bits >> BITS & 1 ? g[i] : -g[i];
        bits >>= BITS + 1;
    }
}

double *
sketch_new(const struct tmodel *t)
{
    double *sum = xcalloc(BUCKETS, sizeof *sum);
    float some[WIDE];
    size_t at = 0;

    for (size_t i = 0; i < t->ngroup; at += t->group[i++].n) {
        const struct group *g = &t->group[i];

        if (g->half == NULL)
            sketch_add(sum, g->g, at, g->n);
        for (size_t k = 0; g->half != NULL && k < g->n; k += WIDE) {
            const size_t n = g->n - k < WIDE ? g->n - k : WIDE;

            kern.widen_bf16(some, g->half + k, n);
            sketch_add(sum, some, at + k, n);
        }
    }
    return sum;
}

double
sketch_distance(const double *a, const double *b)
{
    double diff = 0.0, whole = 0.0;

    for (size_t i = 0; i < BUCKETS; i++) {
        diff += (a[i] - b[i]) * (a[i] - b[i]);
        whole += a[i] * a[i];
    }
    return sqrt(diff / whole);
}
