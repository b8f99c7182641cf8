/* Begins and ends each call of lib/dist, to which it is private: dist.c
 * watches, logs and times calls. */
#ifndef DIST_CALL_H
#define DIST_CALL_H

#include "dist/dist.h"
#include "dist/log.h"

struct call {
    double begin;  /* clock_now(); 0: the call is neither logged nor in the
                    * timeline */
    double wait;   /* seconds that this rank waited for the others to come */
    double before; /* seconds that dist_post took, if this is dist_posted */
    size_t sent;   /* mpi_sent() when the call began */
};
/* Begin a call of all ranks of a group.  If calls are logged or in the
 * timeline, all ranks first wait for each other, and the wait is measured
 * separately. */
struct call call_begin(const struct dist_group *g);
/* Begin a call between two ranks, without a common wait. */
struct call call_begin_pair(void);
/* End a call: its kind, its name in the log, bytes of the whole array and of
 * this rank's part. */
void call_end(const struct dist_group *g, const struct call *s,
    enum comm_kind kind, const char *op, size_t whole, size_t shard);

/* Free sums.room when MPI ends; in sum.c. */
void dist_free_room(void);

#endif
