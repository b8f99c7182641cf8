/* Clocks. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

/* Seconds of the monotonic clock; processor seconds of this process. */
double clock_now(void);
double clock_cpu(void);

#endif
