/* Time of a step by part. */
#ifndef PLAN_STEP_H
#define PLAN_STEP_H

#include "figures.h"
#include "job.h"

/* Add "step" and "step.*", seconds, which sum to "step"; and "bubble". */
void predict_time(struct figures *f, const struct job *j);

/* Operations of a token forward, in products and in attention; masked: without
 * the keys that the mask hides. */
double flop_products(const struct shape *s);
double flop_attention(const struct shape *s, double length, int masked);

#endif
