/* The end of a program: see die.h */
#include "cli/die.h"
#include "cli/prog.h"

#include <stdarg.h>
#include <stdlib.h>

void
die(int status, const char *fmt, ...)
{
    char msg[4096];
    va_list ap;

    va_start(ap, fmt);
    err_format(msg, sizeof msg, fmt, ap);
    va_end(ap);
    prog_say(msg);
    exit(status);
}

void
die_err(const struct err *e)
{
    prog_say(e->msg);
    exit(e->code);
}
