/*
 * Store what is intact of a damaged directory in another one, `out`, which
 * must be new (or o->force): every frame that still has its content, found by
 * the index, else by the seek table, else by looking for frames.  Codec, level
 * and sizes stay; those of o are used if the manifest is damaged.  head (may
 * be NULL) describes the stream if its first message is lost: tokenizer,
 * vocab, bos, eos; sources are the manifest's; EX_INPUT without it.  say (may
 * be NULL) is called with a line for everything that is lost.  A manifest or
 * shard that cannot be read now is EX_SYS, not damage.  *l tells how much;
 * shard_loss_release frees what is in it.  The result is a complete directory;
 * 0, or -1.
 */
#ifndef LIB_SHARD_REPAIR_H
#define LIB_SHARD_REPAIR_H

#include "base/err.h"
#include "msg/msg.h"
#include "shard/manifest.h"
#include "shard/write.h"

#include <stddef.h>
#include <stdint.h>

struct shard_loss {
    size_t frames, lost; /* found; without their content */
    uint64_t messages;   /* missing between others */
    int counted;         /* the manifest was good: the rest is known */
    uint64_t docs, tokens;
    struct shard_source *source; /* [nsource] what is lost of each */
    size_t nsource;
};
int set_repair(const char *dir, const char *out, const struct shard_opts *o,
    const struct stream_info *head, void (*say)(void *ctx, const char *line),
    void *ctx, struct shard_loss *l, struct err *e);
void shard_loss_release(struct shard_loss *l);

#endif
