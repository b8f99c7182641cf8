/* The median; see median.h */
#include "base/median.h"

#include <math.h>
#include <stdlib.h>

static int
by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double
median(double *t, size_t n)
{
    qsort(t, n, sizeof *t, by_value);
    return n > 0 ? t[n / 2] : NAN;
}
