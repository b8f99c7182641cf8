/*
 * Reading ahead for the orders of documents (sampler.h) and of rows (groups.h):
 * both put frames into a keyed order, K of them in a row are a block, and
 * threads read frames ahead of the thread that asks for them.
 */
#ifndef STREAM_AHEAD_H
#define STREAM_AHEAD_H

#include "base/err.h"
#include "shard/set.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

/* waited, decoded: seconds that the caller waited for the threads, and decoded
 * itself.  busy, idle: seconds that the threads together read and decoded, and
 * waited for memory.  ahead: they were once as far ahead as memory allows;
 * late: frames that, after that, were not there when needed. */
struct ahead_times {
    double waited, decoded, busy, idle;
    int ahead;
    uint64_t late;
};

struct ahead {
    pthread_mutex_t lock; /* protects this struct and its owner's data */
    pthread_cond_t done;  /* a frame came, or could not be read */
    pthread_cond_t room;  /* a block was opened, or all is over */
    size_t nworker;       /* number 0 is the caller */
    size_t running;       /* threads, to be joined */
    struct ahead_worker {
        struct ahead *a;
        pthread_t id;
        struct shard_buf buf; /* for reading */
        double since;         /* clock_now() when it began to wait; 0: it
                               * works */
    } * worker;               /* [nworker] */
    int stop;
    struct ahead_times times;
    /* Read what is needed next; called with the lock, which it gives up
     * meanwhile.  1; 0: nothing is needed, or there is no memory; -1: the
     * thread ends, and the caller will meet the same fault and report it. */
    int (*step)(void *owner, size_t worker, struct err *e);
    void *owner;
};
void ahead_init(struct ahead *a, size_t threads,
    int (*step)(void *owner, size_t worker, struct err *e), void *owner);
/* Start the threads, once; with the lock or before it is used. */
void ahead_start(struct ahead *a);
/* End and join them; then release frees the rest. */
void ahead_stop(struct ahead *a);
void ahead_release(struct ahead *a);
/* Wait for c and count the seconds in *sum; a worker waits, number `worker`. */
void ahead_wait(struct ahead *a, pthread_cond_t *c, double *sum, size_t worker);
/* The times so far, waits that last included. */
void ahead_get_times(struct ahead *a, struct ahead_times *t);

/* How far, as a share of a full shuffle, neighbours among docs documents (rows)
 * come apart in blocks of K frames.  Those of one frame, all but one a frame,
 * stay in one block; the others do not meet again. */
double ahead_near(size_t frames, size_t K, double docs);
/* The number of the span that holds i; span k begins at upto[k], k < n. */
size_t ahead_span(const uint64_t *upto, size_t n, uint64_t i);

#endif
