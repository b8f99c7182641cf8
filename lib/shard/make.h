/*
 * Builds a stream message by message, for programs that import, merge or repair
 * one, and stores it in a directory.
 *
 * shardmk_begin begins a message and sets its keys kind, seq and, in a batch,
 * chain.
 * shardmk_copy does the same for a copy of m: it adds the other metadata of m
 * (without the key cursor if the argument cursor is 0) and the tensors of m.
 * The tensor `instead`, unless NULL, replaces the tensor of m with its name.
 * Both return an st_out, to which the caller may add more.  The caller keeps
 * the tensors' data until shardmk_send, which checks the message as any reader
 * would, and stores it.
 * After an error only shardmk_close is allowed.
 */
#ifndef LIB_SHARD_MAKE_H
#define LIB_SHARD_MAKE_H

#include "base/err.h"
#include "msg/msg.h"
#include "shard/write.h"

struct shard_make;
struct shard_make *shardmk_open(const char *dir, const struct shard_opts *o,
    struct err *e);
struct shard_make *shardmk_append(const char *dir, const struct shard_opts *o,
    struct err *e); /* see shardw_append */
struct st_out *shardmk_begin(struct shard_make *k, enum msg_kind kind);
struct st_out *shardmk_copy(struct shard_make *k, const struct msg *m,
    int cursor, const struct st_tensor *instead);
int shardmk_send(struct shard_make *k, struct err *e);
int shardmk_end(struct shard_make *k, struct err *e);
const struct manifest *shardmk_manifest(const struct shard_make *k);
void shardmk_close(struct shard_make *k);

#endif
