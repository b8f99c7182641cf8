/* Charts of pruning: see pruning.h */
#include "pruning.h"
#include "chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KINDS = 6, MAP = 64, BLOCKS = 4096 };

/* ---- the search ---- */

/* Largest number of tokens that a trial was scored on.  Only trials on that
 * many tokens are drawn: successive halving scores other trials on fewer, that
 * is on other data. */
static double
most_tokens(const struct table *t)
{
    const size_t c = table_column(t, "tokens");
    double most = 0.0;

    for (size_t i = 0; i < t->nrow; i++)
        most = fmax(most, table_real(t, i, c));
    return most;
}

/* Add the trials on all tokens: to *front their size and objective; to *path,
 * for each kind of trial, the lowest objective so far. */
static void
add_trials(struct chart *path, struct chart *front, const struct table *t)
{
    const size_t kind = table_column(t, "kind");
    const size_t params = table_column(t, "params");
    const size_t objective = table_column(t, "objective");
    const size_t tokens = table_column(t, "tokens");
    const size_t taken = table_column(t, "taken");
    const double all = most_tokens(t);

    for (size_t i = 0; i < t->nrow; i++) {
        const char *name = table_cell(t, i, kind);
        const double v = table_real(t, i, objective);
        struct series *p, *f;

        /* A line with `taken` repeats an earlier trial. */
        if (table_real(t, i, tokens) < all || !isfinite(v) ||
            table_real(t, i, taken) == 1.0 ||
            (f = chart_series(front, name, KINDS)) == NULL)
            continue;
        f->points = 1;
        series_add(f, 1e-6 * table_real(t, i, params), v);
        p = chart_series(path, name, KINDS);
        series_add(p, (double)f->n, p->n > 0 ? fmin(v, p->p[p->n - 1].y) : v);
    }
}

/* Remove the series of kinds with only one trial. */
static void
drop_single(struct chart *c)
{
    size_t n = 0;

    for (size_t k = 0; k < c->ns; k++)
        if (c->s[k].n > 1)
            c->s[n++] = c->s[k];
        else
            series_release(&c->s[k]);
    c->ns = n;
}

static int
smaller_point(const void *x, const void *y)
{
    const struct point *a = x, *b = y;

    return a->x != b->x ? (a->x > b->x) - (a->x < b->x)
                        : (a->y > b->y) - (a->y < b->y);
}

/* Add the Pareto front: trials that no other beats both in size and in
 * objective. */
static void
add_front(struct chart *c)
{
    const size_t kinds = c->ns;
    struct series all = { .n = 0 }, *s = chart_new(c, "front", 0);
    double least = INFINITY;

    for (size_t k = 0; k < kinds; k++)
        for (size_t i = 0; i < c->s[k].n; i++)
            series_add(&all, c->s[k].p[i].x, c->s[k].p[i].y);
    if (all.n > 0)
        qsort(all.p, all.n, sizeof *all.p, smaller_point);
    for (size_t i = 0; i < all.n; i++)
        if (all.p[i].y < least) {
            least = all.p[i].y;
            series_add(s, all.p[i].x, least);
        }
    free(all.p);
}

static void
charts_search(struct buf *b, const struct table *t)
{
    struct chart path = { .id = "search-path",
        .title = "The search",
        .note = "Least objective so far of each kind of trial.",
        .x = "configurations of that kind scored",
        .y = "KL + weighted loss, nats a token",
        .plain = 1 };
    struct chart front = { .id = "search-front",
        .title = "Size against quality",
        .note = "Every configuration scored; the line joins those that no "
                "other beats in both.",
        .x = "million parameters",
        .y = "KL + weighted loss, nats a token",
        .plain = 1 };

    add_trials(&path, &front, t);
    drop_single(&path);
    add_front(&front);
    chart_lines(b, &path);
    chart_lines(b, &front);
}

/* ---- the profile of a model ---- */

static void
chart_influence(struct buf *b, const struct table *t)
{
    static const char *const name[] = { "influence", "attention", "mlp" };
    const size_t block = table_column(t, "block");
    struct chart c = { .id = "influence",
        .title = "Influence of blocks",
        .note = "1 - cos(before, after), of the block and of its two parts.",
        .x = "block",
        .y = "1 - cos",
        .plain = 1 };

    for (size_t k = 0; k < 3; k++) {
        struct series *s = chart_new(&c, k == 0 ? "block" : name[k], k);

        for (size_t i = 0; i < t->nrow; i++)
            series_add(s, table_real(t, i, block),
                table_real(t, i, table_column(t, name[k])));
    }
    chart_lines(b, &c);
}

/* Columns of a profile's channels.tsv. */
struct channels {
    const struct table *t;
    size_t block, input, channel, class, max, square;
};

/* Return 1 and set *block and *channel if line i is about `input` and about
 * tokens after the first, and its block and channel are valid. */
static int
channel_line(const struct channels *c, size_t i, const char *input,
    size_t *block, size_t *channel)
{
    const double b = table_real(c->t, i, c->block);
    const double k = table_real(c->t, i, c->channel);

    if (strcmp(table_cell(c->t, i, c->class), "rest") != 0 ||
        strcmp(table_cell(c->t, i, c->input), input) != 0 ||
        !(b >= 0.0 && b < BLOCKS && k >= 0.0 && k < 1e9))
        return 0;
    *block = (size_t)b;
    *channel = (size_t)k;
    return 1;
}

/* Set map [blocks,MAP], which has MAP groups of a block's n channels:
 * log10(largest activation / root mean square of the input) / 3, so that 1 is a
 * factor of 1000. */
static void
fill_map(const struct channels *c, const char *input, size_t blocks, size_t n,
    double *map)
{
    double *square = xcalloc(blocks, sizeof *square);
    size_t *width = xcalloc(blocks, sizeof *width), b, k;

    for (size_t i = 0; i < c->t->nrow; i++)
        if (channel_line(c, i, input, &b, &k)) {
            square[b] += table_real(c->t, i, c->square);
            width[b]++;
        }
    for (size_t i = 0; i < c->t->nrow; i++)
        if (channel_line(c, i, input, &b, &k)) {
            const double rms = sqrt(square[b] / (double)width[b]);
            double *at = &map[b * MAP + k * MAP / n];

            *at = fmax(*at, log10(table_real(c->t, i, c->max) / rms) / 3.0);
        }
    free(square);
    free(width);
}

static void
chart_outliers(struct buf *b, const struct channels *c, const char *input)
{
    char *id = xasprintf("outliers-%s", input);
    char *title = xasprintf("Outliers of the input %s", input);
    const struct chart chart = { .id = id,
        .title = title,
        .note = "Largest activation over the input\xe2\x80\x99s root mean "
                "square: darkest from 1000 times on.",
        .x = "channels",
        .y = "block" };
    size_t blocks = 0, n = 0, i, k;
    double *map;

    for (size_t line = 0; line < c->t->nrow; line++)
        if (channel_line(c, line, input, &i, &k)) {
            blocks = i < blocks ? blocks : i + 1;
            n = k < n ? n : k + 1;
        }
    map = xcalloc(blocks * MAP + 1, sizeof *map);
    fill_map(c, input, blocks, n, map);
    if (blocks > 0)
        chart_map(b, &chart, blocks, MAP, map);
    free(map);
    free(title);
    free(id);
}

static void
charts_outliers(struct buf *b, const struct table *t)
{
    static const char *const input[] = { "attn", "o", "mlp", "down" };
    const struct channels c = { t, table_column(t, "block"),
        table_column(t, "input"), table_column(t, "channel"),
        table_column(t, "class"), table_column(t, "max"),
        table_column(t, "mean_sq") };

    for (size_t i = 0; i < sizeof input / sizeof *input; i++)
        chart_outliers(b, &c, input[i]);
}

/* ---- sparse layers ---- */

static void
chart_layer_errors(struct buf *b, const struct table *t)
{
    static const char *const name[] = { "q", "k", "v", "o", "gate", "up",
        "down" };
    const size_t layer = table_column(t, "layer");
    const size_t block = table_column(t, "block");
    const size_t error = table_column(t, "error");
    struct chart c = { .id = "layer-error",
        .title = "Error of sparse layers",
        .note = "Relative error of their outputs on the calibration data.",
        .x = "block",
        .y = "squared error over squares",
        .plain = 1 };

    for (size_t k = 0; k < sizeof name / sizeof *name; k++) {
        struct series *s = chart_new(&c, name[k], k);

        for (size_t i = 0; i < t->nrow; i++)
            if (strcmp(table_cell(t, i, layer), name[k]) == 0)
                series_add(s, table_real(t, i, block), table_real(t, i, error));
    }
    chart_lines(b, &c);
}

void
charts_pruning(struct buf *b, const struct run *r)
{
    buf_adds(b, "<div class=\"figures\">\n");
    charts_search(b, &r->file[F_SEARCH]);
    chart_influence(b, &r->file[F_BLOCKS]);
    charts_outliers(b, &r->file[F_CHANNELS]);
    chart_layer_errors(b, &r->file[F_SPARSE]);
    buf_adds(b, "</div>\n");
}
