/* The cost of a training step: see cost.h */
#include "cost.h"
#include "grid.h"
#include "image.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALL, PRODUCTS, ATTENTION, HEAD, PARTS };
enum { LAYERS = 100 };
struct layer {
    char of;            /* what varies: T (length), B (rows) or V (ids) */
    double n;           /* its value */
    double speed;       /* tokens/s of one thread */
    double part[PARTS]; /* microseconds for a token */
};
struct costs {
    struct layer layer[LAYERS];
    size_t n;
};

int
cost_known(const struct lines *l)
{
    for (size_t i = 0; i < l->n; i++)
        if (strncmp(l->line[i], "# layer_", 8) == 0)
            return 1;
    return l->n > 0 && strncmp(l->line[0], "# threads: ", 11) == 0;
}

static int
read_layer(struct layer *c, const char *line)
{
    double blocks;

    if (sscanf(line,
            "# layer_%c%lf: %lf tokens/s, %*[^;]; us a token: blocks %lf, "
            "attention %lf, head %lf",
            &c->of, &c->n, &c->speed, &blocks, &c->part[ATTENTION],
            &c->part[HEAD]) < 6 ||
        strchr("TBV", c->of) == NULL)
        return 0;
    c->part[PRODUCTS] = blocks - c->part[ATTENTION];
    c->part[ALL] = blocks + c->part[HEAD];
    return 1;
}

static int
layer_order(const void *a, const void *b)
{
    const struct layer *x = a, *y = b;

    return x->of != y->of ? x->of - y->of : (x->n > y->n) - (x->n < y->n);
}

static int
read_costs(struct costs *c, const char *path, struct err *e)
{
    struct lines l;

    c->n = 0;
    if (lines_read(&l, path, e) <= 0)
        return -1;
    for (size_t i = 0; i < l.n && c->n < LAYERS; i++)
        c->n += (size_t)read_layer(&c->layer[c->n], l.line[i]);
    lines_release(&l);
    qsort(c->layer, c->n, sizeof *c->layer, layer_order);
    return c->n > 0 ? 0
                    : err_set(e, EX_INPUT,
                          "%s: has no line \"# layer_T...\", _B or _V, as "
                          "make bench BENCH='^layer_' prints them",
                          path);
}

int
cost_table(struct buf *b, const char *path, struct err *e)
{
    struct costs c;
    struct grid g;

    if (read_costs(&c, path, e) < 0)
        return -1;
    grid_init(&g, "cost", "",
        "step|tokens/s|blocks, us|attention, us|its share|head, us");
    for (size_t i = 0; i < c.n; i++) {
        const struct layer *k = &c.layer[i];
        char name[40];

        snprintf(name, sizeof name, "%c=%.0f", k->of, k->n);
        grid_text(&g, name);
        grid_number(&g, "%.0f", k->speed);
        grid_number(&g, "%.1f", k->part[PRODUCTS] + k->part[ATTENTION]);
        grid_number(&g, "%.1f", k->part[ATTENTION]);
        grid_number(&g, "%.0f %%", 100.0 * k->part[ATTENTION] / k->part[ALL]);
        grid_number(&g, "%.1f", k->part[HEAD]);
    }
    grid_terminal(b, &g);
    grid_release(&g);
    return 0;
}

/* Add the chart of the measurements that vary `of`. */
static void
add_cost_chart(struct image *m, const struct costs *c, char of,
    const char *title, const char *across)
{
    static const char *const name[PARTS] = { "all", "products, norms",
        "attention", "head and losses" };
    struct chart chart = { .title = title,
        .x = across,
        .y = "us of a thread a token",
        .powers = 1 };

    for (size_t i = 0; i < c->n; i++)
        for (size_t k = 0; k < PARTS && c->layer[i].of == of; k++)
            series_add(chart_series(&chart, name[k], PARTS),
                log2(c->layer[i].n), c->layer[i].part[k]);
    image_add(m, &chart);
}

int
cost_image(struct buf *b, const char *path, struct err *e)
{
    struct image m = { .n = 0 };
    struct costs c;

    if (read_costs(&c, path, e) < 0)
        return -1;
    add_cost_chart(&m, &c, 'T', "Cost by length", "tokens of a row");
    add_cost_chart(&m, &c, 'B', "Cost by rows", "rows of 512 tokens");
    add_cost_chart(&m, &c, 'V', "Cost by vocabulary", "ids of the vocabulary");
    image_put(b, &m);
    return 0;
}
