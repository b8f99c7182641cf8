/* Time of a step by part. */
#ifndef PLAN_STEP_H
#define PLAN_STEP_H

#include "figures.h"
#include "job.h"

/* Add the figures "step.*" and their sum "step", seconds; and "bubble". */
void predict_time(struct figures *f, const struct job *j);

/* FLOP of a token in the forward pass: of products; of attention, to all keys
 * or, with `masked`, to those that the mask leaves. */
double flop_products(const struct shape *s);
double flop_attention(const struct shape *s, double length, int masked);

#endif
