/* What a program writes to standard output. */
#ifndef CLI_OUT_H
#define CLI_OUT_H

#include <stddef.h>

/* Write to stdout-like fd, naming `name` in errors.  On EPIPE the program ends
 * quietly with status 0: the reader reports its own. */
void out_put(int fd, const void *buf, size_t n, const char *name);

/* Last thing a program does with stdout (FILE or descriptor): flush, close,
 * die(EX_SYS) on a delayed error, EPIPE is quiet. */
void out_done(void);

/* die(EX_USAGE) when fd is a terminal: binary is not written there. */
void out_refuse_tty(int fd);

#endif
