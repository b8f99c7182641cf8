/*
 * Ranks that watch one another.  A thread of each rank sends rank 0 a UDP
 * packet, some ten times within the limit: that the rank lives, and for how
 * long it has waited in a collective or has not been in one.  Rank 0 answers.
 * A rank is lost if it
 *   is not heard of for the limit: killed, stopped, or cut off;
 *   does not come to a collective that others wait in for the limit: slow.
 * The job also ends if all ranks wait in collectives for the limit.  The limit
 * is three times the median step, but at least `least`; before the first step
 * ranks may be slow, and wait, for ten times `least`.
 * Packets carry a random key, which MPI has distributed.  A rank whose packets
 * never arrive, as behind a firewall, is not watched, and a warning says so.  A
 * process does not count time in which it was itself stopped, so that a job
 * suspended as a whole goes on.
 */
#ifndef DIST_WATCH_H
#define DIST_WATCH_H

#include "base/err.h"

/* Call on all ranks after dist_begin; on a single rank this and the functions
 * below do nothing.  least: seconds.  steps: the program calls watch_step; in a
 * program that does not, no rank is slow, since it may wait for its reader.
 * The rank that finds a lost one warns with its number, process and host and
 * with `advice` (not copied), removes temporary files, and ends all ranks with
 * EX_RANK.  -1 and *e (EX_SYS): no socket or thread. */
int watch_begin(double least, int steps, const char *advice, struct err *e);
/* Report how many seconds a step took. */
void watch_step(double seconds);
/* Between watch_busy(1) and watch_busy(-1), which another thread may call, this
 * rank is never slow: it saves, or evaluates held-out batches. */
void watch_busy(int change);
void watch_end(void);

/* Private to lib/dist: this rank begins, or ends, its wait in a collective. */
void watch_enter(void);
void watch_leave(void);

#endif
