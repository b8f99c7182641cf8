/* The median of several times. */
#ifndef PLAN_MEDIAN_H
#define PLAN_MEDIAN_H

#include <stddef.h>

/* The median of t [n], n odd; t is sorted. */
double median(double *t, size_t n);

#endif
