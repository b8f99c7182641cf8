/* Sampling of the next token; see sample.h. */

#include "model/sample.h"
#include "kern/kern.h"
#include "model/heap.h"
#include <assert.h>
#include <math.h>

uint32_t
sample_best(const float *z, size_t V)
{
    uint32_t best = 0;

    for (size_t i = 0; i < V; i++) {
        if (!isfinite(z[i]))
            return UINT32_MAX;
        if (z[i] > z[best])
            best = (uint32_t)i;
    }
    return best;
}

/* Set r->term to each token's exp((z - max)/tau); returns their sum. */
static double
terms(const float *z, size_t V, double tau, struct sample_room *r)
{
    assert(V > 0 && tau > 0.0);
    return kern.exp(r->term, z, V, kern.max(z, V), (float)(1.0 / tau));
}

/* Take the most probable tokens from a heap, one by one, until their terms add
 * up to `enough`; *mass: their sum. */
static size_t
take_nucleus(const float *z, size_t V, double enough, struct sample_room *r,
    double *mass)
{
    uint64_t *h = r->key;
    size_t n = 0;

    for (size_t i = 0; i < V; i++)
        h[i] = ~heap_key(z[i], i);
    for (size_t i = V / 2; i-- > 0;)
        heap_sink(h, V, i);
    for (*mass = 0.0; n < V && (n == 0 || *mass < enough); n++) {
        const uint32_t id = heap_number(~h[0]);

        r->ids[n] = id;
        *mass += r->term[id];
        h[0] = h[V - n - 1];
        heap_sink(h, V - n - 1, 0);
    }
    return n;
}

size_t
sample_nucleus(const float *z, size_t V, double tau, double top_p,
    struct sample_room *r)
{
    const double sum = terms(z, V, tau, r);
    double mass;

    return take_nucleus(z, V, top_p * sum, r, &mass);
}

uint32_t
sample_draw(const float *z, size_t V, double tau, double top_p, double u,
    struct sample_room *r)
{
    double sum = terms(z, V, tau, r), at = 0.0;
    size_t n = V;
    uint32_t id = 0, last = 0;

    if (top_p < 1.0)
        n = take_nucleus(z, V, top_p * sum, r, &sum);
    for (size_t i = 0; i < n; i++) {
        id = top_p < 1.0 ? r->ids[i] : (uint32_t)i;
        at += r->term[id];
        if (u * sum < at)
            return id;
        last = r->term[id] > 0.0f ? id : last;
    }
    return last; /* by rounding, the sum in this order may end before u * sum */
}
