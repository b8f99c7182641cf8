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

/* Begin the trace of process number `process` (a rank), before the threads
 * whose work is recorded start.  Process 0 writes to path, any other one to
 * path.PROCESS; when process 0 closes its trace, it appends the others' files.
 */
int timeline_open(const char *path, size_t process, struct err *e);
int timeline_on(void);
/* Record that the calling thread has worked on `name`, of category `kind`, from
 * `begin` (a clock_now()) until now.  Neither text may hold quotes. */
void timeline_add(const char *kind, const char *name, double begin);
/* Close the trace; -1 and *e if not all was written.  Process 0 appends the
 * other processes' traces, which must be closed and in files that process 0 can
 * read. */
int timeline_close(size_t processes, struct err *e);

#endif
