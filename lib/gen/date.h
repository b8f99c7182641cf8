/* The date that a chat template prints by strftime_now. */
#ifndef GEN_DATE_H
#define GEN_DATE_H

#include "base/err.h"
#include "base/mem.h"

#include <stddef.h>
#include <time.h>

/* Set *t to 00:00 of the day `text`, YYYY-MM-DD of the years 1000 to 9999.
 * -1 and *e (EX_USAGE): the text is no such day. */
int date_parse(const char *text, struct tm *t, struct err *e);

/*
 * Append *t as `format` [n] describes it, with the result of Python's
 * datetime.strftime in the C locale for a time without a zone.  -1 and *e
 * (EX_INPUT): the format has %s, which depends on the zone, or a NUL; or the
 * format or the result is too long.
 */
int date_format(const struct tm *t, const char *format, size_t n,
    struct buf *out, struct err *e);

#endif
