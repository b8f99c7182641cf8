/*
 * A queue of requests between two threads.  The HTTP thread makes a call of
 * each request and puts it in; the engine's thread takes the call and writes
 * the answer into it; the HTTP thread sends the answer.  The call is freed when
 * neither thread needs it.
 *
 * The queue bounds what the server holds: texts that run and wait, and bytes of
 * bodies and answers.
 */
#ifndef SERVE_QUEUE_H
#define SERVE_QUEUE_H

#include "reply.h"
#include "request.h"
#include "teach.h"
#include "base/mem.h"

#include <stddef.h>

struct call;
struct call_text; /* of work.c */

struct call {
    struct request q;
    struct reply_head head;
    double arrived; /* clock_now */
    /* the engine's thread: */
    struct call_text *text;       /* [texts] */
    size_t texts, started, ended; /* texts; those given to the engine; those
                                   * that have ended */
    int is_targets; /* the texts are rows of `targets`, and q is empty */
    struct teach_request targets;
    struct call *next;
    /* guarded by the queue's lock: */
    struct buf out; /* bytes of the answer; those before `sent` are sent */
    size_t sent;
    int status;  /* HTTP status; 0: not known yet */
    int whole;   /* nothing more is added to out */
    int gone;    /* the client has left, or nobody wants the texts */
    int parked;  /* the connection waits for more of `out` */
    int fd;      /* its socket */
    void *con;   /* of the HTTP server: its struct exchange */
    size_t held; /* bytes that count against the bound */
    int owners;
};

struct queue;
struct queue_bounds {
    size_t texts; /* that run and wait */
    size_t bytes; /* of bodies and answers */
};
/* wake: called with the queue's lock held, to let the HTTP server look at a
 * parked call again. */
struct queue *queue_new(const struct queue_bounds *b,
    void (*wake)(struct call *c));
void queue_free(struct queue *w);
void queue_lock(struct queue *w);
void queue_unlock(struct queue *w);

/* Make a call, which the HTTP thread owns. */
struct call *call_new(struct queue *w);
/* Let a call go; the last owner frees it. */
void call_release(struct queue *w, struct call *c);
/* Give the call to the engine's thread.  -1 and *why: 429, the queue is full;
 * 503, the server is stopping. */
int queue_put(struct queue *w, struct call *c, struct refusal *why);
/* Refuse new calls from now on; is that so? */
void queue_drain(struct queue *w);
int queue_drains(struct queue *w);
/* The client of a call has left. */
void call_leave(struct queue *w, struct call *c);

/*
 * Hold so many more bytes, or fewer.  *held: what the owner holds.  -1: more
 * than the bound would be held; nothing is changed.
 */
int queue_hold(struct queue *w, size_t *held, size_t bytes);

/* The engine's thread: take the calls that came in, in their order, linked by
 * next.  wait: if there are none, wait for one so many seconds. */
struct call *queue_take(struct queue *w, double wait);
/* A text has ended, and makes room for another. */
void queue_text_ended(struct queue *w, size_t texts);
/* Texts that were put in and not yet taken. */
size_t queue_waiting(struct queue *w);
/* Append bytes to the answer.  status: of the HTTP answer, if it is not set
 * yet.  whole: these are the last.  -1: the answer exceeds the bound on bytes;
 * then nothing is added. */
int call_write(struct queue *w, struct call *c, const struct buf *bytes,
    int status, int whole);
/* The HTTP thread, with the lock: copy the next bytes of the answer, of a
 * stream one event at most.  Returns their number, 0: there are none now. */
size_t call_read(struct queue *w, struct call *c, char *to, size_t max);
/* Has the client left?  probe: look at the connection of a parked call, whose
 * end the HTTP server does not notice. */
int call_is_gone(struct queue *w, struct call *c, int probe);
/* Calls that are not freed. */
size_t queue_calls(struct queue *w);

#endif
