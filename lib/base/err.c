/* Errors: see err.h */
#include "base/err.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void
err_format(char *out, size_t n, const char *fmt, va_list ap)
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
    err_format(e->msg, sizeof e->msg, fmt, ap);
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
    err_format(e->msg, sizeof e->msg, fmt, ap);
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
