/*
 * Where the bytes of a stream come from: a descriptor, or the decompressed
 * content of a shard directory.  Used by msg_in.c; a new transport is a third
 * kind here.
 */
#ifndef DATA_MSG_SRC_H
#define DATA_MSG_SRC_H

#include "base/err.h"

#include <stddef.h>

struct msg_src;
struct msg_src *msg_src_open(const char *addr, int partial, struct err *e);
/* Up to n bytes: their number, 0 at the end, -1. */
ptrdiff_t msg_src_read(struct msg_src *s, void *p, size_t n, struct err *e);
/* Worth a thread: no plain file. */
int msg_src_is_slow(const struct msg_src *s);
/* An `open` directory read with partial ends without `end`. */
int msg_src_may_stop(const struct msg_src *s);
/* From another thread: let a waiting msg_src_read return -1. */
void msg_src_wake(struct msg_src *s);
void msg_src_close(struct msg_src *s);

#endif
