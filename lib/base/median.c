/* Medians and quantiles; see median.h. */
#include "base/median.h"

#include <math.h>
#include <stdlib.h>

static int
by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

void
sort_doubles(double *x, size_t n)
{
    if (n > 0)
        qsort(x, n, sizeof *x, by_value);
}

double
quantile(const double *x, size_t n, double q)
{
    const double at = q * (double)(n - 1);
    const size_t i = n > 0 ? (size_t)at : 0;

    if (n == 0)
        return NAN;
    return i + 1 < n ? x[i] + (at - (double)i) * (x[i + 1] - x[i]) : x[n - 1];
}

double
median(double *t, size_t n)
{
    sort_doubles(t, n);
    return n > 0 ? t[n / 2] : NAN;
}
