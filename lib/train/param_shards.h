/*
 * Parameters that are split over ranks (struct share, model/pass/tmodel.h).
 * The parameters of a block are gathered before its forward and its backward
 * pass, into one of two buffers; embedding and head have a third buffer.  All
 * ranks keep the final norm.
 */
#ifndef TRAIN_PARAM_SHARDS_H
#define TRAIN_PARAM_SHARDS_H

#include "dist/dist.h"
#include "train/adamw.h"

struct param_shards;
/* Make passes fetch t's weights (model/files/fetch.h).  t (with share.params)
 * and the moments of a are split over the ranks of g. */
struct param_shards *param_shards_new(struct tmodel *t, const struct adamw *a,
    const struct dist_group *g);
/* Keep copies of gathered parameters on the ranks of a node (ahead_keep). */
void param_shards_keep(struct param_shards *p, const struct dist_group *node);
void param_shards_free(struct param_shards *p);
/* Bytes of buffers and copies. */
size_t param_shards_bytes(const struct param_shards *p);
/* Call it after adamw_step, which changes parameters: they must be gathered
 * again. */
void param_shards_changed(struct param_shards *p);

#endif
