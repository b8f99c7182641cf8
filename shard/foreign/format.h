/*
 * Token files of other projects.  All are little-endian:
 *
 *   megatron   PATH.bin, PATH.idx   Megatron-LM's indexed dataset, version 1
 *   llmc       PATH                 llm.c: 1024-byte head, u16 (v1), u32 (v7)
 *   datatrove  PATH, PATH.index [, PATH.metadata, PATH.loss]
 *   npy        PATH                 NumPy array [N] or [rows, T]
 *   mds        PATH/index.json ...  MosaicML Streaming, version 2
 *
 * read.h and mds.h read such files into a sink (sink.h). export.c and mds.h
 * write them.
 */
#ifndef SHARD_FOREIGN_FORMAT_H
#define SHARD_FOREIGN_FORMAT_H

enum foreign {
    FOREIGN_MEGATRON,
    FOREIGN_LLMC,
    FOREIGN_DATATROVE,
    FOREIGN_NPY,
    FOREIGN_MDS
};
extern const char *const foreign_names[];
/* The enum foreign of that name; dies (EX_USAGE). */
int foreign_format(const char *name);

#endif
