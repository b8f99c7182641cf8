/*
 * Where the bytes of a stream come from: a descriptor, a tcp connection whose
 * frames are checked, the decompressed content of a shard directory; or where
 * whole messages do: a ring of shared memory.  Used by msg_in.c.
 */
#ifndef MSG_SRC_H
#define MSG_SRC_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct msg_src;
struct msg_src *msg_src_open(const char *addr, int partial, struct err *e);
/* Messages come whole, by msg_src_next, and not by msg_src_read. */
int msg_src_is_ring(const struct msg_src *s);
/* 1: the message at *p of *n bytes stays there until msg_src_release(*end); 0:
 * there are no more; -1. */
int msg_src_next(struct msg_src *s, const unsigned char **p, size_t *n,
    uint64_t *end, struct err *e);
/* Also from another thread. */
void msg_src_release(struct msg_src *s, uint64_t end);
/* Up to n bytes: their number, 0 at the end, -1. */
ptrdiff_t msg_src_read(struct msg_src *s, void *p, size_t n, struct err *e);
/* Bytes of the whole stream, 0 where they are not known: of a pipe. */
uint64_t msg_src_size(const struct msg_src *s);
/* Worth a thread: no plain file. */
int msg_src_is_slow(const struct msg_src *s);
/* Bytes of memory it holds when messages have n bytes. */
size_t msg_src_memory(const struct msg_src *s, size_t n);
/* An `open` directory read with partial ends without `end`. */
int msg_src_may_stop(const struct msg_src *s);
/* From another thread: let a waiting msg_src_read return -1. */
void msg_src_wake(struct msg_src *s);
void msg_src_close(struct msg_src *s);

#endif
