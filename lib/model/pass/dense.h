/* The dense MLP as part of a block; see run.h.  Private to lib/model. */
#ifndef MODEL_DENSE_H
#define MODEL_DENSE_H

#include "model/pass/run.h"

/* part_dense's functions, which shared experts use too. */
void dense_forward(struct run *u, const struct branch *in);
void dense_backward(struct run *u, const struct branch *in);

#endif
