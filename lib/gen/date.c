/* Dates in chat templates; see date.h. */
#include "gen/date.h"

#include <stdio.h>
#include <string.h>

enum { FORMAT = 200, RESULT = 4000 }; /* most bytes of a format, of a result */

/* Days of the year before a month, which is numbered from 0; month 12: days of
 * the year. */
static int
days_before(int year, int month)
{
    static const int days[] = { 0, 31, 59, 90, 120, 151, 181, 212, 243, 273,
        304, 334, 365 };
    const int leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

    return days[month] + (month > 1 && leap);
}

int
date_parse(const char *text, struct tm *t, struct err *e)
{
    static const char like[] = "0000-00-00";
    int year, month, day, before;
    size_t i = 0;

    while (i < sizeof like - 1 &&
        (like[i] == '-' ? text[i] == '-' : text[i] >= '0' && text[i] <= '9'))
        i++;
    if (text[i] != '\0' || i < sizeof like - 1 ||
        sscanf(text, "%4d-%2d-%2d", &year, &month, &day) != 3 || year < 1000 ||
        month < 1 || month > 12 || day < 1 ||
        day > days_before(year, month) - days_before(year, month - 1))
        return err_set(e, EX_USAGE,
            "--date %s: is no day: give one as YYYY-MM-DD, such as 2026-01-31",
            text);
    before = year - 1;
    *t = (struct tm){ .tm_year = year - 1900,
        .tm_mon = month - 1,
        .tm_mday = day,
        .tm_yday = days_before(year, month - 1) + day - 1 };
    /* the first of January of year 1 was a Monday */
    t->tm_wday = (1 + 365 * before + before / 4 - before / 100 + before / 400 +
                     t->tm_yday) %
        7;
    return 0;
}

/* Append Python's format [n] to *to as a format for strftime, without the
 * conversions that Python replaces itself: %z and %Z by nothing, %f by a
 * fraction of a second. */
static int
c_format(const char *format, size_t n, struct buf *to, struct err *e)
{
    for (size_t i = 0; i < n;) {
        const size_t from = i;
        char c = format[i++];

        if (c == '%') {
            while (i < n && strchr("-_^#+:EO0123456789", format[i]) != NULL)
                i++;
            c = i < n ? format[i++] : '%';
            if (c == 's')
                return err_set(e, EX_INPUT,
                    "strftime_now with %%s is not known here");
            if (c == 'f')
                buf_adds(to, "000000");
            if (strchr("fzZ", c) != NULL)
                continue;
        }
        buf_add(to, format + from, i - from);
    }
    buf_addc(to, '.'); /* so that only a result that is too long is empty */
    return 0;
}

int
date_format(const struct tm *t, const char *format, size_t n, struct buf *out,
    struct err *e)
{
    char text[RESULT];
    struct buf plain = { 0 };
    size_t size;
    int r;

    if (n > FORMAT || memchr(format, '\0', n) != NULL)
        return err_set(e, EX_INPUT, "strftime_now takes a short text");
    if ((r = c_format(format, n, &plain, e)) == 0) {
        buf_addc(&plain, '\0');
        size = strftime(text, sizeof text, plain.p, t);
        if (size > 0)
            buf_add(out, text, size - 1);
        else
            r = err_set(e, EX_INPUT, "strftime_now prints too much");
    }
    buf_release(&plain);
    return r;
}
