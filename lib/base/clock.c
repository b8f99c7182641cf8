/* Clocks: see clock.h */
#include "base/clock.h"

#include <time.h>

static double
seconds(clockid_t id)
{
    struct timespec t;

    if (clock_gettime(id, &t) < 0)
        return 0.0;
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double
clock_now(void)
{
    return seconds(CLOCK_MONOTONIC);
}

double
clock_cpu(void)
{
    return seconds(CLOCK_PROCESS_CPUTIME_ID);
}
