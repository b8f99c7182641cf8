/*
 * Token files of other projects, little-endian all of them:
 *
 *   megatron   PATH.bin, PATH.idx   Megatron-LM's indexed dataset, version 1
 *   llmc       PATH                 llm.c: 1024-byte head, u16 (v1), u32 (v7)
 *   datatrove  PATH, PATH.index [, PATH.metadata, PATH.loss]
 *   npy        PATH                 NumPy array [N] or [rows, T]
 *   mds        PATH/index.json ...  MosaicML Streaming, version 2
 *
 * Readers hand documents to a sink, writers take them one by one.
 */
#ifndef SHARD_FOREIGN_FOREIGN_H
#define SHARD_FOREIGN_FOREIGN_H

#include "base/io.h"
#include "base/mem.h"

#include <stddef.h>
#include <stdint.h>

enum foreign {
    FOREIGN_MEGATRON,
    FOREIGN_LLMC,
    FOREIGN_DATATROVE,
    FOREIGN_NPY,
    FOREIGN_MDS
};
extern const char *const foreign_names[];
/* The format of that name; dies (EX_USAGE). */
int foreign_format(const char *name);

/* Types of ids in files. */
enum id_type {
    ID_U8,
    ID_I8,
    ID_U16,
    ID_I16,
    ID_U32,
    ID_I32,
    ID_U64,
    ID_I64,
    ID_NONE
};
size_t id_size(enum id_type t); /* bytes */
/* "uint16", "int32", ... or ID_NONE. */
enum id_type id_type_of(const char *name, size_t n);

/* An array of ids inside a file. */
struct ids_view {
    const unsigned char *p;
    size_t n; /* ids */
    enum id_type type;
    const char *file; /* for errors */
    uint64_t at;      /* offset of p in it */
};

/* Ids at which a file without bounds of documents is cut. */
struct split {
    int64_t bos, eos; /* or -1 */
};

struct sink;
/* One document: view[from .. from+n), with its loss mask or NULL.  Dies when
 * an id is not below the vocabulary.  Empty ones are counted and left out. */
void sink_doc(struct sink *s, const struct ids_view *v, size_t from, size_t n,
    const unsigned char *mask);
/* A view without bounds: a document ends after eos; without one it begins at
 * bos; with neither it is one document. */
void sink_split(struct sink *s, const struct ids_view *v);
/* The vocabulary of the stream that is made. */
size_t sink_vocab(const struct sink *s);

/* Read PATH; all errors die, EX_INPUT with file and offset. */
void read_megatron(struct sink *s, const char *path);
void read_llmc(struct sink *s, const char *path);
void read_datatrove(struct sink *s, const char *path);
void read_npy(struct sink *s, const char *path);
void read_mds(struct sink *s, const char *path);

/* A document to be written. */
struct export_doc {
    const uint32_t *ids;
    const uint8_t *mask; /* [n], 0 or 1; NULL: all 1 */
    size_t n;            /* > 0 */
};
/* A buffered file that appears when it is whole. */
struct file_out {
    struct io_out out;
    struct buf b;
    uint64_t n; /* bytes given */
};
void file_begin(struct file_out *f, const char *path);
void file_add(struct file_out *f, const void *p, size_t n);
void file_number(struct file_out *f, uint64_t v, int bytes);
/* ids in 2 or 4 bytes each */
void file_ids(struct file_out *f, const uint32_t *ids, size_t n, int bytes);
/* Overwrite what is there at the beginning. */
void file_head(struct file_out *f, const void *p, size_t n);
void file_commit(struct file_out *f);

struct mds_out;
struct mds_out *mds_begin(const char *path, size_t vocab);
void mds_doc(struct mds_out *m, const struct export_doc *d);
void mds_end(struct mds_out *m);

#endif
