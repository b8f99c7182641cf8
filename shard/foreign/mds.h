/* MosaicML Streaming: see mds.c and format.h. */
#ifndef SHARD_FOREIGN_MDS_H
#define SHARD_FOREIGN_MDS_H

#include "sink.h"

#include <stddef.h>
#include <stdint.h>

/* Read the directory PATH.  Dies on errors; EX_INPUT names file and offset. */
void read_mds(struct sink *s, const char *path);

/* Write a directory, document by document; ids [n] are below vocab. */
struct mds_out;
struct mds_out *mds_begin(const char *path, size_t vocab);
void mds_doc(struct mds_out *m, const uint32_t *ids, size_t n);
void mds_end(struct mds_out *m);

#endif
