/*
 * A trace of a process in Chrome's Trace Event Format (complete events), which
 * ui.perfetto.dev and chrome://tracing show.  Before timeline_open nothing is
 * recorded, and a call costs one test of a flag.
 *
 *     const double t = clock_now();
 *     ... work ...
 *     timeline_add("compute", "forward and backward", t);
 */
#ifndef BASE_TIMELINE_H
#define BASE_TIMELINE_H

#include "base/err.h"

#include <stddef.h>

/* Write the trace of process number `process` (a rank) to path if that is 0,
 * else to path.PROCESS, which process 0 appends to its own when it closes. */
int timeline_open(const char *path, size_t process, struct err *e);
int timeline_on(void);
/* Record that the calling thread did this from `begin` (a clock_now()) to now.
 * kind and name may not hold quotes. */
void timeline_add(const char *kind, const char *name, double begin);
/* Close the trace; -1 and *e if not all was written.  Process 0 appends the
 * traces of the others: these must be closed, and in the same file system. */
int timeline_close(size_t processes, struct err *e);

#endif
