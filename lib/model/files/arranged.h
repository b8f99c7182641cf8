/* Tensors that a Hugging Face directory has in another arrangement than struct
 * block: with the rows of one head (of Q, K and V) before those of the next
 * (family.by_head), or as [in,out] (family.turned).  Private to lib/model. */
#ifndef MODEL_ARRANGED_H
#define MODEL_ARRANGED_H

#include "model/files/model.h"

/* arranged_turned: is tensor t of blocks stored as [in,out]?  arranged_is: is
 * it stored so, by head, or as a part of a longer vector? */
int arranged_is(const struct config *c, int t);
int arranged_turned(const struct config *c, int t);
/* Copy tensor t of a block of this shape out of the stored tensor `from`, in
 * which the tensors before t have `before` rows; *w becomes the copy.  Returns
 * its memory, which the caller frees.  Numbers of other types than fp32, fp16
 * and bf16 become fp32. */
void *arranged_take(const struct config *c, int t,
    const struct block_shape *shape, size_t before, const struct weight *from,
    struct weight *w);
/* Fill x, which holds zeros, with the stored tensor that begins with tensor t
 * of a whole block; w: t and the tensors after it, which may have fewer rows
 * and columns. */
void arranged_fill(const struct config *c, int t,
    const struct block_shape *whole, const struct weight *w, float *x);

#endif
