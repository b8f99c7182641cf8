/* A new model with random weights. */
#ifndef MODEL_RANDOM_H
#define MODEL_RANDOM_H

#include "base/mem.h"
#include "model/model.h"

/*
 * Every matrix normal(0, c->init_range), O and DOWN divided by sqrt(2 L) (as
 * GPT-2), norms 1; a function of c, b and seed alone.  b [L]: shapes of the
 * blocks, NULL: all are whole.  Weights live in *a, which the caller releases
 * after model_random_free.
 */
void model_random(struct model *m, const struct config *c,
    const struct block_shape *b, uint64_t seed, struct arena *a);
void model_random_free(struct model *m);

#endif
