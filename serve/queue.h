/*
 * A queue of requests between threads.  The reader's thread makes a call of
 * each request and puts it in; the engine's thread takes the call and writes
 * the answer into it; the HTTP thread sends the answer.  The call is freed when
 * no thread needs it.
 *
 * The queue limits the number of texts that run or wait, and the bytes of
 * requests and answers that the server holds.
 */
#ifndef SERVE_QUEUE_H
#define SERVE_QUEUE_H

#include "reply.h"
#include "request.h"
#include "teach.h"
#include "base/mem.h"

#include <stddef.h>

struct call;
struct call_text; /* see work.c */

struct call {
    /* Members that one thread changes: the reader's thread until queue_put, the
     * engine's thread after it.  Those that stay as they are after queue_put
     * are read by the HTTP thread, too. */
    struct request q;
    struct reply_head head;
    double arrived;         /* clock_now when the request came */
    struct call_text *text; /* [texts] */
    size_t texts;           /* number of texts */
    size_t started;         /* texts that the engine has got */
    size_t ended;           /* texts that have ended */
    int is_targets; /* 1: a request for `targets`, whose rows count as texts;
                     * q is empty */
    struct teach_request targets;
    struct call *next; /* under the queue's lock until queue_take */
    /* Members under the queue's lock.  status and whole are changed by the
     * engine's thread alone, which therefore reads them without the lock.  con
     * and fd are valid while `parked` is 1. */
    struct buf out; /* answer; its first `sent` bytes have been sent */
    size_t sent;
    int status;  /* HTTP status; 0: not known yet */
    int whole;   /* 1: `out` has the end of the answer */
    int gone;    /* 1: the client has left, or the call has failed */
    int parked;  /* 1: the connection waits for more of `out` */
    int fd;      /* socket of the connection */
    void *con;   /* struct exchange of http.c */
    size_t held; /* bytes that count against queue_bounds.bytes */
    int owners;  /* threads that need the call; 0: it is freed */
};

struct queue;
struct queue_bounds {
    size_t texts; /* largest number of texts that run or wait */
    size_t bytes; /* largest size of requests and answers, bytes */
};
/* wake: lets the HTTP server continue with a parked call.  It is called with
 * the queue's lock held. */
struct queue *queue_new(const struct queue_bounds *b,
    void (*wake)(struct call *c));
void queue_free(struct queue *w);
void queue_lock(struct queue *w);
void queue_unlock(struct queue *w);

/* Make a call, which the HTTP thread will own. */
struct call *call_new(void);
/* Give up ownership of a call; the last owner frees it. */
void call_release(struct queue *w, struct call *c);
/* Announce a request that is about to be read and may put a call: a server that
 * stops waits until queue_reading_end.  -1 and *why (503): the server is
 * stopping already. */
int queue_reading_begin(struct queue *w, struct refusal *why);
void queue_reading_end(struct queue *w);
/* Number of requests between queue_reading_begin and queue_reading_end. */
size_t queue_readings(struct queue *w);
/* Give the call to the engine's thread.  -1 and *why: 429, the queue is full.
 */
int queue_put(struct queue *w, struct call *c, struct refusal *why);
/* Refuse new requests from now on. */
void queue_drain(struct queue *w);
/* 1: queue_drain was called. */
int queue_drains(struct queue *w);
/* Mark a call whose client has left, or which has failed. */
void call_leave(struct queue *w, struct call *c);

/*
 * Set *held, the number of bytes that a caller counts as held, to `bytes`.  -1:
 * the bytes held by all would exceed queue_bounds.bytes; *held is unchanged.
 */
int queue_hold(struct queue *w, size_t *held, size_t bytes);

/* Take all calls that came in, for the engine's thread.  They are linked by
 * `next` in the order of arrival.  wait: seconds to wait if there is none. */
struct call *queue_take(struct queue *w, double wait);
/* `texts` texts have ended: make room for as many others. */
void queue_text_ended(struct queue *w, size_t texts);
/* Number of texts that were put in and not yet taken. */
size_t queue_waiting(struct queue *w);
/* Append bytes to the answer, and wake its connection.  status: HTTP status,
 * ignored if one is set already.  whole: 1 if the answer ends here.  Returns 0;
 * or -1, with nothing appended, if the server would hold more than
 * queue_bounds.bytes.  An error (status 400 or more) is always appended. */
int call_write(struct queue *w, struct call *c, const struct buf *bytes,
    int status, int whole);
/* Copy at most `max` bytes of the answer that have not been sent yet; if the
 * answer is a stream, at most one event.  Returns the number of bytes copied;
 * 0: there are none now.  The HTTP thread calls it with the queue's lock held.
 */
size_t call_read(struct queue *w, struct call *c, char *to, size_t max);
/* Has the client left, or the call failed?  probe: 1: test the socket too if
 * the call is parked, as the HTTP server does not watch parked connections. */
int call_is_gone(struct queue *w, struct call *c, int probe);

#endif
