/* Charts of models and of training: see charts.h */
#include "charts.h"
#include "chart.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* By how many % a model's perplexity is above the base's; without a base: the
 * perplexity. */
static double
source_cost(const struct eval *v, size_t model, size_t source)
{
    const double ppl = eval_real(v, model, source, "ppl");

    return v->base == NONE
        ? ppl
        : 100.0 * (ppl / eval_real(v, v->base, source, "ppl") - 1.0);
}

/* Draw, for each source and each model but the base, its cost (source_cost) or,
 * with kl, its KL with an interval. */
static void
chart_sources(struct buf *b, const struct eval *v, struct chart *c, int kl)
{
    for (size_t m = 0; m < v->nmodel; m++) {
        struct series *s = m != v->base ? chart_new(c, v->model[m], m) : NULL;

        for (size_t i = 0; i < v->nsource && s != NULL; i++) {
            const double y =
                kl ? eval_real(v, m, i, "kl") : source_cost(v, m, i);
            const double se =
                kl ? 1.96 * eval_real(v, m, i, "kl_se") : (double)NAN;

            series_interval(s, y, fmax(0.0, y - se) + 0.0 * se, y + se);
        }
    }
    chart_rows(b, c, v->source);
}

void
charts_sources(struct buf *b, const struct eval *v)
{
    struct chart ppl = { .id = "ppl",
        .title = "Perplexity above the base model\xe2\x80\x99s",
        .note = "On the same documents.",
        .x = "%" };
    struct chart kl = { .id = "kl",
        .title = "KL from the base model",
        .note = "With 95 % intervals.",
        .x = "nats a token" };

    if (v->nsource == 0)
        return;
    if (v->base == NONE) {
        ppl.title = "Perplexity";
        ppl.note = "";
        ppl.x = "perplexity";
    }
    chart_sources(b, v, &ppl, 0);
    chart_sources(b, v, &kl, 1);
}

/* The columns of logs that are drawn, from training and held-out batches. */
static const struct drawn {
    const char *id, *title, *note, *y;
    int column, held;
} drawn_columns[] = {
    { "ce", "Cross-entropy", "", "nats a token", CE, 0 },
    { "kl-log", "KL from the teacher",
        "At the training temperature, times its square.", "nats a token", KL,
        0 },
    { "held-ce", "Held-out cross-entropy", "", "nats a token", HELD_CE, 1 },
    { "held-kl", "Held-out KL from the teacher",
        "At the training temperature, times its square.", "nats a token",
        HELD_KL, 1 },
    { "squarehead", "SquareHead",
        "Hidden states against the teacher\xe2\x80\x99s.",
        "relative squared error", SQUAREHEAD, 0 },
    { "reward", "Reward", "Mean over the texts of a batch.", "reward", REWARD,
        0 },
    { "speed", "Speed", "With the time that the input took.", "tokens/s", SPEED,
        0 },
    { "norm", "Gradient norm", "Before clipping.", "norm", NORM, 0 },
};

/* Write the label of the steps' axis, which says how many tokens a step has. */
static const char *
step_label(const struct log *g, char *out, size_t size)
{
    const double tokens = g->v[TOKENS][g->n - 1] / g->v[STEP][g->n - 1];

    snprintf(out, size, isfinite(tokens) ? "step (of %.6g tokens)" : "step",
        tokens);
    return out;
}

static int
has_value(const double *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (fabs(v[i]) > 0.0)
            return 1;
    return 0;
}

/* Draw a column of n logs over their steps, except logs without a value. */
static void
chart_column(struct buf *b, const struct log *const *g, size_t n,
    const struct drawn *d)
{
    char label[80];
    struct chart c = { .id = d->id,
        .title = d->title,
        .note = d->note,
        .x = step_label(g[0], label, sizeof label),
        .y = d->y,
        .tight = !d->held && d->column == CE };

    for (size_t k = 0; k < n; k++) {
        double *const *v = d->held ? g[k]->held : g[k]->v;
        const size_t rows = d->held ? g[k]->nheld : g[k]->n;
        struct series *s;

        if (!has_value(v[d->column], rows))
            continue;
        s = chart_new(&c, g[k]->name, g[k]->colour);
        for (size_t i = 0; i < rows; i++)
            series_add(s, v[d->held ? HELD_STEP : STEP][i], v[d->column][i]);
    }
    chart_lines(b, &c);
}

/* Draw the loss of each run minus the last run's loss on the same batch, which
 * removes the noise that all runs share. */
static void
chart_paired(struct buf *b, const struct log *const *g, size_t n)
{
    const struct log *last = g[n - 1];
    char *title = xasprintf("Cross-entropy less that of %s", last->name);
    char label[80];
    struct chart c = { .id = "paired",
        .title = title,
        .note = "On the same batch; below 0 is better.",
        .x = step_label(last, label, sizeof label),
        .y = "nats a token",
        .tight = 1 };

    for (size_t k = 0; k + 1 < n; k++) {
        struct series *s = chart_new(&c, g[k]->name, g[k]->colour);

        for (size_t i = 0; i < last->n; i++)
            series_add(s, g[k]->v[STEP][i], g[k]->v[CE][i] - last->v[CE][i]);
    }
    chart_lines(b, &c);
    free(title);
}

/* Set g to run i and the later runs that are not drawn yet and can be compared
 * with run i, and mark them as drawn.  Of runs with equal cross-entropies only
 * the first is taken.  The first run without a teacher changes places with the
 * last run.  Returns the number of runs in g. */
static size_t
comparable_runs(const struct run *r, size_t i, const struct log **g,
    char *drawn)
{
    size_t n = 0;

    for (size_t k = i; k < r->nlog; k++) {
        const struct log *l = &r->log[k];
        int twin = 0;

        if (drawn[k] || !log_alike(&r->log[i], l))
            continue;
        drawn[k] = 1;
        for (size_t j = 0; j < n && !twin; j++)
            twin = memcmp(g[j]->v[CE], l->v[CE], l->n * sizeof **l->v) == 0;
        if (!twin)
            g[n++] = l;
    }
    for (size_t k = 0; k < n; k++)
        if (!has_value(g[k]->v[KL], g[k]->n)) {
            const struct log *l = g[k];

            g[k] = g[n - 1];
            g[n - 1] = l;
            break;
        }
    return n;
}

void
charts_training(struct buf *b, const struct run *r)
{
    const struct log **g = xcalloc(r->nlog, sizeof *g);
    char *drawn = xcalloc(r->nlog, 1);

    for (size_t i = 0; i < r->nlog; i++) {
        const size_t n = comparable_runs(r, i, g, drawn);

        if (n == 0)
            continue;
        buf_adds(b, "<div class=\"figures\">\n");
        for (size_t k = 0; k < sizeof drawn_columns / sizeof *drawn_columns;
             k++) {
            chart_column(b, g, n, &drawn_columns[k]);
            if (k == 0 && n > 1)
                chart_paired(b, g, n);
        }
        buf_adds(b, "</div>\n");
    }
    free(drawn);
    free(g);
}
