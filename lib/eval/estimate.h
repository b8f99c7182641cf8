/* Means with their errors. */
#ifndef EVAL_ESTIMATE_H
#define EVAL_ESTIMATE_H

#include <stddef.h>

/* A mean and its standard error; NAN: unknown. */
struct estimate {
    double v, se;
};

/* The 0.975 quantile of Student's t with n - 1 degrees of freedom; n < 2: NAN.
 */
double t95(size_t n);

#endif
