/* The median of several times. */
#ifndef PLAN_MEDIAN_H
#define PLAN_MEDIAN_H

#include <stddef.h>

/* Median of t [n], n odd; sorts t. */
double median(double *t, size_t n);

#endif
