/* What the reports are made of; see evalppl.h. */
#include "evalppl.h"
#include "base/text.h"

#include <math.h>
#include <string.h>

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
put_difference(struct buf *b, const struct judged *i, const struct judged *k,
    const struct mean *m, int digits)
{
    buf_addf(b, "%s - %s: %.*f", SHOWN(i->label), SHOWN(k->label), digits,
        m->v);
    if (isfinite(m->se))
        buf_addf(b, " +/- %.*f", digits, m->se);
    if (isfinite(m->v / m->se))
        buf_addf(b, " (%.1f standard errors)", m->v / m->se);
    buf_addc(b, '\n');
}

const char *
source_name(const struct eval *e, size_t source)
{
    return source == NONE ? "(all)" : e->info.source[source];
}

int
label_width(const struct eval *e, size_t most)
{
    size_t w = 5;

    for (size_t i = 0; i < e->nj; i++) {
        const size_t n = strlen(SHOWN(e->j[i].label));

        w = n > w ? n : w;
    }
    return (int)(w > most ? most : w);
}
