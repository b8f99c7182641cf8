/*
 * Shard directories (retort-shard(5)): a saved pipe.  The content of all shard
 * files, decompressed and in order, is the stream: `stream`, perhaps `teacher`,
 * then docs or batches, then `end` in the last file.
 *
 *   DIR/manifest.json     what is committed; replaced as a whole
 *   DIR/00000.shard.zst   frames, then a seek table (or .shard.lz4)
 *   DIR/00000.index       mapped: frames, messages, documents of that shard
 *
 * To read documents in any order: set_open, then set_frames for every shard;
 * `part` of the index says which frames hold documents of a source, how many,
 * and how many tokens; set_peek gives their messages.  To replay rows: `msg` of
 * the index says which rows a message has; set_msg decodes it.  To read
 * everything in order: set_in_open (source.h).  Everything that is read is
 * checked against a hash before it is used.
 *
 * write.h and make.h write directories, check.h checks and repair.h repairs
 * them, dir.h has the names of their files.
 */
#ifndef LIB_SHARD_SET_H
#define LIB_SHARD_SET_H

#include "base/err.h"
#include "format/frame.h"
#include "msg/msg.h"
#include "shard/index.h"
#include "shard/manifest.h"

#include <stddef.h>
#include <stdint.h>

/* An open directory.  Opening it reads no index: set_index and set_frames map
 * one when it is asked for.  Only one thread at a time may use it, with one
 * exception: of shards whose index was asked for, several threads may read
 * frames and messages, each with its own shard_buf. */
struct shard_set;
/* Open a directory.  One whose manifest says `open` (not finished) is refused
 * (EX_INPUT) unless partial. */
struct shard_set *set_open(const char *dir, int partial, struct err *e);
void set_close(struct shard_set *s);
const char *set_dir(const struct shard_set *s);
/* Tell the system not to read ahead in the shard files, because frames will be
 * read out of order, or by threads that read ahead themselves.  Call before any
 * frame is read. */
void set_scatter(struct shard_set *s);
const struct manifest *set_manifest(const struct shard_set *s);
/* The `stream` message; the `teacher` message.  s owns them.  NULL: an error;
 * or, if e->code is EX_OK, there is no `teacher` message. */
const struct msg *set_head(struct shard_set *s, struct err *e);
const struct msg *set_teacher(struct shard_set *s, struct err *e);
/* Index of shard i < manifest->nfile, mapped and checked on the first call;
 * owned by s.  NULL and *e: it is damaged. */
const struct shard_index *set_index(struct shard_set *s, size_t i,
    struct err *e);
/* set_index without the documents: they are not checked, and `doc` must not be
 * read.  The documents of an index of 64 KiB or more are not read from disk. */
const struct shard_index *set_frames(struct shard_set *s, size_t i,
    struct err *e);
/* Open a shard's file, and check its size and seek table against the index.  0,
 * or -1 and *e. */
int shard_open_file(struct shard_set *s, size_t i, struct err *e);

/* Memory for reading, { 0 } at first.  Pass the same one to each call. */
struct shard_buf {
    unsigned char *raw; /* content of the frame decoded last */
    size_t raw_cap, nraw;
    unsigned char *msg; /* one message, whose data is 64-byte aligned */
    size_t msg_cap;
    unsigned char *comp; /* compressed bytes of a frame */
    size_t comp_cap;
    struct frame_dec *dec;
    enum codec codec; /* codec that dec decodes */
    struct st st;
    int valid;       /* 1: raw holds frame `frame` of shard `shard` of directory
                      * `of` */
    struct chain of; /* hash of the directory's manifest */
    size_t shard, frame;
};
void shard_buf_release(struct shard_buf *b);
/* Decode a frame into b->raw, and check its hash, checksum and size. */
int set_frame(struct shard_set *s, size_t shard, size_t frame,
    struct shard_buf *b, struct err *e);
/* Read message `msg` of a shard.  A frame that is in b already is not decoded
 * again.  *m points into b, until the next call with b. */
int set_msg(struct shard_set *s, size_t shard, size_t msg, struct shard_buf *b,
    struct msg *m, struct err *e);
/* set_msg without a copy where possible: the message may then be at any
 * address. */
int set_peek(struct shard_set *s, size_t shard, size_t msg, struct shard_buf *b,
    struct msg *m, struct err *e);
/* Does the directory hold the same `stream` or `teacher` message as m, apart
 * from the keys of resuming?  0, or -1 and EX_INPUT. */
int set_same_head(const char *dir, const struct msg *m, struct err *e);

#endif
