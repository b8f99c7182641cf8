/* Writes a program's standard output. */
#ifndef CLI_OUT_H
#define CLI_OUT_H

#include <stddef.h>

/* Write to standard output, past stdio.  On EPIPE the program ends quietly with
 * status 0: the reader reports its own. */
void out_put(const void *buf, size_t n);
/* Write to a file instead, whole or not at all; path NULL or "-": standard
 * output.  Dies on errors. */
void out_file(const char *path, const void *buf, size_t n);

/* Last thing a program does with stdout (FILE or descriptor): flush, close,
 * die(EX_SYS) on a delayed error, EPIPE is quiet. */
void out_done(void);

/* die(EX_USAGE) when fd is a terminal: binary is not written there. */
void out_refuse_tty(int fd);

#endif
