/* Statistics of measurements; see bench_stat.h. */
#include "bench_stat.h"
#include "base/mem.h"
#include "base/rng.h"

#include <stdlib.h>

enum { SAMPLES = 2000 };

static int
double_order(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double
quantile(double *x, size_t n, double q)
{
    const double at = q * (double)(n - 1);
    const size_t i = (size_t)at;

    qsort(x, n, sizeof *x, double_order);
    return i + 1 < n ? x[i] + (at - (double)i) * (x[i + 1] - x[i]) : x[n - 1];
}

double
mean_of(const double *x, size_t n)
{
    double sum = 0.0;

    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum / (double)n;
}

struct ratio
ratio_of(const double *a, const double *b, size_t n, size_t k, uint64_t seed)
{
    double *r = xreallocarray(NULL, SAMPLES, sizeof *r);
    struct ratio out = { mean_of(a, n * k) / mean_of(b, n * k), 0.0, 0.0 };

    for (size_t s = 0; s < SAMPLES; s++) {
        const uint64_t key = rng_key(seed, s);
        double x = 0.0, y = 0.0;

        for (size_t i = 0; i < n; i++) {
            const size_t round = (size_t)(rng_unit(key, i) * (double)n);

            x += mean_of(a + round * k, k);
            y += mean_of(b + round * k, k);
        }
        r[s] = x / y;
    }
    out.low = quantile(r, SAMPLES, 0.025);
    out.high = quantile(r, SAMPLES, 0.975);
    free(r);
    return out;
}
