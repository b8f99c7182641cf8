/*
 * Cutting a model: fewer blocks, fewer heads and MLP channels in them, fewer
 * ids.
 */
#ifndef PRUNE_CUT_MODEL_H
#define PRUNE_CUT_MODEL_H

#include "choice.h"
#include "base/mem.h"
#include "model/model.h"

/*
 * out = the parts of m that c keeps, in c's order.  c.mlp and c.KV become those
 * of the widest block.  Weights that do not change are borrowed from m;
 * gathered ones are fp32 in *a, which is made here.  A sparse matrix that loses
 * columns is no longer listed as sparse, for its pattern would not be true.
 * block.source stays as it is in m, and `origin` lists the groups and channels
 * that c keeps, so that a cut model can be cut again.  Free with model_cut_free
 * before m is closed.
 */
void model_cut(struct model *out, const struct model *m, const struct choice *c,
    struct arena *a);
/* Columns of o that block b keeps of m's: list [b->ngroups * H/KV * D],
 * malloc'd, ascending; NULL: all. */
size_t *cut_columns(const struct model *m, const struct choice_block *b);
/*
 * out = m with n rows of embedding and head, id[n], ascending; other ids in its
 * configuration become -1.  Gathered rows are fp32 in *a, which is made here;
 * everything else is borrowed from m.
 */
void model_cut_rows(struct model *out, const struct model *m,
    const uint32_t *id, size_t n, struct arena *a);
/* Free a model of model_cut or model_cut_rows, and *a. */
void model_cut_free(struct model *out, struct arena *a);

#endif
