/* Clocks. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

/* clock_now: seconds of the monotonic clock; clock_cpu: processor seconds of
 * this process. */
double clock_now(void);
double clock_cpu(void);

#endif
