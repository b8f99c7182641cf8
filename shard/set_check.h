/*
 * Check a whole directory: manifest, sizes, hashes, seek tables, frames, every
 * message, the index against the messages, the chain, and sums.  0; -1 and
 * EX_INPUT, with shard, frame and byte offset of the first damage.  partial:
 * accept a directory whose manifest says `open`, that is, not finished.  tick
 * (may be NULL) is called with the number of compressed bytes checked so far.
 */
#ifndef SHARD_SET_CHECK_H
#define SHARD_SET_CHECK_H

#include "base/err.h"

#include <stdint.h>

int set_check(const char *dir, int partial,
    void (*tick)(void *ctx, uint64_t done), void *ctx, struct err *e);

#endif
