/* Results of generate bench; see bench_out.h. */
#include "bench_out.h"
#include "bench_stat.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/out.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *unit, *what;
    int rate; /* 1: higher is better, one value a round */
} measures[MEASURES] = {
    { "first", "ms", "time to first token", 0 },
    { "token", "ms", "time a token", 0 },
    { "tokens/s", "1/s", "tokens a second", 1 },
    { "prompts/s", "1/s", "prompts a second", 1 },
};

size_t
bench_values(const struct measured *b, int q)
{
    return measures[q].rate ? b->rounds : b->rounds * b->each;
}

/* A row of the results; figures that do not apply to its kind are NAN. */
struct row {
    const char *kind, *model;
    int q;
    size_t n;
    double mean, median, p99, low, high;
};

static struct row
value_row(const struct measured *b, const struct side *s, int q)
{
    const size_t n = bench_values(b, q);
    struct row r = { .kind = "value",
        .model = s->name,
        .q = q,
        .n = n,
        .mean = mean_of(s->value[q], n),
        .low = NAN,
        .high = NAN };
    double *x = xreallocarray(NULL, n, sizeof *x);

    memcpy(x, s->value[q], n * sizeof *x);
    r.median = quantile(x, n, 0.5);
    r.p99 = quantile(x, n, measures[q].rate ? 0.01 : 0.99);
    free(x);
    return r;
}

/* Make a row: how many times as fast as the first model s is. */
static struct row
ratio_row(const struct measured *b, const struct side *s, int q)
{
    const struct side *first = &b->side[0];
    const int rate = measures[q].rate;
    const struct ratio r = ratio_of((rate ? s : first)->value[q],
        (rate ? first : s)->value[q], b->rounds, rate ? 1 : b->each, b->seed);

    return (struct row){ "ratio", s->name, q, b->rounds, r.v, NAN, NAN,
        /* one round has no interval */
        b->rounds > 1 ? r.low : NAN, b->rounds > 1 ? r.high : NAN };
}

static void
text_measure(struct buf *out, const struct row *r, int is_ratio)
{
    if (!is_ratio)
        buf_addf(out, "  %-20s %-3s %10.2f %10.2f %10.2f\n",
            measures[r->q].what, measures[r->q].unit, r->mean, r->median,
            r->p99);
    else if (isnan(r->low))
        buf_addf(out, "  %-20s     %10.3f %10s to -\n", measures[r->q].what,
            r->mean, "-");
    else
        buf_addf(out, "  %-20s     %10.3f %10.3f to %.3f\n",
            measures[r->q].what, r->mean, r->low, r->high);
}

/* Append a number, or none if this kind of row does not have the column. */
static void
list_number(struct sheet *s, int has, double v)
{
    if (has)
        sheet_number(s, "%.6g", v);
    else
        sheet_none(s);
}

static void
list_measure(struct sheet *s, const struct row *r, int is_ratio)
{
    sheet_text(s, r->kind);
    sheet_text(s, r->model);
    sheet_text(s, measures[r->q].name);
    sheet_text(s, is_ratio ? "" : measures[r->q].unit);
    sheet_count(s, r->n);
    sheet_number(s, "%.6g", r->mean);
    list_number(s, !is_ratio, r->median);
    list_number(s, !is_ratio, r->p99);
    list_number(s, is_ratio, r->low);
    list_number(s, is_ratio, r->high);
}

static void
put_bench_head(const struct measured *b, struct sheet *s)
{
    static const char *const column[] = { "kind", "model", "measure", "unit",
        "n", "mean", "median", "p99", "low", "high", NULL };

    if (s->format != FMT_JSON)
        buf_addf(s->b,
            "%s%zu rounds of %zu prompts of %zu tokens, %zu new, %zu threads\n",
            s->format == FMT_TSV ? "# " : "", b->rounds, b->each,
            b->prompt_length, b->length, b->threads);
    sheet_fact(s, "rounds", b->rounds);
    sheet_fact(s, "prompts", b->each);
    sheet_fact(s, "prompt_length", b->prompt_length);
    sheet_fact(s, "new_tokens", b->length);
    sheet_fact(s, "threads", b->threads);
    if (s->format != FMT_TEXT)
        sheet_list(s, "rows", column);
}

/* Append all measures of a model, or their ratios to the first model's. */
static void
put_model(const struct measured *b, const struct side *m, int is_ratio,
    struct sheet *s)
{
    if (s->format == FMT_TEXT && is_ratio)
        buf_addf(s->b, "%s is faster than %s by\n  %-24s %10s %10s\n",
            SHOWN(m->name), SHOWN(b->side[0].name), "", "ratio", "95 % of");
    else if (s->format == FMT_TEXT)
        buf_addf(s->b, "%s\n  %-24s %10s %10s %10s\n", SHOWN(m->name), "",
            "mean", "median", "p99");
    for (int q = 0; q < MEASURES; q++) {
        const struct row r = is_ratio ? ratio_row(b, m, q) : value_row(b, m, q);

        if (s->format == FMT_TEXT)
            text_measure(s->b, &r, is_ratio);
        else
            list_measure(s, &r, is_ratio);
    }
}

void
bench_print(const struct measured *b, enum format format)
{
    struct buf out = { 0 };
    struct sheet s;

    sheet_open(&s, &out, format);
    put_bench_head(b, &s);
    for (size_t i = 0; i < b->sides; i++)
        put_model(b, &b->side[i], 0, &s);
    for (size_t i = 1; i < b->sides; i++)
        put_model(b, &b->side[i], 1, &s);
    sheet_close(&s);
    out_put(out.p, out.n);
    buf_release(&out);
}
