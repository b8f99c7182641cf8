/*
 * A rank's share of a model that several ranks run together (tensor parallel:
 * Shoeybi et al., arXiv:1909.08053).  It has some attention heads and some MLP
 * channels of every block; all else is as in the whole model.  So the outputs
 * of o and down are terms of sums over the ranks, which the callback of fwd_sum
 * computes.
 *
 * KV groups are divided evenly among the ranks.  If that is impossible, the
 * query heads of each group are split into parts, each of which has a copy of
 * the group's K and V: into the fewest parts that can be divided evenly, or, if
 * there is no such number, the fewest that give each rank one.
 */
#ifndef TEACHER_SHARE_H
#define TEACHER_SHARE_H

#include "base/mem.h"
#include "model/files/model.h"

struct model_share {
    struct model m;   /* c.H, c.KV, c.mlp: of the widest block of the share */
    struct arena mem; /* the share's matrices of blocks: in their stored type,
                       * or in fp32 if the cut splits a quantised block or
                       * the columns of a 2:4 matrix */
};
/* Make the share of rank `rank` of n.  Embedding, norms and head are m's, so m
 * must outlive s.  Pages of m that are read do not stay in memory.  -1,
 * EX_USAGE: more ranks than query heads, or heads of the family cannot be
 * shared. */
int share_make(struct model_share *s, const struct model *m, size_t rank,
    size_t n, struct err *e);
void share_release(struct model_share *s);

#endif
