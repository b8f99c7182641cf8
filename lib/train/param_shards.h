/*
 * Parameters that ranks have parts of (struct share, model/backward.h): those
 * of a block are gathered before they are read, in its forward and its backward
 * pass, into one of two buffers; those of embedding and head into one of their
 * own.  The parameters of the final norm are everywhere.
 */
#ifndef TRAIN_PARAM_SHARDS_H
#define TRAIN_PARAM_SHARDS_H

#include "dist/dist.h"
#include "train/adamw.h"

struct param_shards;
/* t was made with share->params, of the ranks of g, and so were a's moments.
 * From here on t's weights are fetched (model/fetch.h). */
struct param_shards *param_shards_new(struct tmodel *t, const struct adamw *a,
    const struct dist_group *g);
/* As ahead_keep. */
void param_shards_keep(struct param_shards *p, const struct dist_group *node);
void param_shards_free(struct param_shards *p);
/* Memory of buffers and copies. */
size_t param_shards_bytes(const struct param_shards *p);
/* After adamw_step. */
void param_shards_changed(struct param_shards *p);

#endif
