/*
 * Cutting a model: fewer blocks, fewer channels in their MLPs.  What is cut
 * is decided in search.c.
 */
#ifndef PRUNE_CUT_H
#define PRUNE_CUT_H

#include "base/mem.h"
#include "model/model.h"

/* A block that is kept. */
struct keep {
    size_t block;       /* index in the model that is cut */
    const size_t *chan; /* [n] channels kept, ascending; NULL: all */
    size_t n;
};

/*
 * out = the L >= 1 blocks of `keep` of m, in their order.  Weights that are
 * not changed are borrowed from m; gathered MLPs are fp32 in *a, which is made
 * here.  block.source stays as it is in m, so that a cut model can be cut
 * again.  Free with model_cut_free before m is closed.
 */
void model_cut(struct model *out, const struct model *m,
    const struct keep *keep, size_t L, struct arena *a);
/*
 * out = m with the n rows id[n] of embedding and head, ascending; ids of its
 * configuration that are not among them become -1.  The gathered rows are fp32
 * in *a, the rest is as above.
 */
void model_cut_rows(struct model *out, const struct model *m,
    const uint32_t *id, size_t n, struct arena *a);
/* Of either. */
void model_cut_free(struct model *out, struct arena *a);

#endif
