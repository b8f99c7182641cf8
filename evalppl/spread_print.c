/* The part of the report that --spread adds; see spread_print.h. */
#include "spread_print.h"
#include "spread.h"
#include "base/mem.h"
#include "base/text.h"
#include "eval/columns.h"

#include <math.h>

/* Percentiles from the largest down, as llama-perplexity prints them. */
static const struct {
    const char *name, *tsv;
    double q;
} ranks[] = { { "maximum", "max", 1.0 }, { "99.9 %", "99.9", 0.999 },
    { "99 %", "99", 0.99 }, { "95 %", "95", 0.95 }, { "90 %", "90", 0.9 },
    { "75 %", "75", 0.75 }, { "median", "median", 0.5 }, { "25 %", "25", 0.25 },
    { "10 %", "10", 0.1 }, { "5 %", "5", 0.05 }, { "1 %", "1", 0.01 },
    { "0.1 %", "0.1", 0.001 }, { "minimum", "min", 0.0 } };
enum { RANKS = sizeof(ranks) / sizeof(*ranks) };

static const struct {
    const char *name, *tsv;
    double scale;
} columns[S_N] = { { "KL", "kl", 1.0 }, { "reverse KL", "kl_back", 1.0 },
    { "delta p %", "delta_p", 100.0 }, { "KL at T", "kl_t", 1.0 },
    { "reverse", "kl_back_t", 1.0 } };

/* ---- text ---- */

static void
pair_line(struct buf *b, const char *name, const struct estimate *m,
    double scale, const char *unit)
{
    buf_addf(b, "%-16s %12.6f", name, scale * m->v);
    if (isfinite(m->se))
        buf_addf(b, " +/- %.6f", scale * m->se);
    buf_addf(b, "%s\n", unit);
}

/* Append a line of the table, with a value for each series of *a. */
static void
rank_line(struct buf *b, const char *name, const struct against *a,
    const double v[S_N])
{
    buf_addf(b, "%-9s", name);
    for (size_t i = 0; i < S_N; i++)
        if (a->sorted[i] != NULL)
            put_column(b, 12, "%.6f", columns[i].scale * v[i]);
    buf_addc(b, '\n');
}

/* Append the table of means, errors and percentiles. */
static void
text_ranks(const struct against *a, struct buf *b)
{
    double mean[S_N], error[S_N], rank[S_N];

    buf_addf(b, "\n%-9s", "");
    for (size_t i = 0; i < S_N; i++) {
        if (a->sorted[i] != NULL)
            buf_addf(b, " %12s", columns[i].name);
        mean[i] = a->mean[i].v;
        error[i] = a->mean[i].se;
    }
    buf_addc(b, '\n');
    rank_line(b, "mean", a, mean);
    rank_line(b, "+/-", a, error);
    for (size_t k = 0; k < RANKS; k++) {
        for (size_t i = 0; i < S_N; i++)
            rank[i] = a->sorted[i] != NULL
                ? spread_rank(a->sorted[i], a->n, ranks[k].q)
                : NAN;
        rank_line(b, ranks[k].name, a, rank);
    }
}

static void
text_spread(const struct eval *e, size_t source, size_t model, struct sheet *s)
{
    struct buf *const b = s->b;
    struct against a;

    spread_against(e, source, model, &a);
    buf_addf(b, "\n%s against %s", SHOWN(e->j[model].label),
        SHOWN(e->j[e->base].label));
    if (source != NONE)
        buf_addf(b, ", %s", SHOWN(source_name(e, source)));
    buf_addf(b, ": %zu predictions\n", a.n);
    pair_line(b, "ln(ppl/ppl)", &a.log, 1.0, "");
    pair_line(b, "ppl/ppl", &a.ratio, 1.0, "");
    pair_line(b, "ppl - ppl", &a.diff, 1.0, "");
    pair_line(b, "loss correlation", &(struct estimate){ a.correlation, NAN },
        100.0, " %");
    pair_line(b, "same top", &a.agree, 100.0, " %");
    pair_line(b, "RMS of delta p", &a.rms, 100.0, " %");
    text_ranks(&a, b);
    against_release(&a);
}

/* ---- TSV and JSON ---- */

/* Append a row to the list `spread`; at: model and source. */
static void
list_value(struct sheet *s, const char *const at[2], const char *quantity,
    const char *statistic, const struct estimate *v)
{
    sheet_row(s, TEXT(at[0]), TEXT(at[1]), TEXT(quantity), TEXT(statistic),
        ESTIMATE("%.8f", *v));
}

static void
list_spread(const struct eval *e, size_t source, size_t model, struct sheet *s)
{
    const char *const at[2] = { e->j[model].label, source_name(e, source) };
    struct against a;

    spread_against(e, source, model, &a);
    list_value(s, at, "ppl", "ln ratio", &a.log);
    list_value(s, at, "ppl", "ratio", &a.ratio);
    list_value(s, at, "ppl", "difference", &a.diff);
    list_value(s, at, "nll", "correlation",
        &(struct estimate){ a.correlation, NAN });
    list_value(s, at, "agree", "mean", &a.agree);
    list_value(s, at, "delta_p", "rms", &a.rms);
    for (size_t i = 0; i < S_N; i++) {
        if (a.sorted[i] == NULL)
            continue;
        list_value(s, at, columns[i].tsv, "mean", &a.mean[i]);
        for (size_t k = 0; k < RANKS; k++)
            list_value(s, at, columns[i].tsv, ranks[k].tsv,
                &(struct estimate){ spread_rank(a.sorted[i], a.n, ranks[k].q),
                    NAN });
    }
    against_release(&a);
}

void
spread_print(const struct eval *e, struct sheet *s, int per_source)
{
    static const char *const column[] = { "model", "source", "quantity",
        "statistic", "value", "se", NULL };
    void (*const print)(const struct eval *e, size_t source, size_t model,
        struct sheet *s) = s->format == FMT_TEXT ? text_spread : list_spread;

    if (s->format != FMT_TEXT)
        sheet_list(s, "spread", column);
    for (size_t i = 0; i < e->nj; i++) {
        if (i == e->base)
            continue;
        print(e, NONE, i, s);
        for (size_t k = 0; per_source && k < e->info.nsource; k++)
            if (units_of(&e->units, k) > 0)
                print(e, k, i, s);
    }
}
