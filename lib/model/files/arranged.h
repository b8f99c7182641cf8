/* Tensors that a Hugging Face directory has in another arrangement than struct
 * block: with the rows of one head (of Q, K and V) before those of the next
 * (family.by_head), or as [in,out] (family.turned).  Private to lib/model. */
#ifndef MODEL_ARRANGED_H
#define MODEL_ARRANGED_H

#include "model/files/model.h"

/* Is tensor t of blocks stored so, or a part of a stored vector?
 * arranged_turned: is it a matrix [in,out]? */
int arranged_is(const struct config *c, int t);
int arranged_turned(const struct config *c, int t);
/* A copy of tensor t of a block of this shape, taken from `from`, the stored
 * tensor that has it, where `before` rows come before t: w becomes the copy.
 * The caller frees what is returned.  NULL and *e: the type of the numbers is
 * not supported for this. */
void *arranged_take(const struct config *c, int t,
    const struct block_shape *shape, size_t before, const struct weight *from,
    struct weight *w, struct err *e);
/* Fill x, which holds zeros, with the stored tensor that begins with tensor t
 * of a whole block; w: t and the tensors after it, which may have fewer rows
 * and columns. */
void arranged_fill(const struct config *c, int t,
    const struct block_shape *whole, const struct weight *w, float *x);

#endif
