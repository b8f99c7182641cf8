/*
 * manifest.json of a shard directory: what is committed; retort-shard(5).
 */
#ifndef LIB_SHARD_MANIFEST_H
#define LIB_SHARD_MANIFEST_H

#include "base/err.h"
#include "format/frame.h"
#include "msg/msg.h"

#include <stddef.h>
#include <stdint.h>

#define SHARD_MANIFEST "manifest.json"

/* Strings and arrays are owned by the struct. */
struct shard_source {
    char *name;
    uint64_t docs, tokens; /* documents (pieces of batches), tokens */
};
struct shard_file {
    char *name; /* "00000.shard.zst"; its index "00000.index" */
    uint64_t bytes, raw, frames, messages;
    uint64_t docs, tokens; /* documents (rows), tokens without padding */
    struct chain hash;     /* XXH3-128 of the file */
    uint64_t index_bytes;
    struct chain index_hash;
    struct chain frames_hash; /* of the index without its documents */
};
struct manifest {
    int complete;    /* state: complete, else open */
    char *content;   /* "docs" or "batch"; "" with no message yet */
    char *tokenizer; /* hash, as in the stream message */
    size_t vocab, T;
    enum codec codec;
    int level;
    uint64_t frame_size, shard_size;
    int teacher;                          /* a teacher message is there */
    uint64_t messages, docs, tokens, raw; /* sums over the shards */
    /* The last committed message (meaningless when nfile is 0). */
    uint64_t seq;
    struct chain chain; /* H(seq) */
    char *cursor;       /* its metadata `cursor`, or NULL */
    struct shard_source *source;
    size_t nsource;
    struct shard_file *file;
    size_t nfile;
    struct chain hash; /* of the manifest itself, its last line */
};
/* Read and check DIR/manifest.json.  EX_SYS when it cannot be read. */
int manifest_read(struct manifest *m, const char *dir, struct err *e);
/* Does DIR hold a manifest.json that is a shard directory's, be it damaged: 1;
 * 0: none, or that of something else; -1: it cannot be read. */
int manifest_is_ours(const char *dir, struct err *e);
/* Sources and counts of a manifest from the `stream` message. */
void manifest_begin(struct manifest *m, const struct stream_info *i);
/* Replace DIR/manifest.json. */
int manifest_write(struct manifest *m, const char *dir, struct err *e);
void manifest_release(struct manifest *m);

#endif
