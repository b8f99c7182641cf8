/* Around each call: dist.c watches, logs and times it.  Private to lib/dist. */
#ifndef DIST_CALL_H
#define DIST_CALL_H

#include "dist/dist.h"
#include "dist/log.h"

struct call {
    double begin;  /* clock_now(); 0: neither logged nor in the timeline */
    double wait;   /* seconds until the other ranks had come */
    double before; /* seconds that the call took in an earlier part */
    size_t sent;   /* bytes sent when it began */
};
/* A call of all ranks of a group begins: if calls are logged or in the
 * timeline all wait for each other first, which is told apart. */
struct call call_begin(const struct dist_group *g);
/* A call of two ranks begins: nobody else waits for them. */
struct call call_begin_pair(void);
/* A call has ended: its kind, its name in the log, bytes of the whole array and
 * of this rank's part. */
void call_end(const struct dist_group *g, const struct call *s,
    enum comm_kind kind, const char *op, size_t whole, size_t shard);

/* Free the memory of sum.c, when MPI ends. */
void dist_free_room(void);

#endif
