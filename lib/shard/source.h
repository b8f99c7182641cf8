/*
 * A shard directory as a source of messages: whatever reads a stream can read a
 * directory.  Programs open their input with this.
 */
#ifndef SHARD_SOURCE_H
#define SHARD_SOURCE_H

#include "base/err.h"

struct msg_in;
/* msg_in_open for an addr that may also be a shard directory: its messages in
 * order, of all sources.  A directory that is still `open` is refused
 * (EX_INPUT) unless partial; the stream then ends after its last committed
 * message. */
struct msg_in *set_in_open(const char *addr, int partial, struct err *e);

#endif
