/*
 * A trace of a process in Chrome's Trace Event Format (complete events), which
 * ui.perfetto.dev and chrome://tracing show.  Until timeline_open it is
 * off, and a call costs the test of a flag.
 *
 *     const double t = clock_now();
 *     ... work ...
 *     timeline_add("compute", "forward and backward", t);
 */
#ifndef BASE_TIMELINE_H
#define BASE_TIMELINE_H

#include "base/err.h"

#include <stddef.h>

/* Write the trace of process number `process` (a rank) to path; processes after
 * 0 write path.PROCESS, which process 0 takes into its own when it closes. */
int timeline_open(const char *path, size_t process, struct err *e);
int timeline_on(void);
/* Add what the calling thread did from `begin` (a clock_now()) to now. kind and
 * name: words without quotes. */
void timeline_add(const char *kind, const char *name, double begin);
/* Close the trace; -1 and *e if not all was written.  Process 0 appends the
 * traces of the other processes, which must have closed theirs, in the same
 * file system. */
int timeline_close(size_t processes, struct err *e);

#endif
