/* Private to lib/dist: each collective and each message calls these functions
 * when it begins and ends, and so is watched, logged and timed; in dist.c. */
#ifndef DIST_CALL_H
#define DIST_CALL_H

#include "dist/dist.h"
#include "dist/log.h"

struct call {
    double begin;  /* clock_now(); 0: calls are neither logged nor in the
                    * timeline */
    double wait;   /* seconds that this rank waited for the others before */
    double before; /* in dist_posted: seconds that dist_post took */
    size_t sent;   /* mpi_sent() when the call began */
};
/* Begin a call of all ranks of a group.  If calls are logged or in the
 * timeline, all ranks first wait for each other, so that this wait is not part
 * of the call's time. */
struct call call_begin(const struct dist_group *g);
/* Begin a call between two ranks: nobody waits first. */
struct call call_begin_pair(void);
/* End a call.  op: its name in the log; whole, shard: bytes of the whole array
 * and of this rank's part. */
void call_end(const struct dist_group *g, const struct call *s,
    enum comm_kind kind, const char *op, size_t whole, size_t shard);

/* Free the buffer of sums, when MPI ends; in sum.c. */
void dist_free_room(void);

#endif
