/* What dist.c does for all calls, which are watched, logged, and in the
 * timeline.  Private to lib/dist. */
#ifndef DIST_SEEN_H
#define DIST_SEEN_H

#include "dist/dist.h"
#include "dist/log.h"

struct watched {
    double begin, wait; /* begin 0: it is neither logged nor in the timeline */
    size_t sent;
    double before; /* seconds that it has already taken before begin */
};
/* A call of all ranks of a group begins: when it is seen, all wait for each
 * other first. */
struct watched dist_see(const struct dist_group *g);
/* A call of two ranks begins: nobody else waits for them. */
struct watched dist_see_pair(void);
/* A call has ended: what it was, bytes of all and of this rank's part. */
void dist_saw(const struct dist_group *g, const struct watched *s,
    enum comm_kind kind, const char *op, size_t whole, size_t shard);

/* At the end: the room of sum.c. */
void dist_free_room(void);

#endif
