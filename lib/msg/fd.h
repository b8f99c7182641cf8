/*
 * Descriptors of streams: pipes, files and sockets.  Another thread can end a
 * read that waits.  Once stop_asked is set, a write gives up if the reader
 * takes nothing for two seconds.  On sockets, an end that is silent for ten
 * seconds is reported.
 */
#ifndef MSG_FD_H
#define MSG_FD_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct fd_in {
    const char *name; /* name of the stream, for messages; borrowed */
    int fd;
    int is_file;   /* 1: a regular file, whose reads do not wait */
    uint64_t size; /* bytes of that file */
    int wake[2];   /* pipe that interrupts a wait */
};
/* Takes ownership of fd, even when it fails.  fd -1: opening has failed and *e
 * says why. */
int fd_in_open(struct fd_in *f, const char *name, int fd, struct err *e);
/* Read up to n bytes; returns their number, 0 at the end, -1.  A connection
 * that was reset counts as ended: its writer died. */
ptrdiff_t fd_in_read(struct fd_in *f, void *p, size_t n, struct err *e);
/* Called by another thread: let a read that waits return -1. */
void fd_in_wake(struct fd_in *f);
void fd_in_close(struct fd_in *f);

struct fd_out {
    const char *name; /* name of the stream, for messages; borrowed */
    int fd;
    int told; /* 1: a note has said that the reader is silent */
};
/* The caller keeps fd and closes it. */
void fd_out_begin(struct fd_out *f, const char *name, int fd);
/* Write all n pieces; v is overwritten.  Returns 0; 1: the reader has left; -1.
 */
int fd_out_write(struct fd_out *f, struct iovec *v, size_t n, struct err *e);
/* Of a tcp socket: wait until the reader's machine has acknowledged all that
 * was written.  Returns as fd_out_write does; the kernel gives up a machine
 * that does not answer for a quarter of an hour (net.ipv4.tcp_retries2). */
int fd_out_drain(struct fd_out *f, struct err *e);

#endif
