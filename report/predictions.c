/* A sweep of plan(1): see predictions.h */
#include "predictions.h"
#include "chart.h"
#include "grid.h"
#include "image.h"

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
    { "allocated", "Memory that the framework allocates", "GB", 1e-9 },
    { "memory", "Memory of the fullest rank", "GB", 1e-9 },
    { "full", "Memory of a device that is used", "%", 100.0 },
    { "bubble", "Bubble", "% of a step", 100.0 },
    { "exposed", "Communication that nothing hides", "% of a step", 100.0 },
    { "run.days", "The run", "days", 1.0 },
};

/* Does `name` name a figure of plan, rather than a key? */
static int
is_figure(const char *name)
{
    static const char *const bare[] = { "ranks", "replicas", "passes",
        "parameters", "hfu" };
    int known = strchr(name, '.') != NULL;

    for (size_t i = 0; i < sizeof bare / sizeof *bare; i++)
        known |= strcmp(name, bare[i]) == 0;
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        known |= strcmp(name, shown[i].column) == 0;
    return known;
}

/* Number of keys: columns before the first figure. */
static size_t
key_columns(const struct table *t)
{
    size_t n = 0;

    while (n < t->ncol && !is_figure(t->cell[n]))
        n++;
    return n;
}

/* Make the name of a row's series: the values of all keys but the first. */
static char *
series_name(const struct table *t, size_t row, size_t keys)
{
    struct buf b = { 0 };

    for (size_t k = 1; k < keys; k++)
        buf_addf(&b, "%s%s %s", k > 1 ? ", " : "", t->cell[k],
            table_cell(t, row, k));
    return b.n > 0 ? b.p : xstrdup("plan");
}

/* Draw a figure over the first key, as at most SERIES series, on a page or, if
 * m is not NULL, in an image. */
static void
draw_figure(struct buf *b, struct image *m, const struct table *t,
    const struct shown *of, size_t keys)
{
    const size_t column = table_column(t, of->column);
    char *id = xasprintf("plan-%s", of->column);
    struct chart c = { .id = id,
        .title = of->title,
        .note = "",
        .x = t->cell[0],
        .y = of->y,
        .plain = 1 };

    for (size_t r = 0; r < t->nrow; r++) {
        char *name = series_name(t, r, keys);
        struct series *s = chart_series(&c, name, SERIES);

        if (s != NULL)
            series_add(s, table_real(t, r, 0),
                of->scale * table_real(t, r, column));
        free(name);
    }
    if (m != NULL)
        image_add(m, &c);
    else
        chart_lines(b, &c);
    free(id);
}

static void
draw_figures(struct buf *b, struct image *m, const struct table *t)
{
    const size_t keys = key_columns(t);

    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        if (keys > 0 && isfinite(table_real(t, 0, 0)))
            draw_figure(b, m, t, &shown[i], keys);
}

void
predictions_page(struct buf *b, const struct table *t)
{
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
    draw_figures(b, NULL, t);
    buf_adds(b, "</div>\n");
}

int
predictions_known(const struct lines *l)
{
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        const size_t n = strlen(shown[i].column);

        for (const char *p = l->line[0];
             (p = strstr(p, shown[i].column)) != NULL; p += n)
            if (p > l->line[0] && p[-1] == '\t' &&
                (p[n] == '\t' || p[n] == '\0'))
                return 1;
    }
    return 0;
}

static int
draw_sweep(struct buf *b, const struct table *t, struct err *e)
{
    struct image m = { .n = 0 };

    draw_figures(NULL, &m, t);
    if (m.n == 0)
        return err_set(e, EX_INPUT,
            "its first column, %s, has no numbers to draw figures over",
            t->cell[0]);
    image_put(b, &m);
    return 0;
}

int
predictions_image(struct buf *b, const char *path, struct err *e)
{
    return table_image(b, path, "", 1, draw_sweep, e);
}
