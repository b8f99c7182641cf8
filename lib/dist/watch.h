/*
 * Ranks that watch one another.  A thread of each rank sends rank 0 a UDP
 * packet at intervals of a tenth of `least`, but not under 0.05 s or over 1 s.
 * The packet shows that the rank lives, and says how long it has waited in a
 * collective, or has not been in one.  Rank 0 answers.  The job ends if
 *   a rank is silent for the limit: killed, stopped, or cut off;
 *   a rank is slow: it has not been in a collective, and others have waited in
 *     one, for the limit;
 *   all ranks have waited in collectives for the limit.
 * The limit is three times the median of the last steps, but at least `least`.
 * Until the first step is done, a rank is silent after `least`, but slow, or
 * waiting for too long, only after ten times `least`.
 *
 * Packets carry a random key, which MPI has distributed.  A rank whose packets
 * never arrive, as behind a firewall, is not watched, and a warning says so.  A
 * process does not count time in which it was itself stopped, so that a job
 * that was suspended as a whole goes on.
 */
#ifndef DIST_WATCH_H
#define DIST_WATCH_H

#include "base/err.h"

/* Call on all ranks after dist_begin; on a single rank this and the functions
 * below do nothing.
 * least: seconds.
 * steps: 1: the program calls watch_step; 0: no rank counts as slow, since it
 * may wait for its reader.
 * advice: text added to the warning; not copied.
 * The rank that finds a lost one warns with that rank's number, process and
 * host, removes temporary files, and ends all ranks with EX_RANK.  -1 and
 * EX_SYS: no socket or thread. */
int watch_begin(double least, int steps, const char *advice, struct err *e);
/* Report how many seconds a step took. */
void watch_step(double seconds);
/* Between watch_busy(1) and watch_busy(-1), which another thread may call, this
 * rank does not count as slow: it saves, evaluates held-out batches, or waits
 * for a program or server that has a time limit of its own. */
void watch_busy(int change);
void watch_end(void);

/* Private to lib/dist, for the main thread only: this rank begins, or ends, its
 * wait in a collective. */
void watch_enter(void);
void watch_leave(void);

#endif
