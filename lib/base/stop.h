/* Requests by the user or the system that the program stop. */
#ifndef BASE_STOP_H
#define BASE_STOP_H

#include <signal.h>

/* The last of the signals that prog_catch_stop takes (cli/prog.h), or 0.
 * Functions that wait look at it, and return EX_STOP. */
extern volatile sig_atomic_t stop_asked;

#endif
