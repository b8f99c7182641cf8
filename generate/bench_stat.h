/* Statistics of measurements: quantiles, means, ratios of means. */
#ifndef GENERATE_BENCH_STAT_H
#define GENERATE_BENCH_STAT_H

#include <stddef.h>
#include <stdint.h>

/* Sort x [n] and return its quantile q, interpolated linearly. */
double quantile(double *x, size_t n, double q);
double mean_of(const double *x, size_t n);

/* Ratio of the means of a and b, [n,k] values of n rounds of k texts.
 * low..high: its 95 % interval by 2000 bootstrap samples (Efron's percentile
 * interval).  A sample draws rounds; each gives its values of both a and b. */
struct ratio {
    double v, low, high;
};
struct ratio ratio_of(const double *a, const double *b, size_t n, size_t k,
    uint64_t seed);

#endif
