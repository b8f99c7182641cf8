/* Statistics of measurements: quantiles, means, ratios of means. */
#ifndef GENERATE_BENCH_STAT_H
#define GENERATE_BENCH_STAT_H

#include <stddef.h>
#include <stdint.h>

/* Sort x [n] and return its quantile q, linear between two values. */
double quantile(double *x, size_t n, double q);
double mean_of(const double *x, size_t n);

/* Ratio of the means of a [n,k] and b [n,k], which are values of n rounds of k
 * texts, and its 95 % interval by 2000 bootstrap samples of rounds (Efron's
 * percentile interval); a round of a is drawn with that of b. */
struct ratio {
    double v, low, high;
};
struct ratio ratio_of(const double *a, const double *b, size_t n, size_t k,
    uint64_t seed);

#endif
