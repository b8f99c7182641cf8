/*
 * A rank's share of a model that several run together (tensor parallel: Shoeybi
 * et al., arXiv:1909.08053): of every block some heads of attention and some
 * channels of the MLP.  What o and down give is then one term of a sum over the
 * ranks, which fwd_sum has made; all else is the whole model's.
 *
 * KV groups are dealt out as evenly as they can be.  Where there are fewer of
 * them than ranks, or as many only by unequal shares, a group's query heads are
 * split, and each part has the group's K and V to itself.
 */
#ifndef MODEL_SHARE_H
#define MODEL_SHARE_H

#include "base/mem.h"
#include "model/model.h"

struct model_share {
    struct model m;   /* c.H, c.KV, c.mlp: the widest of its blocks */
    struct arena mem; /* matrices of its blocks, in their stored type; columns
                       * that cut a quantised row in a block of numbers are
                       * fp32 */
};
/* That of rank < n.  Embedding, norms and head are m's own, which outlives it;
 * what is read of m does not stay in memory.  -1 and EX_USAGE: more ranks than
 * query heads. */
int share_make(struct model_share *s, const struct model *m, size_t rank,
    size_t n, struct err *e);
void share_release(struct model_share *s);

#endif
