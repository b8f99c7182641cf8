/*
 * Shard directories (retort-shard(5)): a saved pipe.  The content of all
 * shard files, decompressed and in order, is the stream: `stream`, perhaps
 * `teacher`, then docs or batches, then `end` in the last file.
 *
 *   DIR/manifest.json     what is committed; replaced as a whole
 *   DIR/00000.shard.zst   frames, then a seek table (or .shard.lz4)
 *   DIR/00000.index       mapped: frames, messages, documents of that shard
 *
 * To read documents in any order: set_open, then for every shard set_frames;
 * index.part says which frames hold documents of a source, how many and how
 * many tokens; set_peek gives their messages.  To replay rows: index.msg gives
 * rows by message, set_msg decodes one.  To read everything in order:
 * set_in_open (source.h).  Everything that is read is checked against a hash
 * before it is used.
 *
 * write.h and make.h write directories, check.h and repair.h judge and save
 * them, dir.h knows their files.
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

/* An open directory.  Opening builds nothing: indexes are mapped on demand.
 * One thread at a time may use it, except that several threads, each with its
 * own shard_buf, may read frames and messages of shards whose index was asked
 * for. */
struct shard_set;
/* Refuses an `open` directory (EX_INPUT) unless partial. */
struct shard_set *set_open(const char *dir, int partial, struct err *e);
void set_close(struct shard_set *s);
const char *set_dir(const struct shard_set *s);
/* Tell the system not to read ahead in the files, because frames will be read
 * out of order or by threads that read ahead.  Call before any frame is
 * read. */
void set_scatter(struct shard_set *s);
const struct manifest *set_manifest(const struct shard_set *s);
/* The `stream` message and the `teacher` message; owned by s.  NULL is an
 * error, or, with e->code EX_OK, there is no teacher. */
const struct msg *set_head(struct shard_set *s, struct err *e);
const struct msg *set_teacher(struct shard_set *s, struct err *e);
/* Index of shard i < manifest->nfile, mapped and checked on the first call;
 * owned by s.  NULL and *e: it is damaged. */
const struct shard_index *set_index(struct shard_set *s, size_t i,
    struct err *e);
/* set_index without `doc`, which is not checked and must not be read; where the
 * manifest allows it, most of the file is not read either. */
const struct shard_index *set_frames(struct shard_set *s, size_t i,
    struct err *e);
/* Open a shard, and check its size and seek table against the index; -1. */
int shard_open_file(struct shard_set *s, size_t i, struct err *e);

/* Memory for reading; { 0 } is empty.  Pass the same one to each call. */
struct shard_buf {
    unsigned char *raw; /* content of the frame decoded last */
    size_t raw_cap, nraw;
    unsigned char *msg; /* one message, whose data is 64-byte aligned */
    size_t msg_cap;
    unsigned char *comp; /* compressed bytes of a frame */
    size_t comp_cap;
    struct frame_dec *dec;
    enum codec codec; /* the codec of dec */
    struct st st;
    int valid;       /* raw is frame `frame` of shard `shard` ... */
    struct chain of; /* ... of the directory whose manifest has this hash */
    size_t shard, frame;
};
void shard_buf_release(struct shard_buf *b);
/* Decode a frame into b->raw, and check its hash, checksum and size. */
int set_frame(struct shard_set *s, size_t shard, size_t frame,
    struct shard_buf *b, struct err *e);
/* Read message `msg` of a shard; frames already in b are not decoded again.  *m
 * points into b until the next call with b. */
int set_msg(struct shard_set *s, size_t shard, size_t msg, struct shard_buf *b,
    struct msg *m, struct err *e);
/* set_msg that avoids a copy where it can: m may be at any address. */
int set_peek(struct shard_set *s, size_t shard, size_t msg, struct shard_buf *b,
    struct msg *m, struct err *e);
/* Is m, a `stream` or `teacher` message, the one that the directory holds,
 * apart from the keys of resuming?  0, or -1 and EX_INPUT. */
int set_same_head(const char *dir, const struct msg *m, struct err *e);

#endif
