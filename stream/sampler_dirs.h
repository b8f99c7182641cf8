/*
 * Several shard directories read as one.  They have the same kind of content
 * and the same tokenizer.  Sources of one name become one source, numbered in
 * order of first appearance.
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
    struct stream_info info; /* merged; algorithm: of the first folder */
    uint16_t **source;       /* [n][nsource[i]] number in `info` of each
                              * directory's sources */
    size_t *nsource;         /* [n] number of sources of each set */
    struct chain hash;       /* XXH3-128 of the manifests' hashes */
    struct stream_info *own; /* [n] info of each directory; owns the strings */
};

/* Open all directories and compare them.  EX_INPUT names two that do not belong
 * together.  *d is overwritten; call dirs_release in any case. */
int dirs_open(struct dirs *d, char *const *dir, size_t n, int partial,
    struct err *e);
void dirs_release(struct dirs *d);
const char *dirs_name(const struct dirs *d, size_t i);

#endif
