/* Rows of runs as an image: see rows.h */
#include "rows.h"
#include "chart.h"
#include "image.h"
#include "table.h"

#include <math.h>
#include <string.h>

static const char *const models[] = { "pruned", "distilled", "rival" };

/* Add the chart of the column `up` over tokens or, with `size`, over
 * parameters.  Rows without documents are left out: other programs measured
 * them. */
static void
add_rows_chart(struct image *m, const struct table *t, const char *up, int size)
{
    const size_t model = table_column(t, "model");
    const size_t documents = table_column(t, "documents");
    const size_t across = table_column(t, size ? "parameters" : "tokens");
    const size_t column = table_column(t, up);
    const int kl = strcmp(up, "kl") == 0;
    struct chart c = { .title = kl ? "KL" : "Recovery",
        .x = size ? "million parameters" : "tokens trained on",
        .y = kl ? "KL from the teacher, nats" : "recovery, %" };

    for (size_t k = 0; k < sizeof models / sizeof *models; k++)
        for (size_t i = 0; i < t->nrow; i++) {
            const double x = table_real(t, i, across) * (size ? 1e-6 : 1.0);
            const double y = table_real(t, i, column);
            struct series *s;

            if (strcmp(table_cell(t, i, model), models[k]) != 0 ||
                !isfinite(x + y + table_real(t, i, documents)))
                continue;
            s = chart_series(&c, models[k], SIZE_MAX);
            s->colour = k + 1;
            s->points = 1;
            series_add(s, x, y);
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
            add_rows_chart(&m, t, up[i], size);
    image_put(b, &m);
    return m.n > 0 ? 0 : err_set(e, EX_INPUT, "has no row of a cut model");
}

int
rows_image(struct buf *b, const char *path, struct err *e)
{
    return table_image(b, path, "tokens parameters documents kl recovery", 1,
        draw_rows, e);
}
