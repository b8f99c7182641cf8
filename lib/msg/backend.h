/*
 * Transports: how the bytes of a stream are read and written.  A transport is a
 * table of functions, chosen by the kind of the address: a file or a pipe
 * (file.c); tcp:, with checksums of frames (tcp.c); shm: and unix:, whole
 * messages in shared memory (shm.c).  shard/source.c adds a transport that only
 * reads: the content of a shard directory.  in.c and out.c call only these
 * tables.
 *
 * A transport's own structs begin with a struct msg_src or msg_sink; its
 * functions get a pointer to that and cast it.
 */
#ifndef MSG_BACKEND_H
#define MSG_BACKEND_H

#include "base/err.h"
#include "msg/addr.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* The end that reads.  src_open sets all members.  What a transport keeps
 * beside them changes only in `read` and `next`, which one thread calls. */
struct msg_src {
    const struct msg_backend *backend;
    char *name;     /* name of the stream, for messages */
    uint64_t size;  /* bytes of the whole stream; 0: not known */
    int slow;       /* 1: a read may wait, so a thread reads ahead */
    int unfinished; /* 1: the stream may lack its `end` message */
};
/* The end that writes. */
struct msg_sink {
    const struct msg_backend *backend;
    char *name;
    int left;             /* 1: send no more: the reader has left, or a message
                           * broke off half-way */
    unsigned char *place; /* address in memory shared with the reader at which
                           * the next part of the message belongs; NULL: there
                           * is no such memory */
};

/* Functions marked ? may be NULL, which means that they do nothing. */
struct msg_backend {
    /* Reading.  src_open is given a struct of src_bytes bytes, all zero but
     * backend and name, and fills it; src_close releases it, even after an
     * src_open that failed. */
    size_t src_bytes;
    int (*src_open)(struct msg_src *s, const struct addr *a, struct err *e);
    void (*src_close)(struct msg_src *s);
    /* Read up to n bytes; returns their number, 0 at the end, -1. */
    ptrdiff_t (*read)(struct msg_src *s, void *p, size_t n, struct err *e);
    /* Instead of read: give the next whole message.  1: it is p[n], until
     * release(end), which another thread may call.  0: no message is left.  -1
     * and *e. */
    int (*next)(struct msg_src *s, const unsigned char **p, size_t *n,
        uint64_t *end, struct err *e);
    void (*release)(struct msg_src *s, uint64_t end);
    /* ? Let a call of `read` or `next` that waits in another thread return
     * -1. */
    void (*wake)(struct msg_src *s);
    /* ? Bytes of memory that the source takes if messages have n bytes. */
    size_t (*src_memory)(const struct msg_src *s, size_t n);

    /* Writing: see msg_sink_begin and the functions after it. */
    size_t sink_bytes;
    int (*sink_open)(struct msg_sink *s, const struct addr *a, struct err *e);
    void (*sink_close)(struct msg_sink *s);
    int (*begin)(struct msg_sink *s, size_t total, size_t head,
        struct err *e); /* ? */
    int (*put)(struct msg_sink *s, const struct iovec *v, size_t n,
        struct err *e);
    int (*done)(struct msg_sink *s, struct err *e); /* ? */
    int (*end)(struct msg_sink *s, struct err *e);  /* ? */
    /* ? Bytes of memory that the sink takes if messages have n bytes. */
    size_t (*sink_memory)(const struct msg_sink *s, size_t n);
};
extern const struct msg_backend msg_file, msg_tcp, msg_shm, msg_unix;

/* addr: see msg_in_open. */
struct msg_src *msg_src_open(const char *addr, struct err *e);
/* Allocate a source for a transport that has no addresses.  All its members are
 * 0, except backend and name. */
struct msg_src *msg_src_new(const struct msg_backend *b, const char *name);
size_t msg_src_memory(const struct msg_src *s, size_t n);
void msg_src_close(struct msg_src *s);
/* Read messages from s.  Takes ownership of s, even when it fails. */
struct msg_in;
struct msg_in *msg_in_start(struct msg_src *s, struct err *e);

struct msg_sink *msg_sink_open(const char *addr, struct err *e);
size_t msg_sink_memory(const struct msg_sink *s, size_t n);
/* Send a message of `total` bytes, of which the first `head` come before its
 * data.  msg_sink_begin begins it; msg_sink_put sends its next n pieces, and
 * does not copy a piece that already lies at s->place; msg_sink_done ends it.
 * 0: sent.
 * 1: the reader has left, now or before.
 * -1: EX_SYS; EX_USAGE: the message is too large for a ring; EX_STOP:
 * stop_asked is set and the reader does not read. */
int msg_sink_begin(struct msg_sink *s, size_t total, size_t head,
    struct err *e);
int msg_sink_put(struct msg_sink *s, const struct iovec *v, size_t n,
    struct err *e);
int msg_sink_done(struct msg_sink *s, struct err *e);
/* Send a whole message of n pieces; the first is everything before its data. */
int msg_sink_send(struct msg_sink *s, const struct iovec *v, size_t n,
    struct err *e);
/* Call after the last message. */
int msg_sink_end(struct msg_sink *s, struct err *e);
void msg_sink_close(struct msg_sink *s);

#endif
