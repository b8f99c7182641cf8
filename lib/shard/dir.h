/*
 * The folder of a shard directory: the names of its files, foreign files in it,
 * and what may be removed.
 */
#ifndef LIB_SHARD_DIR_H
#define LIB_SHARD_DIR_H

#include "base/err.h"
#include "format/frame.h"

#include <stddef.h>

struct manifest;

#define SHARD_LIMIT 100000u /* most shards: their names have five digits */

/* Path DIR/name; the caller frees it. */
char *shard_path(const char *dir, const char *name);
/* shard_name: "00012.shard.zst" (or .shard.lz4) for shard 12;
 * shard_index_name: "00012.index" for that name; shard_number: the number in
 * a shard's name (SIZE_MAX: the name is no shard's).  In a directory the
 * numbers rise, but some may be missing. */
#define SHARD_NAME 32
void shard_name(char *out, size_t i, enum codec c);
void shard_index_name(char *out, const char *shard);
size_t shard_number(const char *shard, enum codec c);

/* Count the files that do not belong to a shard directory (*foreign), and those
 * that do (*shards), temporary ones left out. */
int shard_dir_look(const char *dir, size_t *foreign, size_t *shards,
    struct err *e);
/* Remove a shard directory's temporary files, and the shards that `keep` does
 * not list. */
int shard_dir_clean(const char *dir, const struct manifest *keep,
    struct err *e);

/* Lock a directory against other writers.  Returns a descriptor, or -1.
 * Closing it, or the death of the process, ends the lock. */
int shard_dir_lock(const char *dir, struct err *e);

/* Remove a shard directory with all its files.  EX_USAGE: dir is no shard
 * directory; EX_SYS: it holds other things too, which stay. */
int shard_dir_remove(const char *dir, struct err *e);

#endif
