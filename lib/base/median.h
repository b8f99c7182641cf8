/* The median. */
#ifndef BASE_MEDIAN_H
#define BASE_MEDIAN_H

#include <stddef.h>

/* Median of t [n], the upper one if n is even; NAN: n is 0.  Sorts t. */
double median(double *t, size_t n);

#endif
