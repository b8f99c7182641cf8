/*
 * A model whose first blocks' matrices are split over ranks (--shard).  Each
 * rank of g has a part, and block after block is gathered before it is run,
 * with dist_overlap the next one meanwhile.  The other blocks are not run.
 */
#ifndef TEACHER_SHARD_H
#define TEACHER_SHARD_H

#include "dist/dist.h"
#include "model/model.h"

#include <stddef.h>

enum { SHARD_NONE, SHARD_NODE, SHARD_WORLD };
struct shard;
/* m and g outlive it. */
struct shard *shard_new(const struct model *m, const struct dist_group *g,
    size_t blocks);
void shard_free(struct shard *s);
/* The model to run; valid as long as s. */
const struct model *shard_model(const struct shard *s);
/* Bytes of this rank's parts / of these and of room for whole blocks. */
size_t shard_own_bytes(const struct shard *s);
size_t shard_bytes(const struct shard *s);
const struct dist_group *shard_group(const struct shard *s);

#endif
