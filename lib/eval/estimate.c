/* Quantiles of Student's t; see estimate.h. */
#include "eval/estimate.h"

#include <math.h>

double
t95(size_t n)
{
    static const double t[] = { 12.706, 4.303, 3.182, 2.776, 2.571, 2.447,
        2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
        2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
        2.052, 2.048, 2.045, 2.042 };
    const double z = 1.959964, z3 = z * z * z;
    double df;

    if (n < 2)
        return NAN;
    if (n - 2 < sizeof(t) / sizeof(*t))
        return t[n - 2];
    df = (double)(n - 1);
    /* Abramowitz and Stegun 26.7.5 */
    return z + (z3 + z) / (4.0 * df) +
        (5.0 * z3 * z * z + 16.0 * z3 + 3.0 * z) / (96.0 * df * df);
}
