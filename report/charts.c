/* Charts of models and of training: see charts.h */
#include "charts.h"
#include "chart.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How much higher than the base's a model's perplexity is, in %; without a
 * base perplexity itself. */
static double
cost(const struct eval *v, size_t model, size_t source)
{
    const double ppl = eval_real(v, model, source, "ppl");

    return v->base == NONE
        ? ppl
        : 100.0 * (ppl / eval_real(v, v->base, source, "ppl") - 1.0);
}

/* A value of every model but the base by source: its perplexity, or its KL
 * with an interval. */
static void
by_source(struct buf *b, const struct eval *v, struct chart *c, int kl)
{
    struct series s[MODELS];
    double *y = xcalloc(3 * v->nmodel * v->nsource, sizeof *y);

    c->s = s;
    c->ns = 0;
    for (size_t m = 0; m < v->nmodel; m++) {
        double *at = y + 3 * m * v->nsource, *low = at + v->nsource;
        double *high = low + v->nsource;

        for (size_t i = 0; i < v->nsource; i++) {
            const double se = 1.96 * eval_real(v, m, i, "kl_se");

            at[i] = kl ? eval_real(v, m, i, "kl") : cost(v, m, i);
            low[i] = kl ? fmax(0.0, at[i] - se) + 0.0 * se : NAN;
            high[i] = at[i] + se;
        }
        if (m != v->base)
            s[c->ns++] = (struct series){ .name = v->model[m],
                .colour = m,
                .y = at,
                .low = low,
                .high = high,
                .n = v->nsource };
    }
    chart_rows(b, c, v->source);
    free(y);
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
    by_source(b, v, &ppl, 0);
    by_source(b, v, &kl, 1);
}

static const char *
step_label(const struct log *g, char *out, size_t size)
{
    const double tokens = g->v[TOKENS][g->n - 1] / g->v[STEP][g->n - 1];

    snprintf(out, size, isfinite(tokens) ? "step (of %.6g tokens)" : "step",
        tokens);
    return out;
}

/* A chart of one column of the logs whose runs saw the same number of tokens at
 * every step. */
static void
one_column(struct buf *b, const struct log *const *g, size_t n, int column)
{
    static const struct chart all[NLOG] = {
        [CE] = { .id = "ce", .title = "Cross-entropy", .y = "nats a token" },
        [KL] = { .id = "kl-log",
            .title = "KL from the teacher",
            .note = "At the training temperature, times its square.",
            .y = "nats a token" },
        [SQUAREHEAD] = { .id = "squarehead",
            .title = "SquareHead",
            .note = "Hidden states against the teacher\xe2\x80\x99s.",
            .y = "relative squared error" },
        [NORM] = { .id = "norm",
            .title = "Gradient norm",
            .note = "Before clipping.",
            .y = "norm" },
        [SPEED] = { .id = "speed",
            .title = "Speed",
            .note = "With the time that the input took.",
            .y = "tokens/s" },
    };
    struct series *s = xcalloc(n, sizeof *s);
    struct chart c = all[column];
    char label[80];

    c.s = s;
    c.x = step_label(g[0], label, sizeof label);
    c.tight = column == CE;
    if (c.note == NULL)
        c.note = "";
    for (size_t k = 0; k < n; k++)
        if (log_has(g[k], column))
            s[c.ns++] = (struct series){ .name = g[k]->name,
                .colour = g[k]->colour,
                .x = g[k]->v[STEP],
                .y = g[k]->v[column],
                .n = g[k]->n };
    if (c.ns > 0)
        chart_lines(b, &c);
    free(s);
}

/* The same of evaluations of held-out batches. */
static void
one_held(struct buf *b, const struct log *const *g, size_t n, int column)
{
    struct series *s = xcalloc(n, sizeof *s);
    char label[80];
    struct chart c = { .id = column == HELD_CE ? "held-ce" : "held-kl",
        .title = column == HELD_CE ? "Held-out cross-entropy"
                                   : "Held-out KL from the teacher",
        .note = column == HELD_CE
            ? ""
            : "At the training temperature, times its square.",
        .x = step_label(g[0], label, sizeof label),
        .y = "nats a token",
        .s = s };

    for (size_t k = 0; k < n; k++) {
        double most = 0.0;

        for (size_t i = 0; i < g[k]->nheld; i++)
            most = fmax(most, fabs(g[k]->held[column][i]));
        if (most > 0.0)
            s[c.ns++] = (struct series){ .name = g[k]->name,
                .colour = g[k]->colour,
                .x = g[k]->held[HELD_STEP],
                .y = g[k]->held[column],
                .n = g[k]->nheld };
    }
    if (c.ns > 0)
        chart_lines(b, &c);
    free(s);
}

/* A chart of the loss less that of the last run: the noise that all share is
 * gone. */
static void
paired(struct buf *b, const struct log *const *g, size_t n)
{
    const struct log *last = g[n - 1];
    struct series *s = xcalloc(n, sizeof *s);
    double *d = xreallocarray(NULL, n * last->n, sizeof *d);
    char *title = xasprintf("Cross-entropy less that of %s", last->name);
    char label[80];
    const struct chart c = { .id = "paired",
        .title = title,
        .note = "On the same batch; below 0 is better.",
        .x = step_label(last, label, sizeof label),
        .y = "nats a token",
        .tight = 1,
        .s = s,
        .ns = n - 1 };

    for (size_t k = 0; k + 1 < n; k++) {
        for (size_t i = 0; i < last->n; i++)
            d[k * last->n + i] = g[k]->v[CE][i] - last->v[CE][i];
        s[k] = (struct series){ .name = g[k]->name,
            .colour = g[k]->colour,
            .x = g[k]->v[STEP],
            .y = d + k * last->n,
            .n = last->n };
    }
    chart_lines(b, &c);
    free(title);
    free(d);
    free(s);
}

/* Collect the runs from the i-th on that can be compared with it and are not
 * drawn yet.  One without a teacher, if there is one, comes last; of two with
 * the same losses one is taken. */
static size_t
group(const struct run *r, size_t i, const struct log **g, char *drawn)
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
        if (!log_has(g[k], KL)) {
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
        const size_t n = group(r, i, g, drawn);

        if (n == 0)
            continue;
        buf_adds(b, "<div class=\"figures\">\n");
        one_column(b, g, n, CE);
        if (n > 1)
            paired(b, g, n);
        one_column(b, g, n, KL);
        one_held(b, g, n, HELD_CE);
        one_held(b, g, n, HELD_KL);
        one_column(b, g, n, SQUAREHEAD);
        one_column(b, g, n, SPEED);
        one_column(b, g, n, NORM);
        buf_adds(b, "</div>\n");
    }
    free(drawn);
    free(g);
}
