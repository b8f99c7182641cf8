/*
 * What every program does around its job: its name, messages, the closing line
 * with cost, signals.  stderr only.  Its progress: progress.h.
 */
#ifndef CLI_PROG_H
#define CLI_PROG_H

#include <stddef.h>

const char *prog_version(void); /* "0.1.0" */
const char *prog_build(void);   /* compiler and flags */

/* Called by opt_parse first: says what the library has to note (base/note.h),
 * and ends the program when memory is out (base/mem.h). */
void prog_listen(void);
/* Called by opt_parse last: starts the clock, takes SIGUSR1, and arms the
 * closing line, printed at exit unless -q. */
void prog_begin(void);

/* Peak resident bytes, and those of now (0: the system does not tell). */
size_t prog_peak(void);
size_t prog_resident(void);

/* "PROG: msg" as one line on stderr, in one write, in which a terminal finds
 * nothing to obey (text.h).  What all messages go through. */
void prog_say(const char *msg);
/* From here on SIGINT and SIGTERM set stop_asked (base/stop.h).  timeout(1) and
 * mpirun send one SIGINT to a process twice: those of the first two seconds
 * are one.  A later one kills, but not while a result is being saved. */
void prog_catch_stop(void);
void prog_saving(int on);
/* SIGALRM sets stop_asked, too, that long after the program began. */
void prog_stop_after(double seconds);

/* Text for the closing line, such as "2.1 M tokens/s", and more that is in it
 * only with -v.  Copied; the line without -v should fit in two rows of 80
 * columns, of which 65 are for the text. */
void prog_closing(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void prog_detail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
