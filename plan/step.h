/* Time of a step by part. */
#ifndef PLAN_STEP_H
#define PLAN_STEP_H

#include "figures.h"
#include "job.h"

/* Add the figures "step.*" and their sum "step", seconds; and "bubble". */
void predict_time(struct figures *f, const struct job *j);

/* An exchange of gradients or, with sync, of weights between all ranks, of a
 * model of `params` parameters: the bytes that a rank sends, and seconds. */
double exchange_bytes(const struct job *j, double params);
double exchange_time(const struct job *j, double params);
/* The smallest sync with which ranks work 90 % of the time: with c seconds of
 * work in a step and e of an exchange every H steps, c / (c + e / H) of it is
 * work, and that is 0.9 with H = 9 e / c. */
double sync_least(double e, double c);

/* FLOP of a token's products in the forward pass, attention excepted. */
double flop_products(const struct shape *s);
/* FLOP of a token's attention in the forward pass, to all `length` keys; masked
 * 1: only to keys that the mask leaves, the mean over tokens. */
double flop_attention(const struct shape *s, double length, int masked);

#endif
