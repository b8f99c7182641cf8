/* Cells of reports; see table.h. */
#include "eval/table.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>

const char *const format_names[] = { "text", "tsv", NULL };

enum { LONGEST = 64 };

/* v by fmt, or "-". */
static const char *
number(char text[LONGEST], const char *fmt, double v)
{
    snprintf(text, LONGEST, isfinite(v) ? fmt : "-", v);
    return text;
}

void
put_cell(struct buf *b, const char *fmt, double v)
{
    char text[LONGEST];

    buf_addf(b, "\t%s", number(text, fmt, v));
}

void
put_column(struct buf *b, int width, const char *fmt, double v)
{
    char text[LONGEST];

    buf_addf(b, " %*s", width, number(text, fmt, v));
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
    const struct mean *m, int digits)
{
    buf_addf(b, "%s - %s: %.*f", SHOWN(a), SHOWN(c), digits, m->v);
    if (isfinite(m->se))
        buf_addf(b, " +/- %.*f", digits, m->se);
    if (isfinite(m->v / m->se))
        buf_addf(b, " (%.1f standard errors)", m->v / m->se);
    buf_addc(b, '\n');
}
