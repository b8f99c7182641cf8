/* Medians and quantiles. */
#ifndef BASE_MEDIAN_H
#define BASE_MEDIAN_H

#include <stddef.h>

/* Sort x [n], rising. */
void sort_doubles(double *x, size_t n);
/* Quantile q, from 0 to 1, of the sorted x [n], interpolated linearly between
 * two values; NAN: n is 0. */
double quantile(const double *x, size_t n, double q);
/* Median of t [n], the upper one if n is even; NAN: n is 0.  Sorts t. */
double median(double *t, size_t n);

#endif
