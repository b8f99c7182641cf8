/* Notes for people: see note.h */
#include "base/note.h"
#include "base/err.h"

#include <stdarg.h>
#include <stddef.h>

const char *progname = "retort";
int verbosity;
void (*note_sink)(const char *msg);

static void
send_note(const char *fmt, va_list ap)
{
    char msg[4096];

    if (note_sink == NULL)
        return;
    err_format(msg, sizeof msg, fmt, ap);
    note_sink(msg);
}

void
note(const char *fmt, ...)
{
    va_list ap;

    if (verbosity < 0)
        return;
    va_start(ap, fmt);
    send_note(fmt, ap);
    va_end(ap);
}

void
vnote(const char *fmt, ...)
{
    va_list ap;

    if (verbosity < 1)
        return;
    va_start(ap, fmt);
    send_note(fmt, ap);
    va_end(ap);
}

void
warn(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    send_note(fmt, ap);
    va_end(ap);
}
