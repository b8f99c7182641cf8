/*
 * Where the bytes of a stream go: a descriptor, a file that gets its name at
 * the end, a tcp connection (frames with checksums), a ring of shared memory.
 * Used by msg_out.c.
 */
#ifndef MSG_SINK_H
#define MSG_SINK_H

#include "base/err.h"

#include <stddef.h>
#include <sys/uio.h>

struct msg_sink;
struct msg_sink *msg_sink_open(const char *addr, struct err *e);
/* Bytes of memory that messages of n bytes take in it. */
size_t msg_sink_memory(const struct msg_sink *s, size_t n);
const char *msg_sink_name(const struct msg_sink *s);
/* One message in n pieces, the first of which is all up to its data.  0; 1 the
 * reader has left, now or before; -1: EX_SYS, EX_USAGE (too large for a ring),
 * EX_STOP (stop_asked, and the reader does not read). */
int msg_sink_send(struct msg_sink *s, const struct iovec *v, size_t n,
    struct err *e);
/* The same a part at a time: begin says its size and that of its head (all up
 * to its data), put adds what comes next, done ends it.  In between `place` is
 * where the next part will lie, for a sink whose reader shares the memory, and
 * put then takes it without copying; NULL for others.  Returns as above. */
int msg_sink_begin(struct msg_sink *s, size_t total, size_t head,
    struct err *e);
void *msg_sink_place(const struct msg_sink *s);
int msg_sink_put(struct msg_sink *s, const void *p, size_t n, struct err *e);
int msg_sink_done(struct msg_sink *s, struct err *e);
/* After the last message: 0, 1 or -1 as above. */
int msg_sink_end(struct msg_sink *s, struct err *e);
void msg_sink_close(struct msg_sink *s);

#endif
