/*
 * Progress of one job at a time.  On a terminal it is one line, rewritten five
 * times a second and never wider than the terminal.  The programs of a pipe
 * share that line: the last program draws it; a program whose standard output
 * is a pipe draws it only with -v.  If stderr is not a terminal, it is taken
 * for a log, which gets a line a minute, or with -v one every ten seconds.
 * With -q no progress is shown.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stddef.h>

/* Begin a job of `total` units (0: unknown).  The unit "B" or "bytes" is shown
 * as MB and so on; "s" is shown without a rate.  what and unit are not
 * copied. */
void progress_begin(const char *what, double total, const char *unit);
/* Call after progress_begin, if `done` units were done before this run.  They
 * count as done, but not in the rate or the time left. */
void progress_from(double done);
/* Call before progress_at: seconds left as the caller knows them, instead of
 * those that the rate so far would take. */
void progress_left(double seconds);
/* Set the total, if it becomes known, or known better, after progress_begin. */
void progress_total(double total);
/* Report that `done` units are done, including the units of progress_from.
 * extra: a short text such as "loss 2.31", which is copied, or NULL.  Cheap to
 * call often. */
void progress_at(double done, const char *extra);
void progress_end(void);

/* Write seconds to out [n] as hours, minutes and seconds, "1:15" or "2:00:05";
 * returns out. */
const char *progress_clock(double s, char *out, size_t n);

/* Return the seconds that are left by the last line of progress in a text, such
 * as "(73 %), 2:03 left"; 0 if the text has no such line. */
double progress_read_left(const char *text);

/* Text to write before a line on stderr: it erases the progress line that this
 * or another process has drawn there. */
const char *progress_wipe(void);

/* Called by prog_begin: from here on, SIGUSR1 prints how the job stands. */
void progress_arm(void);
/* Has SIGUSR1 come since the last call?  Then a program prints what it knows
 * beyond the progress line. */
int progress_asked(void);

#endif
