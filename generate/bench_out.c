/* Results of generate bench; see bench_out.h. */
#include "bench_out.h"
#include "bench_stat.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/out.h"
#include "format/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FORMAT_TEXT, FORMAT_TSV, FORMAT_JSON };

const char *const bench_formats[] = { "text", "tsv", "json", NULL };

static const struct {
    const char *name, *unit, *what;
    int rate; /* more is better, one value a round */
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

/* A line of results; a figure that it does not have is NAN. */
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

/* How many times as fast as the first model s is. */
static struct row
ratio_row(const struct measured *b, const struct side *s, int q)
{
    const struct side *first = &b->side[0];
    const int rate = measures[q].rate;
    const struct ratio r = ratio_of((rate ? s : first)->value[q],
        (rate ? first : s)->value[q], b->rounds, rate ? 1 : b->each, b->seed);

    return (struct row){ "ratio", s->name, q, b->rounds, r.v, NAN, NAN,
        /* one round says nothing of its spread */
        b->rounds > 1 ? r.low : NAN, b->rounds > 1 ? r.high : NAN };
}

static void
put_text(struct buf *out, const struct row *r, int is_ratio)
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

static void
put_tsv(struct buf *out, const struct row *r, int is_ratio)
{
    buf_addf(out, "%s\t%s\t%s\t%s\t%zu\t%.6g\t", r->kind, SHOWN(r->model),
        measures[r->q].name, is_ratio ? "" : measures[r->q].unit, r->n,
        r->mean);
    if (!is_ratio)
        buf_addf(out, "%.6g\t%.6g\t\t\n", r->median, r->p99);
    else if (isnan(r->low))
        buf_adds(out, "\t\t-\t-\n");
    else
        buf_addf(out, "\t\t%.6g\t%.6g\n", r->low, r->high);
}

static void
add_number(struct buf *out, const char *name, double v)
{
    if (isfinite(v))
        buf_addf(out, ", \"%s\": %.6g", name, v);
    else
        buf_addf(out, ", \"%s\": null", name);
}

static void
put_json(struct buf *out, const struct row *r, int is_ratio)
{
    buf_addf(out, "    {\"kind\": \"%s\", \"model\": ", r->kind);
    js_quote(out, SHOWN(r->model));
    buf_addf(out, ", \"measure\": \"%s\", \"unit\": \"%s\", \"n\": %zu",
        measures[r->q].name, is_ratio ? "" : measures[r->q].unit, r->n);
    add_number(out, "mean", r->mean);
    add_number(out, "median", r->median);
    add_number(out, "p99", r->p99);
    add_number(out, "low", r->low);
    add_number(out, "high", r->high);
    buf_addc(out, '}');
}

static void
put_head(struct buf *out, const struct measured *b, int format)
{
    if (format == FORMAT_JSON) {
        buf_addf(out,
            "{\n  \"rounds\": %zu,\n  \"prompts\": %zu,\n"
            "  \"prompt_length\": %zu,\n  \"new_tokens\": %zu,\n"
            "  \"threads\": %zu,\n  \"rows\": [",
            b->rounds, b->each, b->prompt_length, b->length, b->threads);
        return;
    }
    buf_addf(out,
        "%s%zu rounds of %zu prompts of %zu tokens, %zu new, %zu threads\n",
        format == FORMAT_TSV ? "# " : "", b->rounds, b->each, b->prompt_length,
        b->length, b->threads);
    if (format == FORMAT_TSV)
        buf_adds(out,
            "kind\tmodel\tmeasure\tunit\tn\tmean\tmedian\tp99\t"
            "low\thigh\n");
}

/* All measures of the model s, or their ratios to the first model's. */
static void
put_rows(struct buf *out, const struct measured *b, const struct side *s,
    int is_ratio, int format)
{
    if (format == FORMAT_TEXT && is_ratio)
        buf_addf(out, "%s is faster than %s by\n  %-24s %10s %10s\n",
            SHOWN(s->name), SHOWN(b->side[0].name), "", "ratio", "95 % of");
    else if (format == FORMAT_TEXT)
        buf_addf(out, "%s\n  %-24s %10s %10s %10s\n", SHOWN(s->name), "",
            "mean", "median", "p99");
    for (int q = 0; q < MEASURES; q++) {
        const struct row r = is_ratio ? ratio_row(b, s, q) : value_row(b, s, q);

        if (format == FORMAT_TEXT) {
            put_text(out, &r, is_ratio);
        } else if (format == FORMAT_TSV) {
            put_tsv(out, &r, is_ratio);
        } else {
            buf_adds(out, s == b->side && q == 0 && !is_ratio ? "\n" : ",\n");
            put_json(out, &r, is_ratio);
        }
    }
}

void
bench_print(const struct measured *b, int format)
{
    struct buf out = { 0 };

    put_head(&out, b, format);
    for (size_t i = 0; i < b->sides; i++)
        put_rows(&out, b, &b->side[i], 0, format);
    for (size_t i = 1; i < b->sides; i++)
        put_rows(&out, b, &b->side[i], 1, format);
    if (format == FORMAT_JSON)
        buf_adds(&out, "\n  ]\n}\n");
    out_put(out.p, out.n);
    buf_release(&out);
}
