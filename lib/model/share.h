/*
 * A rank's share of a model that several run together (tensor parallel: Shoeybi
 * et al., arXiv:1909.08053): some attention heads and some MLP channels of
 * every block.  The outputs of o and down are then terms of a sum over the
 * ranks, which the callback of fwd_sum computes; everything else is as in the
 * whole model.
 *
 * KV groups are divided evenly among the ranks.  If that is impossible, the
 * query heads of each group are split into the fewest parts that can be divided
 * evenly, or else that give each rank one; each part has a copy of the group's
 * K and V.
 */
#ifndef MODEL_SHARE_H
#define MODEL_SHARE_H

#include "base/mem.h"
#include "model/model.h"

struct model_share {
    struct model m;   /* c.H, c.KV, c.mlp: of its widest block */
    struct arena mem; /* the matrices of its blocks in their stored type, but
                       * fp32 if the cut splits a quantised block of numbers */
};
/* Make the share of `rank` < n.  Embedding, norms and head are m's, which must
 * outlive s; pages of m that are read do not stay in memory.  -1 and EX_USAGE:
 * more ranks than query heads. */
int share_make(struct model_share *s, const struct model *m, size_t rank,
    size_t n, struct err *e);
void share_release(struct model_share *s);

#endif
