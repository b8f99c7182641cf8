/*
 * Several shard directories taken as one: same kind of content, same
 * tokenizer, sources merged by name in order of first appearance.
 */
#ifndef STREAM_SAMPLER_DIRS_H
#define STREAM_SAMPLER_DIRS_H

#include "base/err.h"
#include "msg/msg.h"
#include "shard/set.h"

#include <stddef.h>
#include <stdint.h>

struct dirs {
    struct shard_set **set; /* [n] */
    size_t n;
    struct stream_info info; /* merged; algorithm is the first one's */
    uint16_t **source;       /* [n][sources of set i]: merged number */
    size_t *nsource;         /* [n] */
    struct chain hash;       /* XXH3-128 of the manifests' hashes */
    struct stream_info *own; /* [n] as each directory says; owns strings */
};

/* Open every directory and compare them.  EX_INPUT names two that do not
 * belong together.  *d is overwritten unseen; dirs_release in any case. */
int dirs_open(struct dirs *d, char *const *dir, size_t n, int partial,
    struct err *e);
void dirs_release(struct dirs *d);
const char *dirs_name(const struct dirs *d, size_t i);

#endif
