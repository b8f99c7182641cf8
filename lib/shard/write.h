/*
 * Writes shard directories.
 *
 * shardw_open makes DIR, or continues an `open` one; shardw_put takes every
 * message of a stream in order, including `end`; shard files are committed as
 * they fill.  The first message decides what is done.  A `stream` message with
 * next_seq continues an open directory whose last committed message has the
 * number next_seq - 1 and that chain; its preamble is compared with the stored
 * one and not stored again.  A `stream` message without next_seq needs a
 * directory that is new or has nothing committed, or opt.force, which removes
 * its shards.  A folder that is something else is refused even then (EX_USAGE).
 * After an error only shardw_close is allowed.
 */
#ifndef LIB_SHARD_WRITE_H
#define LIB_SHARD_WRITE_H

#include "base/err.h"
#include "msg/msg.h"
#include "shard/manifest.h"

struct shard_opts {
    enum codec codec;
    int level;           /* 0: the codec's default */
    uint64_t shard_size; /* bytes; a file of this size is closed */
    uint64_t frame_size; /* bytes of content in a frame, unless a message is
                          * larger */
    uint64_t frame_max;  /* bytes; a larger message is split; 0: 1 GiB */
    int force;
    size_t threads; /* number that compress; 0: one per processor.  The bytes
                     * written do not depend on it. */
};
struct shard_writer;
struct shard_writer *shardw_open(const char *dir, const struct shard_opts *o,
    struct err *e);
/* Open a complete directory to add the messages of a stream whose first message
 * is the stored one (that one is not put); its `end` completes the directory.
 * The last file is written anew, without its `end`, under the next number.  No
 * file that the manifest names changes before the new manifest is there, so
 * that a writer that dies leaves the directory as it was.  *r (initialised by
 * msg_rules_init) then expects the message that has to follow.  Of *o only
 * threads is used. */
struct msg_rules;
struct shard_writer *shardw_append(const char *dir, const struct shard_opts *o,
    struct msg_rules *r, struct err *e);
int shardw_put(struct shard_writer *w, const struct msg *m, struct err *e);
const struct manifest *shardw_manifest(const struct shard_writer *w);
/* Compress and write the messages that wait for others to fill a batch of
 * units; full shards are committed.  shardw_close does so too, but returns no
 * error. */
int shardw_settle(struct shard_writer *w, struct err *e);
/* Without an `end` the unfinished shard is dropped; committed shards stay, and
 * the directory stays open. */
void shardw_close(struct shard_writer *w);

#endif
