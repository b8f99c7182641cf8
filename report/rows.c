/* Rows of runs as an image: see rows.h */
#include "rows.h"
#include "chart.h"
#include "image.h"
#include "table.h"

#include <math.h>
#include <string.h>

enum { ROWS = 1000 };

static const char *const models[] = { "pruned", "distilled", "rival" };
enum { NMODEL = sizeof models / sizeof *models };

/* The points of a model: a column against another.  Rows without documents are
 * left out: other programs measured them. */
static size_t
model_points(const struct table *t, const char *model, const char *across,
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

/* Add the chart of a column against parameters, if size, or else tokens. */
static void
add_panel(struct image *m, const struct table *t, const char *up, int size)
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
        const size_t n = model_points(t, models[k],
            size ? "parameters" : "tokens", up, size ? 1e-6 : 1.0, x[k], y[k]);

        if (n > 0)
            s[c.ns++] = (struct series){ .name = models[k],
                .colour = k + 1,
                .x = x[k],
                .y = y[k],
                .n = n,
                .points = 1 };
    }
    image_add(m, &c);
}

static int
draw_rows(struct buf *b, const struct table *t, struct err *e)
{
    static const char *const up[] = { "recovery", "kl" };
    struct image m = { .n = 0 };

    for (int i = 0; i < 2; i++)
        for (int size = 0; size < 2; size++)
            add_panel(&m, t, up[i], size);
    image_put(b, &m);
    return m.n > 0 ? 0 : err_set(e, EX_INPUT, "no row of a cut model");
}

int
rows_image(struct buf *b, const char *path, struct err *e)
{
    return table_image(b, path, "tokens parameters documents kl recovery", 1,
        draw_rows, e);
}
