/* The experts of a block as steps of its forward and backward pass. */
#ifndef MODEL_EXPERTS_BLOCK_H
#define MODEL_EXPERTS_BLOCK_H

#include "model/pass/backward_block.h"

/* Add the outputs of the experts for f->xn to f->out, which has the shared
 * expert's output; without a shared expert set f->out.  Keep the router's
 * logits in a.route. */
void experts_block_forward(struct run *u);
/* Run the experts backward, some sequences at a time.  From g->ddown, the
 * gradient at f->out, add to g->dxn, which has the gradient through the shared
 * expert; without a shared expert set g->dxn.  Set g->dz, and add the gradients
 * of the experts. */
void experts_block_backward(struct run *u);

#endif
