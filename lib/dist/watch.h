/*
 * Ranks that watch one another.  A thread of each tells rank 0 by UDP, some ten
 * times in the limit below, that it lives, and since when it has been waiting
 * in a collective or has not; rank 0 answers.  So a rank is found that
 *   is not heard of for the limit: killed, stopped, or cut off;
 *   does not come to the collective that others wait in for the limit: slow.
 * All ranks end, too, when all wait in collectives for the limit.  It is three
 * times the median step, and not less than asked for; before the first step
 * ranks may be slow, and wait, ten times as long as asked for.
 * Packets carry a random key, which MPI has brought.  A rank whose packets do
 * not arrive at all, as behind a firewall, is not watched, and a warning says
 * so.  A process does not count time in which it was stopped itself, so a job
 * that is suspended as a whole goes on.
 */
#ifndef DIST_WATCH_H
#define DIST_WATCH_H

#include "base/err.h"

/* After dist_begin, by all ranks; one rank alone does nothing, here and below.
 * least: seconds.  steps: the program calls watch_step; in one that does not no
 * rank is slow, since it may wait for its reader.  The rank that has found a
 * lost one warns with its number, process and host, and `advice` (not copied),
 * removes what is temporary, and ends all ranks with EX_RANK.  -1 and *e
 * (EX_SYS): no socket or thread. */
int watch_begin(double least, int steps, const char *advice, struct err *e);
/* Tell the seconds that a step has taken. */
void watch_step(double seconds);
/* From watch_busy(1) to watch_busy(-1), which may be in another thread, this
 * rank is never slow: it saves, or judges held-out batches. */
void watch_busy(int change);
void watch_end(void);

/* Private to lib/dist: this rank begins to wait in a collective; it is over. */
void watch_enter(void);
void watch_leave(void);

#endif
