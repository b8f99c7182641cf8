/* Columns of a report for people; see columns.h. */
#include "eval/columns.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>

enum { LONGEST = 64 };

void
put_column(struct buf *b, int width, const char *fmt, double v)
{
    char text[LONGEST];

    snprintf(text, sizeof(text), isfinite(v) ? fmt : "-", v);
    buf_addf(b, " %*s", width, text);
}

void
put_range(struct buf *b, int width, const char *fmt, double low, double high)
{
    char text[LONGEST];

    snprintf(text, sizeof(text), isfinite(low) && isfinite(high) ? fmt : "-",
        low, high);
    buf_addf(b, " %*s", width, text);
}

void
put_difference(struct buf *b, const char *a, const char *c,
    const struct estimate *m, int digits)
{
    buf_addf(b, "%s - %s: %.*f", SHOWN(a), SHOWN(c), digits, m->v);
    if (isfinite(m->se))
        buf_addf(b, " +/- %.*f", digits, m->se);
    if (isfinite(m->v / m->se))
        buf_addf(b, " (%.1f standard errors)", m->v / m->se);
    buf_addc(b, '\n');
}
