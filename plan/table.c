/* Tables: see table.h */
#include "table.h"
#include "figures.h"
#include "format/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void
table_add(struct table *t, const char *text)
{
    t->cell = xgrow_pow2(t->cell, t->n, sizeof *t->cell);
    t->cell[t->n++] = xstrdup(text);
}

void
table_add_buf(struct table *t, struct buf *b)
{
    table_add(t, b->n > 0 ? b->p : "");
    buf_clear(b);
}

void
table_add_figure(struct table *t, const struct figure *f,
    const struct figures *other, size_t n, int format)
{
    struct buf b = { 0 };

    table_add(t, f->name);
    for (size_t i = 0; i <= n; i++) {
        const double v = i == 0 ? f->v : figure_of(&other[i - 1], f->name);

        if (format == FORMAT_TEXT)
            figure_text(&b, f, v, 0);
        else
            figure_plain(&b, f, v);
        table_add_buf(t, &b);
        if (i > 0) {
            buf_addf(&b, isfinite(v / f->v) ? "%.3f" : "-", v / f->v);
            table_add_buf(t, &b);
        }
    }
    buf_release(&b);
}

/* Append a member of a row's JSON object.  Numbers are not quoted; a number
 * that is not finite is null. */
static void
put_member(struct buf *b, const char *name, const char *cell)
{
    char *end;
    const double v = strtod(cell, &end);
    const int number = end != cell && *end == '\0';

    js_quote(b, name);
    buf_adds(b, ": ");
    if (strcmp(cell, "-") == 0 || (number && !isfinite(v)))
        buf_adds(b, "null");
    else if (number)
        buf_adds(b, cell);
    else
        js_quote(b, cell);
}

static void
put_objects(struct buf *b, const struct table *t)
{
    for (size_t i = t->ncol; i < t->n; i++) {
        if (i % t->ncol == 0)
            buf_adds(b, i == t->ncol ? "[\n  { " : ",\n  { ");
        put_member(b, t->cell[i % t->ncol], t->cell[i]);
        buf_adds(b, (i + 1) % t->ncol == 0 ? " }" : ", ");
    }
    buf_adds(b, t->n > t->ncol ? "\n]\n" : "[]\n");
}

/* Append a bar, COLUMNS long for the largest cell of the last column, and in
 * proportion for others. */
static void
put_bar(struct buf *b, const struct table *t, const char *cell)
{
    enum { COLUMNS = 40 };
    double most = 0.0;
    int n;

    for (size_t i = 2 * t->ncol - 1; i < t->n; i += t->ncol)
        most = fmax(most, strtod(t->cell[i], NULL));
    n = most > 0.0 ? (int)(COLUMNS * strtod(cell, NULL) / most + 0.5) : 0;
    for (int i = 0; i < n; i++)
        buf_adds(b, i == 0 ? "  #" : "#");
}

/* Append the table with columns as wide as their widest cells, all but the
 * first aligned right. */
static void
put_aligned(struct buf *b, const struct table *t, int bars)
{
    size_t *width = xcalloc(t->ncol, sizeof *width);

    for (size_t i = 0; i < t->n; i++) {
        const size_t n = strlen(t->cell[i]), k = i % t->ncol;

        width[k] = n > width[k] ? n : width[k];
    }
    for (size_t i = 0; i < t->n; i++) {
        const size_t k = i % t->ncol;
        const int last = k + 1 == t->ncol;

        if (last && t->prose)
            buf_addf(b, "  %s", t->cell[i]);
        else
            buf_addf(b, k == 0 ? "%-*s" : "  %*s", (int)width[k], t->cell[i]);
        if (bars && last && i > k)
            put_bar(b, t, t->cell[i]);
        if (last)
            buf_addc(b, '\n');
    }
    free(width);
}

void
table_put(struct buf *b, const struct table *t, int format)
{
    if (format == FORMAT_JSON)
        put_objects(b, t);
    else if (format == FORMAT_TSV)
        for (size_t i = 0; i < t->n; i++)
            buf_addf(b, "%s%c", t->cell[i],
                (i + 1) % t->ncol > 0 ? '\t' : '\n');
    else
        put_aligned(b, t, format == FORMAT_BARS);
}

void
table_release(struct table *t)
{
    for (size_t i = 0; i < t->n; i++)
        free(t->cell[i]);
    free(t->cell);
}
