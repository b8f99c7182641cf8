/* The options for writing a directory that several commands of shard have. */
#ifndef SHARD_STORE_H
#define SHARD_STORE_H

#include "cli/shared.h"
#include "shard/write.h"

#include <stddef.h>

struct store_args {
    const char *out;
    int codec;
    size_t level, shard_size, frame;
    struct shard_opts o;
};
#define STORE_DEFAULT                                     \
    {                                                     \
        .shard_size = (size_t)64 << 20, .frame = 1 << 20, \
    }
/* Rows of an option table for struct store_args a. */
#define STORE_OPTIONS(a)                                                      \
    OPT_STR('o', "output", &(a).out, "dir", "the directory to write"),        \
        OPT_FLAG('f', "force", &(a).o.force,                                  \
            "replace what the directory holds"),                              \
        OPT_ENUM(0, "codec", &(a).codec, codec_names, "name", "compression"), \
        OPT_SIZE(0, "level", &(a).level, 0, 19, "n",                          \
            "compression level: zstd 1-19, lz4 1-12 (0: zstd 3, lz4 1)"),     \
        OPT_SIZE(0, "shard-size", &(a).shard_size, 1, 0x1p40, "bytes",        \
            "begin another file at this size"),                               \
        OPT_SIZE(0, "frame", &(a).frame, 1, 0x1p30, "bytes",                  \
            "bytes in a frame before compression"),                           \
        OPT_THREADS(&(a).o.threads)

/* Set a->o from the other fields; dies (EX_USAGE) on a level that the codec
 * does not have. */
void store_check(struct store_args *a);

/* Unit of the counts in a directory: "rows" or "documents". */
const char *store_unit(const struct manifest *m);
/* Rename the directory dir to `old`, and `new` to dir: in one step if the
 * system can.  Dies on errors. */
void store_exchange(const char *dir, const char *new, const char *old);

#endif
