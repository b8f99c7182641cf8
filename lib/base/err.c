/* Errors: see err.h */
#include "base/err.h"
#include "base/prog.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Format into out[n]; a format that ends with ':' gets the text of errno. */
static void
format(char *out, size_t n, const char *fmt, va_list ap)
{
    const int saved = errno;
    const size_t len = strlen(fmt);
    size_t used;

    if (vsnprintf(out, n, fmt, ap) < 0)
        out[0] = '\0';
    used = strlen(out);
    if (len > 0 && fmt[len - 1] == ':')
        snprintf(out + used, n - used, " %s", strerror(saved));
    errno = saved;
}

int
err_set(struct err *e, int code, const char *fmt, ...)
{
    va_list ap;

    if (e == NULL)
        return -1;
    e->code = code;
    va_start(ap, fmt);
    format(e->msg, sizeof e->msg, fmt, ap);
    va_end(ap);
    return -1;
}

int
err_at(struct err *e, uint64_t at, const char *fmt, ...)
{
    va_list ap;

    if (e == NULL)
        return -1;
    e->code = EX_INPUT;
    va_start(ap, fmt);
    format(e->msg, sizeof e->msg, fmt, ap);
    va_end(ap);
    return err_prefix(e, "offset %" PRIu64, at);
}

int
err_prefix(struct err *e, const char *fmt, ...)
{
    char head[sizeof e->msg], tail[sizeof e->msg];
    size_t n;
    va_list ap;

    if (e == NULL)
        return -1;
    va_start(ap, fmt);
    if (vsnprintf(head, sizeof head, fmt, ap) < 0)
        head[0] = '\0';
    va_end(ap);
    memcpy(tail, e->msg, sizeof tail);
    n = strlen(head);
    if (n > sizeof head - 3)
        n = sizeof head - 3;
    memcpy(e->msg, head, n);
    memcpy(e->msg + n, ": ", 2);
    n += 2;
    memcpy(e->msg + n, tail, sizeof tail - n);
    e->msg[sizeof e->msg - 1] = '\0';
    return -1;
}

void
warn(const char *fmt, ...)
{
    char msg[4096];
    va_list ap;

    va_start(ap, fmt);
    format(msg, sizeof msg, fmt, ap);
    va_end(ap);
    prog_say(msg);
}

void
die(int status, const char *fmt, ...)
{
    char msg[4096];
    va_list ap;

    va_start(ap, fmt);
    format(msg, sizeof msg, fmt, ap);
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
