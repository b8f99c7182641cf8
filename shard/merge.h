/* Merges several streams and directories into one directory. */
#ifndef SHARD_COMMAND_MERGE_H
#define SHARD_COMMAND_MERGE_H

#include "shard/write.h"

/* in: streams and directories, NULL-terminated; empty: standard input.  Sources
 * of the same name become one.  append: keep the content of dir and write after
 * it; partial: accept open directories.  Dies on errors. */
void merge(char **in, const char *dir, int append, int partial,
    const struct shard_opts *o);

#endif
