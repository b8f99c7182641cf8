/*
 * Time limits of waits.  They count only time in which this process runs: one
 * that was stopped, alone or with its job, has as much time left afterwards as
 * before.
 */
#ifndef BASE_DEADLINE_H
#define BASE_DEADLINE_H

struct deadline {
    double left;   /* seconds */
    double before; /* clock_now() at the last call */
};
void deadline_begin(struct deadline *d, double seconds);
/* Seconds left; 0 or less: time is over.  A wait is to call it every tenth of a
 * second or more often: a longer time since the last call counts as a tenth of
 * a second, since the process did not run in it. */
double deadline_left(struct deadline *d);

#endif
