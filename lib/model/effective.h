/*
 * Effective weights: what the passes of a model in training see of its
 * matrices, and what the finished model holds, where that is not what the
 * optimiser has.  Of the parameters W, in place of which they lie,
 *
 *     E = round(mask(W))
 *
 * is made after each update.  Gradients are those at E, and are applied to W as
 * if it were E: a straight-through estimator (Bengio et al., arXiv:1308.3432).
 * Masks that are chosen anew as W changes, and what is added to the gradient of
 * what they leave out (adamw_opt.mask_decay): SR-STE, Zhou et al.,
 * arXiv:2102.04010.
 */
#ifndef MODEL_EFFECTIVE_H
#define MODEL_EFFECTIVE_H

#include "base/pool.h"
#include "model/backward.h"

/* By enum effective_as, for options. */
extern const char *const rounding_names[];
/* Set *how from the number of such a name, and from a mask as "2:4" (NULL:
 * none).  -1 (EX_USAGE): "--mask: ...". */
int effective_parse(struct effective *how, int as, const char *mask,
    struct err *e);

/*
 * From here on t's weights are E, which effective_make makes: of the matrices
 * of blocks, and of embedding and head where model_export_gguf rounds them too
 * (ROUND_Q4_0, ROUND_Q8_0).  With how->of > 0 all matrices of blocks have masks
 * (group.mask), which effective_choose chooses, and none has zeros of its own
 * (block.sparse) until effective_end.  Every group's parameters must be here,
 * and of masks the gradients in fp32.
 * Neither rounding nor masks: nothing is done.  -1 (EX_USAGE): a matrix whose
 * rows are no multiple of how->of.
 */
int effective_begin(struct tmodel *t, const struct effective *how,
    struct err *e);
/* Masks of W as it is: in each `of` numbers of a row the `keep` farthest from
 * 0, of equal ones the last.  Nothing without masks. */
void effective_choose(struct tmodel *t, struct pool *pool);
/* E of W and the masks as they are. */
void effective_make(struct tmodel *t, struct pool *pool);
/* Training is over: the zeros of E are the model's own. */
void effective_end(struct tmodel *t);
/* Bytes of E; 0: there is none. */
size_t effective_bytes(const struct tmodel *t);
/* t's model with W for its weights, to be written while t lives; the caller
 * frees m->block. */
void effective_master(const struct tmodel *t, struct model *m);

#endif
