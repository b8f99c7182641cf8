/*
 * Time limits of waits.  Time in which this process is stopped (SIGSTOP, or a
 * suspended job) does not count.
 */
#ifndef BASE_DEADLINE_H
#define BASE_DEADLINE_H

struct deadline {
    double left;   /* seconds */
    double before; /* clock_now() at the last call */
};
void deadline_begin(struct deadline *d, double seconds);
/* Returns the seconds left; 0 or less: time is over.  Call it at least every
 * 0.1 s during the wait: a longer time since the last call counts as 0.1 s,
 * because the process must have been stopped. */
double deadline_left(struct deadline *d);

#endif
