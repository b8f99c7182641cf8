/* Writes a program's standard output. */
#ifndef CLI_OUT_H
#define CLI_OUT_H

#include <stddef.h>

/* Write to standard output, past stdio.  If the reader has left (EPIPE), the
 * program ends quietly with status 0: the reader reports its own errors. */
void out_put(const void *buf, size_t n);
/* Has the reader of standard output, a pipe, left?  It is found out without
 * writing. */
int out_reader_left(void);
/* Is file number fd a terminal that may get codes for bold text and colours, by
 * NO_COLOR and TERM? */
int out_colours(int fd);
/* Write a file, which appears whole or not at all; path NULL or "-": standard
 * output.  Dies on errors. */
void out_file(const char *path, const void *buf, size_t n);

/* Die (EX_USAGE) if two outputs of a program are the same file, by path or by
 * device and inode.  The arguments are pairs of an option's name and its path
 * ("-": standard output; NULL: the option was not given), then NULL.  Outputs
 * may share a device such as /dev/null.  Call it before an output is opened. */
void out_differ(const char *option, const char *path, ...);

/* Call when nothing more goes to stdout, by stdio or out_put: flush and close
 * it.  An error that shows only now is fatal (EX_SYS); EPIPE is quiet. */
void out_done(void);

/* Refuse to write binary data to a terminal: die (EX_USAGE) if fd is one. */
void out_refuse_tty(int fd);

#endif
