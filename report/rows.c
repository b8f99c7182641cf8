/* Rows of runs as an image: see rows.h */
#include "rows.h"
#include "chart.h"
#include "html.h"
#include "page.h"
#include "table.h"

#include <math.h>
#include <string.h>

enum { ROWS = 1000, PANEL_W = 440, PANEL_H = 300 };

static const char *const models[] = { "pruned", "distilled", "rival" };
enum { NMODEL = sizeof models / sizeof *models };

/* Points of one model: a column against another.  Rows without documents are
 * of others, which the tables show. */
static size_t
points(const struct table *t, const char *model, const char *across,
    const char *up, double scale, double *x, double *y)
{
    const size_t m = table_column(t, "model"), d = table_column(t, "documents");
    size_t n = 0;

    for (size_t i = 0; i < t->nrow && n < ROWS; i++) {
        x[n] = scale * table_real(t, i, table_column(t, across));
        y[n] = table_real(t, i, table_column(t, up));
        n += strcmp(table_cell(t, i, m), model) == 0 && isfinite(x[n]) &&
            isfinite(y[n]) && isfinite(table_real(t, i, d));
    }
    return n;
}

/* One chart in its place; were there points? */
static int
panel(struct buf *b, const struct table *t, const char *up, int size, size_t at)
{
    static double x[NMODEL][ROWS], y[NMODEL][ROWS];
    struct series s[NMODEL];
    struct chart c = { .title = strcmp(up, "kl") == 0 ? "KL" : "Recovery",
        .x = size ? "million parameters" : "tokens trained on",
        .y =
            strcmp(up, "kl") == 0 ? "KL from the teacher, nats" : "recovery, %",
        .plain = 1,
        .image = 1,
        .s = s };

    for (size_t k = 0; k < NMODEL; k++) {
        const size_t n = points(t, models[k], size ? "parameters" : "tokens",
            up, size ? 1e-6 : 1.0, x[k], y[k]);

        if (n > 0)
            s[c.ns++] = (struct series){ .name = models[k],
                .colour = k + 1,
                .x = x[k],
                .y = y[k],
                .n = n,
                .points = 1 };
    }
    if (c.ns == 0)
        return 0;
    put(b, "<g transform=\"translate(%zu,%zu)\">\n", at % 2 * PANEL_W,
        at / 2 * PANEL_H + 40);
    chart_lines(b, &c);
    buf_adds(b, "</g>\n");
    return 1;
}

static int
draw_rows(struct buf *b, const struct table *t, struct err *e)
{
    static const char *const up[] = { "recovery", "kl" };
    struct buf panels = { 0 };
    size_t n = 0;

    for (int i = 0; i < 2; i++)
        for (int size = 0; size < 2; size++)
            n += (size_t)panel(&panels, t, up[i], size, n);
    if (n == 0)
        return err_set(e, EX_INPUT, "no row of a cut model");
    put(b,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %zu\">\n"
        "<style>\n",
        2 * PANEL_W, (n + 1) / 2 * PANEL_H);
    buf_adds(b, style);
    buf_adds(b, "</style>\n");
    buf_add(b, panels.p, panels.n);
    buf_adds(b, "</svg>\n");
    buf_release(&panels);
    return 0;
}

int
rows_image(struct buf *b, const char *path, struct err *e)
{
    return table_image(b, path, "tokens parameters documents kl recovery", 1,
        draw_rows, e);
}
