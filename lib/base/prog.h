/*
 * What every program does around its job: its name, messages, the closing line
 * with cost, signals.  stderr only.  Its progress: progress.h.
 */
#ifndef BASE_PROG_H
#define BASE_PROG_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

extern const char *progname;    /* basename of argv[0] */
extern int verbosity;           /* -1 after -q, 0, 1 after -v, 2 after -vv */

const char *prog_version(void);     /* "0.1.0" */
const char *prog_build(void);       /* compiler and flags */

/* Called by opt_parse: starts the clock, takes SIGUSR1, and arms the closing
 * line, printed at exit unless -q. */
void prog_begin(void);

/* Monotonic seconds; CPU seconds of the process; peak resident bytes, and
 * those of now (0: the system does not tell). */
double prog_now(void);
double prog_cpu(void);
size_t prog_peak(void);
size_t prog_resident(void);

/* "PROG: msg" as one line on stderr, in one write, in which a terminal finds
 * nothing to obey (text.h).  What all messages go through. */
void prog_say(const char *msg);
/* note(): one line for people, unless -q.  vnote(): only with -v. */
void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void vnote(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Set by SIGINT and SIGTERM after prog_catch_stop().  timeout(1) and mpirun
 * send one SIGINT to a process twice: those of the first two seconds are one.
 * A later one kills, but not while a result is being saved. */
extern volatile sig_atomic_t prog_stopped;
void prog_catch_stop(void);
void prog_saving(int on);

/* Text for the closing line, such as "2.1 M tokens/s", and more that is in it
 * only with -v.  Copied; the line without -v should fit in two rows of 80
 * columns, of which 65 are for the text. */
void prog_closing(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void prog_detail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
