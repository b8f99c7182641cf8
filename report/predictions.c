/* Predictions of plan(1), a sweep: see page.h */
#include "page.h"
#include "chart.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SERIES = 6 };

static const struct shown {
    const char *column, *title, *y;
    double scale;
} shown[] = {
    { "step", "A step", "s", 1.0 },
    { "speed", "Speed", "tokens/s", 1.0 },
    { "speed.rank", "Speed of a rank", "tokens/s", 1.0 },
    { "efficiency", "Efficiency", "of the first row, %", 100.0 },
    { "mfu", "Share of peak", "MFU, %", 100.0 },
    { "memory", "Memory of the fullest rank", "GB", 1e-9 },
    { "full", "Memory of a device that is used", "%", 100.0 },
    { "bubble", "Bubble", "% of a step", 100.0 },
    { "exposed", "Communication that nothing hides", "% of a step", 100.0 },
    { "run.days", "The run", "days", 1.0 },
};

/* Is it a figure of plan, and no key? */
static int
is_figure(const char *name)
{
    static const char *const bare[] = { "ranks", "replicas", "passes",
        "parameters", "hfu" };

    for (size_t i = 0; i < sizeof bare / sizeof *bare; i++)
        if (strcmp(name, bare[i]) == 0)
            return 1;
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        if (strcmp(name, shown[i].column) == 0)
            return 1;
    return strchr(name, '.') != NULL;
}

/* Columns that were varied: those before the first figure. */
static size_t
varied(const struct table *t)
{
    size_t n = 0;

    while (n < t->ncol && !is_figure(t->cell[n]))
        n++;
    return n;
}

/* What tells a row's series from others: its varied cells but the first. */
static char *
series_name(const struct table *t, size_t row, size_t keys)
{
    struct buf b = { 0 };

    for (size_t k = 1; k < keys; k++)
        buf_addf(&b, "%s%s %s", k > 1 ? ", " : "", t->cell[k],
            table_cell(t, row, k));
    return b.n > 0 ? b.p : xstrdup("plan");
}

static void
one(struct buf *b, const struct table *t, const struct shown *of, size_t keys)
{
    const size_t column = table_column(t, of->column);
    double *x = xcalloc(2 * SERIES * t->nrow + 1, sizeof *x);
    struct series s[SERIES];
    char *id = xasprintf("plan-%s", of->column);
    struct chart c = { .id = id,
        .title = of->title,
        .note = "",
        .x = t->cell[0],
        .y = of->y,
        .plain = 1,
        .s = s };
    char *names[SERIES];

    for (size_t r = 0; r < t->nrow && column != NONE; r++) {
        char *name = series_name(t, r, keys);
        size_t k = 0;

        while (k < c.ns && strcmp(names[k], name) != 0)
            k++;
        if (k == SERIES) {
            free(name);
            continue;
        }
        if (k == c.ns) {
            double *at = x + 2 * k * t->nrow;

            names[c.ns++] = name;
            s[k] = (struct series){ .name = name,
                .colour = k,
                .x = at,
                .y = at + t->nrow };
        } else {
            free(name);
        }
        x[2 * k * t->nrow + s[k].n] = table_real(t, r, 0);
        x[(2 * k + 1) * t->nrow + s[k].n++] =
            of->scale * table_real(t, r, column);
    }
    chart_lines(b, &c);
    for (size_t k = 0; k < c.ns; k++)
        free(names[k]);
    free(id);
    free(x);
}

void
predictions(struct buf *b, const struct table *t)
{
    const size_t keys = varied(t);
    const int draw = keys > 0 && isfinite(table_real(t, 0, 0));
    struct buf heads = { 0 };
    struct grid g;

    for (size_t k = 0; k < t->ncol; k++)
        buf_addf(&heads, "%s%s", k > 0 ? "|" : "", t->cell[k]);
    grid_init(&g, "plan", "As plan predicts.", heads.p);
    for (size_t i = 0; i < t->nrow * t->ncol; i++)
        grid_text(&g, table_cell(t, i / t->ncol, i % t->ncol));
    grid_page(b, &g);
    grid_release(&g);
    buf_release(&heads);
    buf_adds(b, "<div class=\"figures\">\n");
    for (size_t i = 0; draw && i < sizeof shown / sizeof *shown; i++)
        one(b, t, &shown[i], keys);
    buf_adds(b, "</div>\n");
}
