/* Time of a step by part. */
#ifndef PLAN_STEP_H
#define PLAN_STEP_H

#include "figures.h"
#include "job.h"

/* Add the figures "step.*" and their sum "step", seconds; and "bubble". */
void predict_time(struct figures *f, const struct job *j);

/* FLOP of a token's products in the forward pass, attention excepted. */
double flop_products(const struct shape *s);
/* FLOP of a token's attention in the forward pass, to all `length` keys; masked
 * 1: only to keys that the mask leaves, the mean over tokens. */
double flop_attention(const struct shape *s, double length, int masked);

#endif
