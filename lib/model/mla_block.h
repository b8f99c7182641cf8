/* Latent attention (mla.h) as steps of a block's passes.  Private to
 * lib/model. */
#ifndef MODEL_MLA_BLOCK_H
#define MODEL_MLA_BLOCK_H

#include "model/forward_block.h"

/* From the normed rows u->f->xn compute a.qkv, ready for attention. */
void mla_block_heads(struct run *u);
/* Set u->f->mla.out, the input of W_O, from the outputs of heads, a.att. */
void mla_block_outputs(struct run *u);

#endif
