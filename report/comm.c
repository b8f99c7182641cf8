/* Charts of collectives: see comm.h */
#include "comm.h"
#include "chart.h"
#include "html.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Format a size, such as "4 KB". */
static char *
size_text(double bytes)
{
    static const char *const unit[] = { "B", "KB", "MB", "GB", "TB" };
    size_t i = 0;

    for (; bytes >= 1024.0 && i < 4; i++)
        bytes /= 1024.0;
    return xasprintf("%g %s", bytes, unit[i]);
}

/* Number of rows: one for each power of two from the least size (*least) to the
 * largest. */
static size_t
size_rows(const struct table *t, double *least)
{
    const size_t from = table_column(t, "from");
    double most = 0.0;

    *least = INFINITY;
    for (size_t i = 0; i < t->nrow; i++) {
        const double v = table_real(t, i, from);

        if (!(v >= 1.0))
            continue;
        *least = fmin(*least, v);
        most = fmax(most, v);
    }
    return most > 0.0 ? 1 + (size_t)lrint(log2(most / *least)) : 0;
}

/* Draw a histogram of one column by n sizes, with a series for each operation.
 */
static void
comm_chart(struct buf *b, const struct table *t, struct chart c,
    const char *column, double unit, size_t n, double least,
    const char *const *name)
{
    const size_t op = table_column(t, "op"), from = table_column(t, "from");
    const size_t v = table_column(t, column);

    for (size_t i = 0; i < t->nrow; i++) {
        const double k = log2(table_real(t, i, from) / least);
        struct series *s = chart_series(&c, table_cell(t, i, op), SIZE_MAX);

        while (s->n < n)
            series_add(s, NAN, NAN);
        if (k >= 0.0 && k < (double)n)
            s->p[lrint(k)].y = table_real(t, i, v) / unit;
    }
    chart_rows(b, &c, name);
}

void
charts_comm(struct buf *b, const struct table *t)
{
    static const struct {
        struct chart c;
        const char *column;
        double unit;
    } all[] = {
        { { .id = "comm-count",
              .title = "Collectives by size",
              .note = "Of rank 0; each size up to the next.",
              .x = "how often" },
            "count", 1.0 },
        { { .id = "comm-bytes",
              .title = "Bytes by size of the collective",
              .note = "Of the whole arrays.",
              .x = "MB" },
            "bytes", 1024.0 * 1024.0 },
        { { .id = "comm-time",
              .title = "Time by size of the collective",
              .note = "Without waiting for other ranks.",
              .x = "seconds" },
            "ms", 1e3 },
    };
    double least;
    const size_t n = size_rows(t, &least);
    char **name = xcalloc(n + 1, sizeof *name);

    for (size_t i = 0; i < n; i++)
        name[i] = size_text(ldexp(least, (int)i));
    buf_adds(b, "<div class=\"figures\">\n");
    for (size_t i = 0; i < sizeof all / sizeof *all && n > 0; i++)
        comm_chart(b, t, all[i].c, all[i].column, all[i].unit, n, least,
            (const char *const *)name);
    buf_adds(b, "</div>\n");
    for (size_t i = 0; i < n; i++)
        free(name[i]);
    free(name);
}
