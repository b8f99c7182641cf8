/* Readers of the formats of token files (format.h) but MDS (mds.h). */
#ifndef SHARD_FOREIGN_READ_H
#define SHARD_FOREIGN_READ_H

#include "sink.h"

/* Read PATH.  Dies on errors; EX_INPUT names file and offset. */
void read_megatron(struct sink *s, const char *path);
void read_llmc(struct sink *s, const char *path);
void read_datatrove(struct sink *s, const char *path);
void read_npy(struct sink *s, const char *path);

#endif
