/*
 * The folder of a shard directory: names of its files, what else lies in it,
 * what may be removed.  For lib/shard and its tests; the lock and
 * shard_dir_remove, which programs use, are in set.h.
 */
#ifndef SHARD_DIR_H
#define SHARD_DIR_H

#include "shard/set.h"

#define SHARD_LIMIT 100000u /* files: five digits */

/* DIR/name, the caller frees. */
char *shard_path(const char *dir, const char *name);
/* "00012.shard.zst" of number 12, its "00012.index", and the number of such a
 * name (SIZE_MAX: it is none).  Numbers rise, but some may be missing. */
#define SHARD_NAME 32
void shard_name(char *out, size_t i, enum codec c);
void shard_index_name(char *out, const char *shard);
size_t shard_number(const char *shard, enum codec c);

/* Count files that are not a shard directory's, and those that are (without
 * temporary ones). */
int shard_dir_look(const char *dir, size_t *foreign, size_t *shards,
    struct err *e);
/* Remove our temporaries and the shards that keep does not list. */
int shard_dir_clean(const char *dir, const struct manifest *keep,
    struct err *e);
/* Is m, `stream` or `teacher`, the message that dir holds, apart from the keys
 * that resuming adds?  0, or -1 and EX_INPUT. */
int shard_dir_same(const char *dir, const struct msg *m, struct err *e);

#endif
