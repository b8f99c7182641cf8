/*
 * Store the intact parts of a damaged directory in another one, `out`, which
 * must be new (or o->force): every frame whose content is intact, found by the
 * index, else by the seek table, else by searching the file.  Codec, level and
 * sizes stay the same; those of o are used if the manifest is damaged.  head
 * (may be NULL) describes the stream if its first message is lost: tokenizer,
 * vocab, bos, eos; the sources come from the manifest, and without one it is
 * EX_INPUT.  say (may be NULL) is called with a line for each loss.  A manifest
 * or shard that cannot be read now is EX_SYS, not damage.  *l tells how much is
 * lost; shard_loss_release frees its memory.  Returns 0, and out is a complete
 * directory; or -1.
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
    size_t frames, lost; /* frames found; frames whose content is lost */
    uint64_t messages;   /* number of messages that are missing */
    int counted;         /* the manifest was good: the counts below are known */
    uint64_t docs, tokens;
    struct shard_source *source; /* [nsource] loss of each source */
    size_t nsource;
};
int set_repair(const char *dir, const char *out, const struct shard_opts *o,
    const struct stream_info *head, void (*say)(void *ctx, const char *line),
    void *ctx, struct shard_loss *l, struct err *e);
void shard_loss_release(struct shard_loss *l);

#endif
