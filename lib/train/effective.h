/*
 * Effective weights E: the matrices that the passes of training use and that
 * the finished model holds, if they differ from W, the optimiser's parameters:
 *
 *     E = round(mask(W))
 *
 * E is computed after each update.  Gradients of E are applied to W: a
 * straight-through estimator (Bengio et al., arXiv:1308.3432).  Masks are
 * chosen again as W changes.  The gradients of masked weights get a decay term
 * (adamw_opt.mask_decay): SR-STE, Zhou et al., arXiv:2102.04010.
 */
#ifndef TRAIN_EFFECTIVE_H
#define TRAIN_EFFECTIVE_H

#include "base/pool.h"
#include "model/pass/backward.h"

/* Names of roundings, for options: none, int8, or a mixture (mixture.h). */
extern const char *const rounding_names[];
/* Set *how from the index `as` into rounding_names and a mask such as "2:4"
 * (NULL: none).  -1 (EX_USAGE), "--mask: why": the mask is no such pattern, or
 * the rounding is one for which effective_searches is 1. */
int effective_parse(struct effective *how, int as, const char *mask,
    struct err *e);

/* Does the encoder search scales, so that rounding E again changes E? */
int effective_searches(const struct effective *how);

/*
 * Make t's matrices point to E, which effective_make fills: the matrices of
 * blocks, and embedding and head where model_export_gguf rounds them too
 * (ROUND_FILE).
 *
 * If how->of > 0, all matrices of blocks have masks (group.mask), which
 * effective_choose sets; none counts as sparse (block.sparse) until
 * effective_end.
 *
 * This process must have every group's parameters and, for masks, gradients in
 * fp32.  Without rounding and masks nothing is done.  -1 (EX_USAGE): the number
 * of a matrix's columns is no multiple of how->of.
 */
int effective_begin(struct tmodel *t, const struct effective *how,
    struct err *e);
/* Choose the masks by the present W: of each `of` numbers in a row keep the
 * `keep` of largest magnitude; among equal magnitudes the last ones.  Without
 * masks nothing is done. */
void effective_choose(struct tmodel *t, struct pool *pool);
/* Compute E from the present W and masks. */
void effective_make(struct tmodel *t, struct pool *pool);
/* End training: masked matrices count as sparse (block.sparse) from here on. */
void effective_end(struct tmodel *t);
/* Bytes of E; 0: there is none. */
size_t effective_bytes(const struct tmodel *t);
/* Set *m to t's model with the weights W, for writing.  t must outlive m, whose
 * m->block the caller frees. */
void effective_master(const struct tmodel *t, struct model *m);

#endif
