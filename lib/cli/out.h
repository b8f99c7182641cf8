/* Writes a program's standard output. */
#ifndef CLI_OUT_H
#define CLI_OUT_H

#include <stddef.h>

/* Write to standard output, past stdio.  On EPIPE the program ends quietly with
 * status 0, because the reader reports its own errors. */
void out_put(const void *buf, size_t n);
/* Write a whole file, or none, instead; path NULL or "-": standard output.
 * Dies on errors. */
void out_file(const char *path, const void *buf, size_t n);

/* Call when nothing more goes to stdout (FILE or descriptor): flush and close
 * it, and die (EX_SYS) on a delayed error; EPIPE is quiet. */
void out_done(void);

/* Refuse to write binary data to a terminal: die (EX_USAGE) if fd is one. */
void out_refuse_tty(int fd);

#endif
