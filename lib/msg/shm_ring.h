/*
 * A ring of messages in shared memory between one writer and one reader,
 * which write and read in place.
 *
 * The segment is a page of control words and a data part that is mapped twice
 * in a row, so that a message never breaks at its end.  The writer reserves
 * room for a whole message, fills it and publishes it by one store: a writer
 * that dies never shows half of one.  Whoever waits spins for some hundred
 * turns, then sleeps on a futex, and looks every 0.1 s whether the other end
 * lives: it holds a record lock on the segment (byte 0 the writer, byte 1 the
 * reader), which the kernel frees when a process ends in any way.  A peer
 * that is stopped (SIGSTOP) lives; that is reported, and waited for.
 *
 * A named segment (shm_open(3), "/retort-UID-NAME") belongs to its writer; it
 * loses its name when the reader attaches.  One whose writer is gone is stale:
 * the next start under its name removes it, a writer under another notes it.
 */
#ifndef MSG_SHM_RING_H
#define MSG_SHM_RING_H

#include "base/err.h"
#include "msg/addr.h"

#include <stddef.h>
#include <stdint.h>

struct ring; /* one end of a ring */

/* Create the writer's end of shm:NAME, without waiting for a reader.  All
 * memory is allocated here: too little room in /dev/shm is an error
 * (EX_SYS). */
struct ring *ring_create(const struct addr *a, struct err *e);
/* Attach as the reader: waits for the writer as long as a says. */
struct ring *ring_attach(const struct addr *a, struct err *e);
/* Create the writer's end without a name: a sealed memory file to hand over
 * ... */
struct ring *ring_create_memfd(const struct addr *a, struct err *e);
int ring_fd(const struct ring *r); /* owned by r */
/* ... and attach as its reader; takes ownership of fd, even when it fails. */
struct ring *ring_attach_fd(const struct addr *a, int fd, struct err *e);

/* Writer: reserve room for a message of n bytes, whose first `head` bytes end
 * at a multiple of 64 in memory.  A message reserved but not published is given
 * up, so that an `abort` can follow half a message.  0: *p is the room; 1: the
 * reader has left; -1: EX_USAGE if the ring is too small, EX_STOP if stop_asked
 * is set and the reader does not read. */
int ring_reserve(struct ring *r, size_t n, size_t head, unsigned char **p,
    struct err *e);
/* Give the reader the message that was reserved. */
void ring_publish(struct ring *r);
/* Wait until a reader has attached; it alone will get the messages.  Returns as
 * ring_reserve. */
int ring_handover(struct ring *r, struct err *e);

struct ring_msg {
    const unsigned char *p; /* in the ring, until ring_release(end) */
    size_t n;
    uint64_t end;
};
/* Reader: the next message.  1; 0: the writer has closed or died, and all that
 * it published was given out; -1: EX_INPUT damage, EX_SYS woken. */
int ring_next(struct ring *r, struct ring_msg *m, struct err *e);
/* Release all messages up to and including the one that ends at `end`; may be
 * called by another thread than that of ring_next. */
void ring_release(struct ring *r, uint64_t end);
/* Let ring_next return -1 from now on, even if it waits; called by another
 * thread. */
void ring_wake(struct ring *r);

size_t ring_size(const struct ring *r); /* bytes of its data part */
/* Close either end; the writer's also removes a name that no reader took. */
void ring_close(struct ring *r);

#endif
