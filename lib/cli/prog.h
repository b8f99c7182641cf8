/*
 * A program's name, messages, closing line with the cost (all on stderr) and
 * signals.  Progress is in progress.h.
 */
#ifndef CLI_PROG_H
#define CLI_PROG_H

#include <stddef.h>

const char *prog_version(void); /* "0.1.0" */
const char *prog_build(void);   /* compiler and flags */

/* Called first by opt_parse.  From here on notes of the library (base/note.h)
 * are printed, and exhausted memory ends the program (base/mem.h). */
void prog_listen(void);
/* Called last by opt_parse: starts the clock, takes SIGUSR1, and arms the
 * closing line, which is printed at exit unless -q was given. */
void prog_begin(void);

/* Call on each rank if there are several: ranks other than 0 print only errors,
 * with their number. */
void prog_rank(size_t rank);

/* Bytes of resident memory: at the peak (prog_peak) and now (prog_resident); 0:
 * the system does not tell. */
size_t prog_peak(void);
size_t prog_resident(void);

/* Print "PROG: msg" as one line on stderr, in one write, with control
 * characters made visible (text.h).  All messages go through it. */
void prog_say(const char *msg);
/* From here on SIGINT, SIGTERM and SIGUSR2 set stop_asked (base/stop.h).  A
 * second SIGINT kills the program, with two exceptions: within two seconds of
 * the first signal, since timeout(1) and mpirun send it twice; and while
 * prog_saving is on. */
void prog_catch_stop(void);
void prog_saving(int on);
/* While `on`, a signal to stop does not set stop_asked at once, so that work in
 * hand can be finished: it is set PROG_DEFER seconds later, by another signal
 * after two seconds, or by prog_defer_stop(0).  A signal that set stop_asked
 * before is deferred too.  prog_stop_deferred: the deferred signal, or 0. */
enum { PROG_DEFER = 30 };
void prog_defer_stop(int on);
int prog_stop_deferred(void);
/* Set stop_asked, by SIGALRM, `seconds` after the program began. */
void prog_stop_after(double seconds);

/* prog_closing: text for the closing line, such as "2.1 M tokens/s", of at most
 * 65 columns, so that the line fits in two rows of 80.  prog_detail: text that
 * -v adds to it.  Both are copied. */
void prog_closing(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void prog_detail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
