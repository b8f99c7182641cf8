/* Time limits of waits; see deadline.h. */
#include "base/deadline.h"
#include "base/clock.h"

#include <math.h>

void
deadline_begin(struct deadline *d, double seconds)
{
    *d = (struct deadline){ seconds, clock_now() };
}

double
deadline_left(struct deadline *d)
{
    const double now = clock_now();

    d->left -= fmin(now - d->before, 0.1);
    d->before = now;
    return d->left;
}
