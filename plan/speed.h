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

/* Set a table of TFLOP/s, in place of shares, of a forward and backward pass
 * through square matrices, or of attention.  quick: of small sizes only. */
void speed_products(struct rates *r, struct pool *pool, int quick);
void speed_attention(struct rates *r, struct pool *pool, int quick);

#endif
