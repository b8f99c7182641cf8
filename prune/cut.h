/*
 * Cutting a model: fewer blocks, fewer heads and MLP channels in them, fewer
 * ids.
 */
#ifndef PRUNE_CUT_H
#define PRUNE_CUT_H

#include "choice.h"
#include "base/mem.h"
#include "model/model.h"

/*
 * out = what c keeps of m, in its order.  c.mlp and c.KV become those of the
 * widest block that is left.  Weights that are not changed are borrowed from m;
 * gathered ones are fp32 in *a, which is made here.  A matrix that loses
 * columns is none of the sparse ones any more: its pattern would not be true.
 * block.source stays as it is in m, and `kept` tells what c keeps of it,
 * so that a cut model can be cut again.  Free with model_cut_free before m is
 * closed.
 */
void model_cut(struct model *out, const struct model *m, const struct choice *c,
    struct arena *a);
/* Columns of o, query heads' numbers, that block b keeps of m's: list
 * [b->ngroups * H/KV * D], malloc'd, ascending; NULL: all. */
size_t *cut_columns(const struct model *m, const struct choice_block *b);
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
