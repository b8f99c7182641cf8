/* Schedules; see schedule.h. */
#include "train/schedule.h"

#include <math.h>

int
sched_ends(enum sched s)
{
    return s != SCHED_CONST && s != SCHED_INVSQRT;
}

double
sched_lr(enum sched s, double lr, size_t k, size_t n, size_t w, double by)
{
    const double pi = 3.14159265358979323846;
    const double scale = w > 0 ? (double)w : 10000.0;
    const size_t last = (size_t)(by * (double)n + 0.5); /* decay of WSD */
    /* the decay begins at step `from`, and ends at floor * lr */
    const size_t from = s == SCHED_WSD && n > w + last ? n - last : w;
    const double floor = s == SCHED_WSD ? 0.0 : by;
    double x;

    if (k < w)
        return lr * (double)k / (double)w;
    if (s == SCHED_INVSQRT)
        return lr / sqrt(((double)(k - w) + scale) / scale);
    if (s == SCHED_CONST || n <= from || k < from)
        return lr;
    x = k < n ? (double)(k - from) / (double)(n - from) : 1.0;
    x = s == SCHED_LINEAR ? 1.0 - x : 0.5 * (1.0 + cos(pi * x));
    return lr * (floor + (1.0 - floor) * x);
}
