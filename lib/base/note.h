/*
 * Notes for people.  They go to note_sink, which programs set (cli/prog.h);
 * without it they are dropped.
 */
#ifndef BASE_NOTE_H
#define BASE_NOTE_H

/* All three are set before threads start. */
extern const char *progname; /* basename of argv[0] */
extern int verbosity;        /* -1 after -q, 0, 1 after -v, 2 after -vv */
/* Takes one message, without newline, from any thread; NULL: notes are
 * dropped. */
extern void (*note_sink)(const char *msg);

/* note() prints one line, unless -q was given; vnote() only with -v. */
void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void vnote(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* warn() prints even with -q.  A trailing ':' adds the text of errno. */
void warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
