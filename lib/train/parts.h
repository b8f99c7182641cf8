/*
 * Parameters that ranks have parts of (struct share, model/backward.h): those
 * of a block are gathered before they are read, in its forward and its backward
 * pass, into one of two buffers; those of embedding and head into one of their
 * own.  The parameters of the final norm are everywhere.
 */
#ifndef TRAIN_PARTS_H
#define TRAIN_PARTS_H

#include "dist/dist.h"
#include "train/adamw.h"

struct param_parts;
/* t was made with share->params, of the ranks of g, and so were a's moments.
 * From here on t's weights are fetched (model/fetch.h). */
struct param_parts *parts_new(struct tmodel *t, const struct adamw *a,
    const struct dist_group *g);
/* As ahead_keep. */
void parts_keep(struct param_parts *p, const struct dist_group *node);
void parts_free(struct param_parts *p);
/* Memory of buffers and copies. */
size_t parts_bytes(const struct param_parts *p);
/* After adamw_step. */
void parts_changed(struct param_parts *p);

#endif
