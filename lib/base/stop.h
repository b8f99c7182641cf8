/* Requests, by the user or the system, to stop the program. */
#ifndef BASE_STOP_H
#define BASE_STOP_H

#include <stdatomic.h>

/* Number of the latest signal that asked to stop (see prog_catch_stop,
 * cli/prog.h); 0: none has come.  Functions that wait look at stop_asked, and
 * fail with EX_STOP if it is set.  Atomic: any thread may run the handler, and
 * any thread reads it.  No other data depends on it. */
extern atomic_int stop_asked;

#endif
