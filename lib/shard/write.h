/*
 * Writes shard directories.
 *
 * shardw_open makes DIR, or opens one that is `open` (not finished).
 * shardw_put takes every message of a stream in order, including `end`.  A
 * shard file is committed when it is full.
 *
 * The stream's first message decides what happens:
 *   with next_seq     the stream continues an `open` directory, whose last
 *                     committed message must have the number next_seq - 1 and
 *                     the chain that the stream's first message gives; the
 *                     preamble is compared with the stored one and not stored
 *                     again
 *   without next_seq  the directory must be new or have nothing committed; or
 *                     force is set, which removes its shards
 *
 * A folder that is something else is refused even with force (EX_USAGE).  After
 * an error only shardw_close is allowed.
 */
#ifndef LIB_SHARD_WRITE_H
#define LIB_SHARD_WRITE_H

#include "base/err.h"
#include "msg/msg.h"
#include "shard/manifest.h"

struct shard_opts {
    enum codec codec;
    int level;           /* 0: the codec's default */
    uint64_t shard_size; /* bytes of a shard file at which it is closed */
    uint64_t frame_size; /* bytes of content of a frame; a larger message has a
                          * frame of its own */
    uint64_t frame_max;  /* most bytes of content of one frame: a larger message
                          * takes several frames; 0: 1 GiB */
    int force;
    size_t threads; /* threads that compress; 0: one per processor.  The bytes
                     * written do not depend on their number. */
};
struct shard_writer;
struct shard_writer *shardw_open(const char *dir, const struct shard_opts *o,
    struct err *e);
/* Open a complete directory to add the messages of a stream, whose `end`
 * completes it again.  The stream's first message must be the stored one; do
 * not put it.  Afterwards *r, which msg_rules_init has initialised, expects the
 * message that must be put next.
 *
 * The last file is written anew, without its `end`, under the next number.  No
 * file that the manifest names changes before the new manifest is there, so
 * that a writer that dies leaves the directory as it was.  Of *o, threads and
 * frame_max are used, and codec and level, which must be the directory's. */
struct msg_rules;
struct shard_writer *shardw_append(const char *dir, const struct shard_opts *o,
    struct msg_rules *r, struct err *e);
int shardw_put(struct shard_writer *w, const struct msg *m, struct err *e);
const struct manifest *shardw_manifest(const struct shard_writer *w);
/* Compress and write the messages held back (shardw_put collects enough for all
 * threads), and commit full shards.  shardw_close does this too, but returns no
 * error. */
int shardw_settle(struct shard_writer *w, struct err *e);
/* Without an `end`, the unfinished shard is dropped, committed shards stay, and
 * the directory stays `open`. */
void shardw_close(struct shard_writer *w);

#endif
