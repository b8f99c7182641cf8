/*
 * Ranks that watch one another.  A thread of each tells rank 0 by UDP, some ten
 * times in the limit below, that it lives, and since when it has been waiting
 * in a collective or has not; rank 0 answers.  So a rank is found that
 *   is not heard of for the limit: killed, stopped, or cut off;
 *   does not come to the collective that others wait in for the limit: slow.
 * The limit is three times the median step, and not less than asked for.
 * Packets carry a random key, which MPI has brought.  A rank whose packets do
 * not arrive at all, as behind a firewall, is not watched, and a warning says
 * so.  What is late because rank 0 itself was stopped counts for nobody.
 */
#ifndef DIST_WATCH_H
#define DIST_WATCH_H

#include "base/err.h"

/* After dist_begin, by all ranks; one rank alone does nothing, here and below.
 * least: seconds.  The rank that has found a lost one warns with its number,
 * process and host, and `advice` (not copied), removes what is temporary, and
 * ends all ranks with EX_RANK.  -1 and *e (EX_SYS): no socket or thread. */
int watch_begin(double least, const char *advice, struct err *e);
/* A step has taken so many seconds.  Nobody is slow before the first. */
void watch_step(double seconds);
/* From watch_busy(1) to watch_busy(-1), which may be in another thread, this
 * rank is never slow: it saves. */
void watch_busy(int change);
void watch_end(void);

/* Private to lib/dist: this rank begins to wait in a collective; it is over. */
void watch_enter(void);
void watch_leave(void);

#endif
