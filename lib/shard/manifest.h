/*
 * manifest.json of a shard directory, which lists what is committed: see
 * retort-shard(5).
 */
#ifndef LIB_SHARD_MANIFEST_H
#define LIB_SHARD_MANIFEST_H

#include "base/err.h"
#include "format/frame.h"
#include "msg/msg.h"

#include <stddef.h>
#include <stdint.h>

#define SHARD_MANIFEST "manifest.json"

/* Counts of a source.  The structs below own their strings and arrays. */
struct shard_source {
    char *name;
    uint64_t docs, tokens; /* docs: documents, or pieces of batches */
};
struct shard_file {
    char *name;     /* "00000.shard.zst"; its index is "00000.index" */
    uint64_t bytes; /* of the file */
    uint64_t raw;   /* bytes of its content, uncompressed */
    uint64_t frames, messages;
    uint64_t docs, tokens; /* docs: documents, or rows of batches; tokens:
                            * without padding */
    struct chain hash;     /* XXH3-128 of the file */
    uint64_t index_bytes;
    struct chain index_hash;
    struct chain frames_hash; /* hash of the index without its documents */
};
struct manifest {
    int complete;    /* 1: complete, 0: open */
    char *content;   /* "docs" or "batch"; "": no message yet */
    char *tokenizer; /* hash in the stream message */
    size_t vocab, T;
    enum codec codec;
    int level;
    uint64_t frame_size, shard_size;
    int teacher;                          /* there is a teacher message */
    uint64_t messages, docs, tokens, raw; /* sums over the shards */
    /* About the last committed message; undefined if nfile is 0. */
    uint64_t seq;
    struct chain chain; /* H(seq) */
    char *cursor;       /* metadata `cursor` of that message, or NULL */
    struct shard_source *source;
    size_t nsource;
    struct shard_file *file;
    size_t nfile;
    struct chain hash; /* hash of all other lines; the last line holds it */
};
/* Read and check DIR/manifest.json.  EX_SYS: it cannot be read. */
int manifest_read(struct manifest *m, const char *dir, struct err *e);
/* Is DIR/manifest.json a shard directory's manifest, even a damaged one?
 * Returns 1; 0: no, or there is no such file; -1: it cannot be read. */
int manifest_is_ours(const char *dir, struct err *e);
/* Begin a manifest with the content, tokenizer and sources of a `stream`
 * message; all counts are 0. */
void manifest_begin(struct manifest *m, const struct stream_info *i);
/* Replace DIR/manifest.json. */
int manifest_write(struct manifest *m, const char *dir, struct err *e);
void manifest_release(struct manifest *m);

#endif
