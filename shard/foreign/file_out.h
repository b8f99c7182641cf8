/* A buffered file that gets its name when it is complete.  Dies on errors. */
#ifndef SHARD_FOREIGN_FILE_OUT_H
#define SHARD_FOREIGN_FILE_OUT_H

#include "base/io.h"
#include "base/mem.h"

#include <stddef.h>
#include <stdint.h>

struct file_out {
    struct io_out out;
    struct buf b;
    uint64_t n; /* bytes added */
};
void file_begin(struct file_out *f, const char *path);
void file_add(struct file_out *f, const void *p, size_t n);
void file_number(struct file_out *f, uint64_t v, int bytes);
/* Add ids in 2 or 4 bytes each. */
void file_ids(struct file_out *f, const uint32_t *ids, size_t n, int bytes);
/* Overwrite the first n bytes, which were added before. */
void file_head(struct file_out *f, const void *p, size_t n);
void file_commit(struct file_out *f);

#endif
