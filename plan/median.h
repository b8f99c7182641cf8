/* What counts of several takes of a time. */
#ifndef PLAN_MEDIAN_H
#define PLAN_MEDIAN_H

#include <stddef.h>

/* The median of t [n], n odd, which is sorted. */
double median(double *t, size_t n);

#endif
