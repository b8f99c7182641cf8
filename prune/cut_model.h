/*
 * Cuts a model: keeps fewer blocks, heads, MLP channels or ids.
 */
#ifndef PRUNE_CUT_MODEL_H
#define PRUNE_CUT_MODEL_H

#include "choice.h"
#include "base/mem.h"
#include "model/files/model.h"

/*
 * out = the parts of m that c keeps, in c's order.  Tensors that are not cut
 * are borrowed from m; cut ones are copies in *a, which is made here: fp32 if
 * they lost columns or elements or had a mask, else in m's type.  out->c.mlp
 * and out->c.KV are the largest of any block.  A matrix with n:m zeros that
 * loses columns no longer keeps the pattern, and is not listed as sparse.
 * block.source stays as in m, and `origin` lists the groups and channels that c
 * keeps, so that a cut model can be cut again.  Free with model_cut_free before
 * m is closed.
 */
void model_cut(struct model *out, const struct model *m, const struct choice *c,
    struct arena *a);
/* Columns of m's matrix o that b keeps: ascending [b->ngroups * H/KV * D],
 * malloc'd; NULL: all. */
size_t *cut_columns(const struct model *m, const struct choice_block *b);
/*
 * out = m with only the rows id[n] (ascending) of embedding and head.  The
 * configuration gets the new ids: BOS and padding become -1 if id[n] lacks
 * them, and EOS ids that it lacks are removed.  The kept rows are copies in *a,
 * which is made here; everything else is borrowed from m.
 */
void model_cut_rows(struct model *out, const struct model *m,
    const uint32_t *id, size_t n, struct arena *a);
/* Free a model that model_cut or model_cut_rows made, and *a. */
void model_cut_free(struct model *out, struct arena *a);

#endif
