/* Requests, by the user or the system, to stop the program. */
#ifndef BASE_STOP_H
#define BASE_STOP_H

#include <signal.h>

/* The latest of the signals that prog_catch_stop takes (cli/prog.h); 0: none
 * has come.  Functions that wait look at it, and return EX_STOP. */
extern volatile sig_atomic_t stop_asked;

#endif
