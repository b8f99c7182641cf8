/* The median; see median.h */
#include "median.h"

#include <stdlib.h>

static int
smaller_time(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double
median(double *t, size_t n)
{
    qsort(t, n, sizeof *t, smaller_time);
    return t[n / 2];
}
