/*
 * Threads that read frames before the caller needs them, for the orders of
 * documents (sampler.h) and of rows (groups.h).  Both orders put frames into a
 * keyed order and take K consecutive frames as a block.
 */
#ifndef STREAM_AHEAD_H
#define STREAM_AHEAD_H

#include "base/err.h"
#include "shard/set.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

/*
 * waited, decoded: seconds in which the caller waited for threads, and in which
 * it decoded frames itself
 * busy, idle: seconds in which threads read and decoded, and in which they
 * waited for memory; sums over threads
 * ahead: 1: threads were once as far ahead as memory allows
 * late: after that, number of frames that were not in memory when needed
 */
struct ahead_times {
    double waited, decoded, busy, idle;
    int ahead;
    uint64_t late;
};

struct ahead {
    pthread_mutex_t lock; /* protects `since`, `stop`, `times` and the owner's
                           * data */
    pthread_cond_t done;  /* a frame was read, or could not be read */
    pthread_cond_t room;  /* a block was opened, or the threads have to stop */
    /* Only the thread that owns the struct uses these two. */
    size_t nworker; /* entries of `worker`; worker[0] is that thread */
    size_t running; /* threads that were started and have to be joined */
    struct ahead_worker {
        struct ahead *a;
        pthread_t id;
        struct shard_buf buf; /* memory for reading, used by this worker */
        double since;         /* clock_now() when the worker began to wait; 0:
                               * it does not wait */
    } * worker;               /* [nworker] */
    int stop;
    struct ahead_times times;
    /* Read the frame that is needed next.  Called with the lock, which it
     * releases while it reads.  1: a frame was read.  0: no frame is needed, or
     * there is no memory.  -1: the thread ends; the caller will meet the error
     * and report it. */
    int (*step)(void *owner, size_t worker, struct err *e);
    void *owner;
};
void ahead_init(struct ahead *a, size_t threads,
    int (*step)(void *owner, size_t worker, struct err *e), void *owner);
/* Start the threads; later calls do nothing.  For the caller's thread only. */
void ahead_start(struct ahead *a);
/* End the threads and join them.  ahead_release then frees the memory. */
void ahead_stop(struct ahead *a);
void ahead_release(struct ahead *a);
/* Wait for c as worker `worker`, and add the seconds to *sum. */
void ahead_wait(struct ahead *a, pthread_cond_t *c, double *sum, size_t worker);
/* The times so far, including waits that are under way. */
void ahead_get_times(struct ahead *a, struct ahead_times *t);

/* Expected distance of two documents (or rows) that are neighbours on disk,
 * when blocks of K frames are shuffled, as a share of their distance in a full
 * shuffle.  docs: number of documents.  Neighbours in one frame (all but one
 * pair per frame) stay in one block.  Neighbours in different frames are as far
 * apart as in a full shuffle. */
double ahead_near(size_t frames, size_t K, double docs);
/* Index k < n of the span that holds i; span k begins at upto[k]. */
size_t ahead_span(const uint64_t *upto, size_t n, uint64_t i);

#endif
