/*
 * Progress of one job at a time.  On a terminal it is one line, rewritten five
 * times a second and never wider than the terminal.  The programs of a pipe
 * share that line: the last one has it, and one whose standard output is a
 * pipe draws none without -v.  Where stderr is no terminal it is a log and
 * gets a line a minute, with -v one every ten seconds.  -q: nothing.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

/* A job of `total` units (0: unknown; "B" and "bytes" are shown as MB and so
 * on).  what and unit are kept, not copied. */
void progress_begin(const char *what, double total, const char *unit);
/* `done` units were there before this run: they count as done, but not in the
 * rate or the time left.  After progress_begin. */
void progress_from(double done);
/* The total is now known, or known better. */
void progress_total(double total);
/* `done` units are done, those of progress_from included; extra: a short text
 * such as "loss 2.31", or NULL.  Cheap to call often. */
void progress_at(double done, const char *extra);
void progress_end(void);

/* The bytes to write before a line on stderr, which erase the progress line
 * that this or another process has drawn there. */
const char *progress_wipe(void);

/* Called by prog_begin: take SIGUSR1, which tells how the job stands. */
void progress_arm(void);
/* Has SIGUSR1 come since the last call?  A program that has more to tell does
 * so then. */
int progress_asked(void);

#endif
