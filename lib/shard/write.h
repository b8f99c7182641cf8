/*
 * Writing shard directories.
 *
 * shardw_open makes DIR (or continues an `open` one: see
 * shardw_put); shardw_put takes every message of a stream in order, `end`
 * included; shard files are committed as they fill.  The first message
 * decides: a `stream` message with next_seq continues an open directory whose
 * last committed message is next_seq - 1 with that chain, and its preamble is
 * compared with the stored one, not stored again; one without next_seq needs
 * a directory that is new or has nothing committed, or opt.force, which
 * removes the shards that were there; another folder is refused even then
 * (EX_USAGE).  After an error only shardw_close is allowed.
 */
#ifndef LIB_SHARD_WRITE_H
#define LIB_SHARD_WRITE_H

#include "base/err.h"
#include "msg/msg.h"
#include "shard/manifest.h"

struct shard_opts {
    enum codec codec;
    int level;           /* 0: the codec's default */
    uint64_t shard_size; /* a file is closed when it has reached this */
    uint64_t frame_size; /* content of a frame, unless a message is larger */
    uint64_t frame_max;  /* a larger message is cut; 0: 1 GiB */
    int force;
    size_t threads; /* that compress; 0: one a processor.  The bytes
                             * written do not depend on them. */
};
struct shard_writer;
struct shard_writer *shardw_open(const char *dir, const struct shard_opts *o,
    struct err *e);
/* Open a complete directory to add messages: of a stream whose first message
 * is the stored one, which is not put again; `end` completes it.  The last
 * file is written anew, without its `end`, under the next number.  Nothing
 * that the manifest names is touched before the new manifest is there: a
 * writer that dies leaves the directory as it was.  *r (begun by
 * msg_rules_init) knows then what has to follow.  Of *o threads are used. */
struct msg_rules;
struct shard_writer *shardw_append(const char *dir, const struct shard_opts *o,
    struct msg_rules *r, struct err *e);
int shardw_put(struct shard_writer *w, const struct msg *m, struct err *e);
const struct manifest *shardw_manifest(const struct shard_writer *w);
/* Write what waits to be compressed with others: full shards are committed.
 * shardw_close does it too, but cannot say how it went. */
int shardw_settle(struct shard_writer *w, struct err *e);
/* Without `end` the unfinished shard is dropped; what is committed stays, the
 * directory stays open. */
void shardw_close(struct shard_writer *w);

#endif
