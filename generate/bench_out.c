/* Results of generate bench; see bench_out.h. */
#include "bench_out.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/out.h"

#include <math.h>
#include <stdlib.h>

/* Names of the measures that are compared: for programs, and for people. */
static const struct {
    const char *name, *text;
} measures[BENCH_MEASURES] = {
    { "ttft_ms", "time to first token, ms" },
    { "tpot_ms", "time a token, ms" },
    { "itl_ms", "between tokens, ms" },
    { "e2el_ms", "whole request, ms" },
    { "request_throughput", "requests/s" },
    { "output_throughput", "tokens/s" },
};

/* Threads of the models; 0: there are only servers. */
static size_t
bench_threads(const struct bench *b)
{
    for (size_t i = 0; i < b->sides; i++)
        if (!b->side[i].is_server)
            return b->side[i].process.threads;
    return 0;
}

/* ---- for people ---- */

static void
text_requests(const struct bench *b, struct buf *out)
{
    const struct bench_plan *p = &b->plan;

    buf_addf(out, "%zu requests of %zu tokens, %zu new", p->count, p->prompt,
        p->length);
    if (p->vary > 0.0)
        buf_addf(out, ", each length up to %g %% shorter or longer",
            100.0 * p->vary);
    if (p->prefix > 0)
        buf_addf(out, ", after %zu tokens that all share", p->prefix);
    if (bench_threads(b) > 0)
        buf_addf(out, ", %zu threads", bench_threads(b));
    buf_addc(out, '\n');
}

static void
text_result(const struct bench *b, const struct bench_side *s, size_t k,
    const struct bench_result *r, struct buf *out)
{
    buf_addf(out, "%s, %zu at a time\n  %-24s %9s %9s %9s %9s\n",
        SHOWN(s->name), b->plan.at_once[k], "", "mean", "median", "std", "p99");
    for (int m = 0; m < BENCH_TIMES; m++)
        buf_addf(out, "  %-24s %9.2f %9.2f %9.2f %9.2f\n", measures[m].text,
            r->ms[m].mean, r->ms[m].median, r->ms[m].std, r->ms[m].p99);
    buf_addf(out, "  %.2f tokens/s, %.2f requests/s", r->tokens, r->requests);
    if (!s->is_server)
        buf_addf(out, ", peak %.1f MB", (double)s->process.peak * 1e-6);
    if (r->failed > 0)
        buf_addf(out, ", %zu requests failed", r->failed);
    buf_addc(out, '\n');
}

/* Append the value and "LOW to HIGH", or "-" if there is no interval. */
static void
text_interval(struct buf *out, int digits, const struct bench_interval *i)
{
    if (isnan(i->low))
        buf_addf(out, " %9.*f %19s", digits, i->v, "-");
    else
        buf_addf(out, " %9.*f %7.*f to %8.*f", digits, i->v, digits, i->low,
            digits, i->high);
}

static void
text_difference(const struct bench *b, const struct bench_side *s, size_t k,
    const struct bench_pair *p, struct buf *out)
{
    buf_addf(out, "%s against %s, %zu at a time, %zu requests\n",
        SHOWN(s->name), SHOWN(b->side[0].name), b->plan.at_once[k], p->n);
    buf_addf(out, "  %-24s %10s %18s %9s %19s\n", "", "difference", "95 %",
        "faster by", "95 %");
    for (int m = 0; m < BENCH_MEASURES; m++) {
        buf_addf(out, "  %-24s", measures[m].text);
        text_interval(out, 2, &p[m].difference);
        text_interval(out, 3, &p[m].ratio);
        buf_addc(out, '\n');
    }
}

/* ---- for programs ---- */

static const char *const result_column[] = { "model_id", "max_concurrency",
    "completed", "failed", "duration", "total_input_tokens",
    "total_output_tokens", "request_throughput", "output_throughput",
    "total_token_throughput", "peak_memory_mb", "mean_ttft_ms",
    "median_ttft_ms", "std_ttft_ms", "p99_ttft_ms", "mean_tpot_ms",
    "median_tpot_ms", "std_tpot_ms", "p99_tpot_ms", "mean_itl_ms",
    "median_itl_ms", "std_itl_ms", "p99_itl_ms", "mean_e2el_ms",
    "median_e2el_ms", "std_e2el_ms", "p99_e2el_ms", NULL };
static const char *const pair_column[] = { "model_id", "base_model_id",
    "max_concurrency", "measure", "requests", "difference", "difference_low",
    "difference_high", "ratio", "ratio_low", "ratio_high", NULL };

static void
list_head(const struct bench *b, struct sheet *s)
{
    const struct bench_plan *p = &b->plan;

    if (s->format == FMT_TSV) {
        buf_adds(s->b, "# ");
        text_requests(b, s->b);
    }
    sheet_fact(s, "num_prompts", p->count);
    sheet_fact(s, "prompt_length", p->prompt);
    sheet_fact(s, "new_tokens", p->length);
    sheet_fact(s, "prefix_length", p->prefix);
    sheet_fact(s, "threads", bench_threads(b));
    sheet_list(s, "results", result_column);
}

static void
list_result(const struct bench *b, const struct bench_side *side, size_t k,
    const struct bench_result *r, struct sheet *s)
{
    sheet_row(s, TEXT(side->name), COUNT(b->plan.at_once[k]),
        COUNT(r->completed), COUNT(r->failed), NUMBER("%.6f", r->duration),
        COUNT(r->in), COUNT(r->out), NUMBER("%.6g", r->requests),
        NUMBER("%.6g", r->tokens), NUMBER("%.6g", r->total),
        NUMBER("%.1f",
            side->is_server ? NAN : (double)side->process.peak * 1e-6));
    for (int m = 0; m < BENCH_TIMES; m++)
        sheet_row(s, NUMBER("%.6g", r->ms[m].mean),
            NUMBER("%.6g", r->ms[m].median), NUMBER("%.6g", r->ms[m].std),
            NUMBER("%.6g", r->ms[m].p99));
}

#define INTERVAL(i) \
    NUMBER("%.6g", (i).v), NUMBER("%.6g", (i).low), NUMBER("%.6g", (i).high)

static void
list_pair(const struct bench *b, const struct bench_side *side, size_t k,
    const struct bench_pair *p, struct sheet *s)
{
    for (int m = 0; m < BENCH_MEASURES; m++)
        sheet_row(s, TEXT(side->name), TEXT(b->side[0].name),
            COUNT(b->plan.at_once[k]), TEXT(measures[m].name), COUNT(p[m].n),
            INTERVAL(p[m].difference), INTERVAL(p[m].ratio));
}

/* ---- all of it ---- */

static void
put_results(const struct bench *b, struct sheet *s)
{
    for (size_t k = 0; k < b->plan.levels; k++)
        for (size_t i = 0; i < b->sides; i++) {
            struct bench_result r;

            bench_result_of(&b->side[i].run[k], &r);
            if (s->format == FMT_TEXT)
                text_result(b, &b->side[i], k, &r, s->b);
            else
                list_result(b, &b->side[i], k, &r, s);
        }
}

static void
put_pairs(const struct bench *b, struct sheet *s)
{
    for (size_t k = 0; k < b->plan.levels; k++)
        for (size_t i = 1; i < b->sides; i++) {
            struct bench_pair p[BENCH_MEASURES];

            for (int m = 0; m < BENCH_MEASURES; m++)
                p[m] = bench_compare(&b->side[0].run[k], &b->side[i].run[k], m,
                    b->plan.seed);
            if (s->format == FMT_TEXT)
                text_difference(b, &b->side[i], k, p, s->b);
            else
                list_pair(b, &b->side[i], k, p, s);
        }
}

void
bench_print(const struct bench *b, enum format format)
{
    struct buf out = { 0 };
    struct sheet s;

    sheet_open(&s, &out, format);
    if (format == FMT_TEXT)
        text_requests(b, &out);
    else
        list_head(b, &s);
    put_results(b, &s);
    if (format != FMT_TEXT && b->sides > 1)
        sheet_list(&s, "differences", pair_column);
    put_pairs(b, &s);
    sheet_close(&s);
    out_put(out.p, out.n);
    buf_release(&out);
}
