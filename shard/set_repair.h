/*
 * Store all intact frames of a damaged directory `dir` in another directory,
 * `out`, which must be new unless o->force.  Frames are found by the index,
 * else by the seek table, else by searching the file.
 *   o     its codec, level and sizes are used only if the manifest is damaged;
 *         otherwise those of `dir` are used
 *   head  tokenizer, bos and eos: used if the first message of a directory of
 *         documents is lost; vocab and sources then come from the manifest.  If
 *         the manifest is damaged too, or head is NULL: -1 and EX_INPUT
 *   report  called with a line for each loss; may be NULL
 *   l     set to what is lost; shard_loss_release frees its memory
 *
 * Returns 0, and out is a complete directory; or -1.  A manifest or shard that
 * cannot be read for now (EX_SYS) does not count as damaged.
 */
#ifndef SHARD_SET_REPAIR_H
#define SHARD_SET_REPAIR_H

#include "base/err.h"
#include "msg/msg.h"
#include "shard/manifest.h"
#include "shard/write.h"

#include <stddef.h>
#include <stdint.h>

struct shard_loss {
    size_t frames;     /* frames found */
    size_t lost;       /* frames whose content is lost */
    uint64_t messages; /* messages that are missing */
    int counted;       /* 1: the manifest was good, so the members below are
                          * known */
    uint64_t docs, tokens;
    struct shard_source *source; /* [nsource] loss of each source */
    size_t nsource;
};
int set_repair(const char *dir, const char *out, const struct shard_opts *o,
    const struct stream_info *head, void (*report)(void *ctx, const char *line),
    void *ctx, struct shard_loss *l, struct err *e);
void shard_loss_release(struct shard_loss *l);

#endif
