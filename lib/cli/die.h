/* The end of a program that cannot go on.  Exit codes: base/err.h. */
#ifndef CLI_DIE_H
#define CLI_DIE_H

#include "base/err.h"

/* Print "PROG: message" on stderr and exit with status.  A trailing ':' adds
 * the text of errno. */
void die(int status, const char *fmt, ...)
    __attribute__((noreturn, format(printf, 2, 3)));
/* die with what *e says and its code. */
void die_err(const struct err *e) __attribute__((noreturn));

#endif
