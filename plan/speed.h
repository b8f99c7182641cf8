/* Speeds of this machine: of matrix products and attention by size, through
 * lib/kern, on all threads of a pool and on all ranks at once. */
#ifndef PLAN_SPEED_H
#define PLAN_SPEED_H

#include "rates.h"
#include "base/pool.h"
#include "dist/dist.h"

#include <stddef.h>

/* Median seconds of run(ctx), over several measurements of `times` calls each.
 * All ranks of g begin a measurement together. */
double speed_time(const struct dist_group *g, void (*run)(void *ctx), void *ctx,
    size_t times);

/* If threads wait for a processor for more than this share of the time, other
 * programs are using it, and the machine is called busy. */
#define BUSY_SHARE 0.1

/* TFLOP/s of the fastest of many short passes of `rows` rows through a square
 * matrix, on this rank, measured in half a second or more: what the machine can
 * do, also while other programs run. */
double speed_fastest(struct pool *pool, size_t rows);

/* Fill r->share with measured TFLOP/s of forward and backward passes: through
 * square matrices or, if attention is 1, through attention.  quick 1: the table
 * has only the two smallest sizes of each axis. */
void speed_table(struct rates *r, int attention, struct pool *pool, int quick);

#endif
