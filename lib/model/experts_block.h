/* The experts of a block as steps of its forward and backward pass. */
#ifndef MODEL_EXPERTS_BLOCK_H
#define MODEL_EXPERTS_BLOCK_H

#include "model/backward_block.h"

/* Add the outputs of the experts for f->xn to f->out, which already has the
 * shared expert's output, if there is one; keep the router's logits in
 * a.route. */
void experts_block_forward(struct run *u);
/* Run the experts backward, some sequences at a time.  Add what follows from
 * g->ddown to g->dxn, which already has the gradient through the shared expert,
 * if there is one; set g->dz, and add the gradients of the experts. */
void experts_block_backward(struct run *u);

#endif
