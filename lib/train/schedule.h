/* Schedules of the learning rate. */
#ifndef TRAIN_SCHEDULE_H
#define TRAIN_SCHEDULE_H

#include <stddef.h>

enum sched {
    SCHED_COSINE,
    SCHED_LINEAR,
    SCHED_CONST,
    SCHED_WSD,
    SCHED_INVSQRT
};
/*
 * Learning rate of step k (0-based) of n, as in transformers: lr k/w while k <
 * w, then
 *   SCHED_COSINE, SCHED_LINEAR: a cosine or a line down to by*lr at step n
 *   SCHED_CONST: lr
 *   SCHED_WSD: lr, and a cosine down to 0 over the last by*n steps, or over all
 *     steps after warm-up if they are fewer
 *   SCHED_INVSQRT: lr sqrt(w/k); without warm-up (w 0) lr sqrt(W/(k+W)), W =
 *     10000
 */
double sched_lr(enum sched s, double lr, size_t k, size_t n, size_t w,
    double by);
/* Does the schedule depend on n? */
int sched_ends(enum sched s);

#endif
