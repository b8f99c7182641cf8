/*
 * What every program does around its job: its name, the progress line, the
 * closing line with cost, signals.  stderr only.  Progress is one line that
 * rewrites itself on a terminal, and nothing in a pipe; with -v plain lines
 * appear every ten seconds in a log.  SIGUSR1 prints a status line any time.
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

/* note(): one line for people, unless -q.  vnote(): only with -v. */
void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void vnote(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Set by SIGINT and SIGTERM after prog_catch_stop(); a second SIGINT kills. */
extern volatile sig_atomic_t prog_stopped;
void prog_catch_stop(void);

/* Progress of one job: total in `unit` (0: unknown; "B" and "bytes" are shown
 * as MB and so on), done so far, and a short extra text such as "loss 2.31"
 * (may be NULL).  Cheap to call often. */
void progress_begin(const char *what, double total, const char *unit);
void progress_at(double done, const char *extra);
void progress_end(void);

/* Wipe the progress line; call before printing on stderr by other means. */
void progress_hide(void);

/* Text added to the closing line, such as "2.1 M tokens/s" (copied). */
void prog_closing(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
