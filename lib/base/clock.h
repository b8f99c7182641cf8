/* Clocks. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

/* Seconds that only go up; processor seconds of the process. */
double clock_now(void);
double clock_cpu(void);

#endif
