/* Routing of a mixture of experts, by the rules of struct router. */
#ifndef MODEL_ROUTE_H
#define MODEL_ROUTE_H

#include "model/config/router.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Choose the experts of a token from its logits z [n].
 *   bias  [n] is added to the scores for the choice, not in the weights; NULL:
 *         none
 *   id    [k] out: the experts, best first; of equal ones the lower number
 *         first
 *   w     [k] out: their weights
 * Scores are computed in double.  A NaN among the logits gives valid ids and
 * weights of NaN.
 */
void router_choose(const struct router *r, const float *z, const float *bias,
    uint32_t *id, float *w);
/* The scores p [n] of all experts in double; for CHOSEN by a softmax over all.
 * Returns their sum, 1 but for SIGMOID. */
double router_scores(const struct router *r, const float *z, double *p);
/*
 * The gradient of the logits.
 *   id  [k] as router_choose set it
 *   dw  [k] the gradient of the weights
 *   dp  [n] a further gradient, of the scores divided by their sum; NULL: none
 *   dz  [n] out
 * The choice itself has no gradient.
 */
void router_backward(const struct router *r, const float *z, const uint32_t *id,
    const float *dw, const double *dp, float *dz);

#endif
