/* Clocks. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

/* clock_now: seconds of the monotonic clock; clock_cpu: processor seconds of
 * this process. */
double clock_now(void);
double clock_cpu(void);

/* The seconds that the threads of this process have had a processor, and have
 * waited for one while other programs had it; zeros if the system does not
 * tell. */
struct clock_shares {
    double run, waited;
};
struct clock_shares clock_shares(void);
/* The part, 0 to 1, of the time since `before` that the threads waited. */
double clock_waited(const struct clock_shares *before);

#endif
