/*
 * A model whose first `blocks` blocks are run, with their matrices split over
 * the ranks of a group (--shard).  Each block is gathered before it is run;
 * with dist_overlap, while the block before it runs.
 */
#ifndef TEACHER_SHARD_H
#define TEACHER_SHARD_H

#include "dist/dist.h"
#include "model/files/model.h"

#include <stddef.h>

enum { SHARD_NONE, SHARD_NODE, SHARD_WORLD };
struct shard;
/* blocks: how many blocks are run.  m and g must outlive the result. */
struct shard *shard_new(const struct model *m, const struct dist_group *g,
    size_t blocks);
void shard_free(struct shard *s);
/* The model to run, which s owns. */
const struct model *shard_model(const struct shard *s);
/* Bytes of this rank's parts. */
size_t shard_own_bytes(const struct shard *s);
/* Bytes of this rank's parts and of the buffers for gathered blocks. */
size_t shard_bytes(const struct shard *s);
const struct dist_group *shard_group(const struct shard *s);

#endif
