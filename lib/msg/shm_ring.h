/*
 * A ring of messages in shared memory between one writer and one reader, which
 * write and read in place.
 *
 * The segment is a page of control words and a data part that is mapped twice
 * in a row, so that no message breaks at the part's end.  The writer reserves
 * room for a whole message, fills it and publishes it by one store: a writer
 * that dies never shows half of one.  An end that waits spins for some hundred
 * turns, then sleeps on a futex.  Every 0.1 s it looks whether the other end
 * lives: a living end holds a record lock on the segment (byte 0 the writer,
 * byte 1 the reader), which the kernel frees when a process ends in any way.
 * An end that is stopped (SIGSTOP) counts as living: the other end says so in a
 * note, and waits.
 *
 * A named segment (shm_open(3), "/retort-UID-NAME") belongs to its writer, and
 * loses its name when the reader attaches.  A segment whose writer is gone is
 * stale: the next program started with its name removes it, and a writer with
 * another name notes it.
 */
#ifndef MSG_SHM_RING_H
#define MSG_SHM_RING_H

#include "base/err.h"
#include "msg/addr.h"

#include <stddef.h>
#include <stdint.h>

struct ring; /* one end of a ring */

/* Create the writer's end of shm:NAME, without waiting for a reader.  All its
 * memory is allocated here; EX_SYS: /dev/shm has too little room. */
struct ring *ring_create(const struct addr *a, struct err *e);
/* Attach as the reader of shm:NAME.  Waits for the writer for at most a->wait
 * seconds (0: for ever). */
struct ring *ring_attach(const struct addr *a, struct err *e);
/* Without a name: ring_create_memfd creates the writer's end in a sealed memory
 * file; ring_fd returns its descriptor, which r owns and which is handed to the
 * reader; ring_attach_fd attaches as the reader of the memory file fd, and
 * takes ownership of fd even when it fails. */
struct ring *ring_create_memfd(const struct addr *a, struct err *e);
int ring_fd(const struct ring *r);
struct ring *ring_attach_fd(const struct addr *a, int fd, struct err *e);

/* Writer: reserve room for a message of n bytes, whose first `head` bytes end
 * at a multiple of 64 in memory.  A message that was reserved before, but not
 * published, is given up: so an `abort` can follow half a message.
 * 0: *p is the room.
 * 1: the reader has left.
 * -1: EX_USAGE: the ring is too small; EX_STOP: stop_asked is set and the
 * reader does not read. */
int ring_reserve(struct ring *r, size_t n, size_t head, unsigned char **p,
    struct err *e);
/* Give the reader the message that was reserved. */
void ring_publish(struct ring *r);
/* Wait until a reader has attached; without one nobody gets the messages.
 * Returns as ring_reserve. */
int ring_handover(struct ring *r, struct err *e);

struct ring_msg {
    const unsigned char *p; /* in the ring, until ring_release(end) */
    size_t n;
    uint64_t end;
};
/* Reader: get the next message.  1: *m is set.  0: the writer has closed or
 * died, and everything it published was given out.  -1: EX_INPUT: damage;
 * EX_SYS: ring_wake was called. */
int ring_next(struct ring *r, struct ring_msg *m, struct err *e);
/* Release all messages up to and including the one that ends at `end`.  A
 * thread other than ring_next's may call it. */
void ring_release(struct ring *r, uint64_t end);
/* Called by another thread: let ring_next return -1 from now on, even if it
 * waits. */
void ring_wake(struct ring *r);

size_t ring_size(const struct ring *r); /* bytes of its data part */
/* Close this end.  A writer also removes the segment's name if no reader
 * has. */
void ring_close(struct ring *r);

#endif
