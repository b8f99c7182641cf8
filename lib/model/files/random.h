/* A new model with random weights. */
#ifndef MODEL_RANDOM_H
#define MODEL_RANDOM_H

#include "base/mem.h"
#include "model/files/model.h"

/*
 * Make a model of configuration c.  b [L]: the blocks' shapes; NULL: all are
 * whole.
 *   matrices: normal(0, c->init_range); those whose products are added to the
 *             residual stream (W_O, W_DOWN, W_EXPERT_DOWN, W_DELTA_OUT,
 *             W_SHORT_OUT) are divided by sqrt(2 L), as in GPT-2
 *   norms: 1; biases and sinks: 0
 *   vectors of the gated delta rule and of the short convolution: as
 *             transformers initialises Qwen 3.5
 *   the numbers of xIELU: as transformers initialises Apertus
 * The values depend on c, b and seed alone.  Weights lie in *a, which the
 * caller releases after model_random_free.
 */
void model_random(struct model *m, const struct config *c,
    const struct block_shape *b, uint64_t seed, struct arena *a);
void model_random_free(struct model *m);

#endif
