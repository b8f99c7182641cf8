/*
 * A shard directory as a source of messages, so that a program that reads
 * streams can read directories.  Programs open their input with this.
 */
#ifndef SHARD_SOURCE_H
#define SHARD_SOURCE_H

#include "base/err.h"

struct msg_in;
/* msg_in_open for an addr that may also be a shard directory; then the stream
 * has all messages of the directory, in order.  A directory whose manifest says
 * `open` (not finished) is refused (EX_INPUT) unless partial; its stream ends
 * after the last committed message. */
struct msg_in *set_in_open(const char *addr, int partial, struct err *e);

#endif
