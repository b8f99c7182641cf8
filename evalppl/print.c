/* The report, as a table for people or lists for programs; see print.h. */
#include "print.h"
#include "figures.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/text.h"
#include "cli/progress.h"
#include "eval/columns.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

enum { MB = 1000000 };

static double
speed(const struct eval *e, const struct eval_model *j)
{
    return j->seconds > 0.0 ? (double)e->nfed / j->seconds : NAN;
}

/* Bytes of a model's weights as stored, and of its work space. */
static size_t
memory(const struct eval_model *j)
{
    return j->recorded ? 0 : j->bytes + fwd_bytes(j->f);
}

/* Append a description of how text was cut and scored. */
static void
describe_input(const struct eval *e, struct buf *b)
{
    struct figures f;
    const char *what = e->protocol == PROTO_LLAMA ? "windows" : "documents";
    const char *bos = e->protocol == PROTO_LMEVAL ? "prefix" : "BOS";

    eval_figures(e, NONE, 0, &f);
    buf_addf(b, "protocol %s, context %zu, stride %zu, ",
        protocol_name[e->protocol], e->c, e->stride);
    if (e->info.bos >= 0)
        buf_addf(b, "%s %lld, ", bos, (long long)e->info.bos);
    else
        buf_adds(b, "no BOS, ");
    buf_addf(b, "%zu tokens, %zu %s, %zu scored", e->ntokens, f.units, what,
        f.n);
    if (f.words > 0)
        buf_addf(b, ", %zu words", f.words);
    if (f.bytes > 0)
        buf_addf(b, ", %zu bytes", f.bytes);
    else
        buf_adds(b, ", bytes unknown");
}

/* ---- TSV and JSON ---- */

/* A count that is not known if it is 0. */
#define SIZE(n) NUMBER("%.0f", (n) > 0 ? (double)(n) : NAN)

static void
list_protocols(const struct eval *e, struct sheet *s)
{
    static const char *const column[] = { "model", "protocol", "context",
        "stride", "bos", "tokens", "documents", "scored", "words", "bytes",
        NULL };

    sheet_list(s, "inputs", column);
    for (; e != NULL; e = e->also) {
        struct figures f;

        eval_figures(e, NONE, 0, &f);
        sheet_row(s, TEXT(e->j[0].label), TEXT(protocol_name[e->protocol]),
            COUNT(e->c), COUNT(e->stride),
            NUMBER("%.0f", e->info.bos >= 0 ? (double)e->info.bos : NAN),
            COUNT(e->ntokens), COUNT(f.units), COUNT(f.n), SIZE(f.words),
            SIZE(f.bytes));
    }
}

static void
list_model(const struct eval *e, size_t source, size_t model, struct sheet *s)
{
    const struct eval_model *j = &e->j[model];
    struct figures f;

    eval_figures(e, source, model, &f);
    sheet_row(s, TEXT(j->label), TEXT(source_name(e, source)), COUNT(j->params),
        COUNT(f.units), COUNT(f.n), ESTIMATE("%.8f", f.nll),
        NUMBER("%.6f", f.ppl), NUMBER("%.6f", f.low), NUMBER("%.6f", f.high),
        ESTIMATE("%.8f", f.kl), ESTIMATE("%.8f", f.klt),
        ESTIMATE("%.6f", f.agree), NUMBER("%.3f", f.ppl_ratio),
        NUMBER("%.3f", f.regained),
        NUMBER("%.1f", source == NONE ? speed(e, j) : NAN),
        NUMBER("%.0f", source == NONE ? (double)memory(j) : NAN), SIZE(f.bytes),
        ESTIMATE("%.8f", f.bits), SIZE(f.words), NUMBER("%.6f", f.byte_ppl),
        NUMBER("%.6f", f.word_ppl), ESTIMATE("%.8f", f.accept));
}

/* Append the difference of models i and k to the list `differences` of s. */
static void
list_difference(struct sheet *s, const struct eval_model *i,
    const struct eval_model *k, const char *quantity, const struct estimate *m,
    const char *source)
{
    sheet_row(s, TEXT(i->label), TEXT(k->label), TEXT(quantity),
        ESTIMATE("%.8f", *m), NUMBER("%.3f", m->v / m->se), TEXT(source));
}

/* Append the differences between every two models on one source. */
static void
list_model_pairs(const struct eval *e, size_t source, struct sheet *s)
{
    static const char *const names[] = { "nll", "kl" };

    for (size_t i = 0; i < e->nj; i++)
        for (size_t k = i + 1; k < e->nj; k++)
            for (int q = Q_NLL; q <= Q_KL; q++) {
                struct estimate m;

                if (q == Q_KL && (e->base == NONE || i == e->base))
                    continue;
                m = eval_mean(e, source, (enum quantity)q, i, k);
                list_difference(s, &e->j[i], &e->j[k], names[q], &m,
                    source_name(e, source));
            }
}

/* Append the differences in bits per byte between models with different
 * tokenizers. */
static void
print_across(const struct eval *e, struct sheet *s)
{
    for (const struct eval *f = e->also; f != NULL; f = f->also)
        for (size_t i = 0; i < e->nj; i++)
            for (size_t k = 0; k < f->nj; k++) {
                const struct estimate m = bits_difference(e, i, f, k);

                if (s->format != FMT_TEXT) {
                    list_difference(s, &e->j[i], &f->j[k], "bits", &m, "(all)");
                    continue;
                }
                buf_adds(s->b, "bits/B ");
                put_difference(s->b, e->j[i].label, f->j[k].label, &m, 5);
            }
    if (e->also != NULL)
        print_across(e->also, s);
}

static void
list_figures(const struct eval *e, struct sheet *s, int per_source, int compare)
{
    static const char *const models[] = { "model", "source", "parameters",
        "documents", "tokens", "nll", "nll_se", "ppl", "ppl_low", "ppl_high",
        "kl", "kl_se", "kl_t", "kl_t_se", "agree", "agree_se", "ppl_ratio",
        "regained", "tokens_s", "memory", "bytes", "bits", "bits_se", "words",
        "byte_ppl", "word_ppl", "accept", "accept_se", NULL };
    static const char *const differences[] = { "model", "other", "quantity",
        "difference", "se", "z", "source", NULL };

    if (s->format == FMT_JSON)
        list_protocols(e, s);
    for (const struct eval *f = e; s->format == FMT_TSV && f; f = f->also) {
        buf_adds(s->b, "# ");
        describe_input(f, s->b);
        buf_addc(s->b, '\n');
    }
    sheet_list(s, "models", models);
    for (const struct eval *f = e; f != NULL; f = f->also)
        for (size_t i = 0; i < f->nj; i++)
            list_model(f, NONE, i, s);
    for (size_t k = 0; per_source && k < e->info.nsource; k++)
        for (size_t i = 0; i < e->nj && units_of(&e->units, k) > 0; i++)
            list_model(e, k, i, s);
    if (!compare)
        return;
    sheet_list(s, "differences", differences);
    for (const struct eval *f = e; f != NULL; f = f->also)
        list_model_pairs(f, NONE, s);
    print_across(e, s);
    for (size_t k = 0; per_source && k < e->info.nsource; k++)
        if (units_of(&e->units, k) > 0)
            list_model_pairs(e, k, s);
}

/* ---- text ---- */

static void
text_head(const struct eval *e, int w, const char *first, struct buf *b)
{
    buf_addf(b, "%-*s %9s %9s %17s %7s", w, first, "ppl", "+/-", "95 %",
        "bits/B");
    if (e->protocol == PROTO_LMEVAL)
        buf_addf(b, " %8s %9s", "ppl/B", "ppl/word");
    if (e->base != NONE) {
        buf_addf(b, " %8s %7s", "KL", "+/-");
        if (e->temperature != 1.0)
            buf_addf(b, " %8s", "KL at T");
        buf_addf(b, " %7s %8s %5s %9s", "agree %", "accept %", "+/-",
            "ppl ratio");
        if (e->before != NONE)
            buf_addf(b, " %8s", "regained");
    }
}

static void
text_figures(const struct eval *e, size_t source, size_t model, struct buf *b)
{
    struct figures f;

    eval_figures(e, source, model, &f);
    put_column(b, 9, f.ppl < 1e5 ? "%.4f" : "%.4g", f.ppl);
    put_column(b, 9, f.ppl_se < 1e5 ? "%.4f" : "%.4g", f.ppl_se);
    put_range(b, 17, f.high < 1e6 ? "%.2f..%.2f" : "%.3g..%.3g", f.low, f.high);
    put_column(b, 7, "%.4f", f.bits.v);
    if (e->protocol == PROTO_LMEVAL) {
        put_column(b, 8, "%.4f", f.byte_ppl);
        put_column(b, 9, f.word_ppl < 1e5 ? "%.4f" : "%.4g", f.word_ppl);
    }
    if (e->base == NONE)
        return;
    put_column(b, 8, "%.5f", f.kl.v);
    put_column(b, 7, "%.5f", f.kl.se);
    if (e->temperature != 1.0)
        put_column(b, 8, "%.5f", f.klt.v);
    put_column(b, 7, "%.2f", 100.0 * f.agree.v);
    put_column(b, 8, "%.2f", 100.0 * f.accept.v);
    put_column(b, 5, "%.2f", 100.0 * f.accept.se);
    put_column(b, 9, "%.2f", f.ppl_ratio);
    if (e->before != NONE)
        put_column(b, 8, "%.2f", f.regained);
}

static void
text_sources(const struct eval *e, int w, struct buf *b)
{
    for (size_t i = 0; i < e->nj; i++) {
        buf_addf(b, "\n%s\n", SHOWN(e->j[i].label));
        text_head(e, w, "source", b);
        buf_addf(b, " %9s %9s\n", "documents", "tokens");
        for (size_t s = 0; s < e->info.nsource; s++) {
            struct figures f;

            if (units_of(&e->units, s) == 0)
                continue;
            eval_figures(e, s, i, &f);
            buf_addf(b, "%-*s", w, SHOWN(source_name(e, s)));
            text_figures(e, s, i, b);
            buf_addf(b, " %9zu %9zu\n", f.units, f.n);
        }
    }
}

static void
text_pair(const struct eval *e, size_t i, size_t k, enum quantity q,
    struct buf *b)
{
    const struct estimate m = eval_mean(e, NONE, q, i, k);

    buf_addf(b, "%-4s ", q == Q_NLL ? "loss" : "KL");
    put_difference(b, e->j[i].label, e->j[k].label, &m, 5);
}

static void
print_text(const struct eval *e, int per_source, int compare, struct buf *b)
{
    const int w = models_label_width(e->j, e->nj, 40);

    describe_input(e, b);
    buf_addc(b, '\n');
    if (e->base != NONE) {
        buf_addf(b, "KL(%s || model) in nats", SHOWN(e->j[e->base].label));
        if (e->temperature != 1.0)
            buf_addf(b, ", T = %g", e->temperature);
        buf_addc(b, '\n');
    }
    buf_addc(b, '\n');
    text_head(e, w, "model", b);
    buf_addf(b, " %8s %8s %8s\n", "M param", "tokens/s", "MB");
    for (size_t i = 0; i < e->nj; i++) {
        buf_addf(b, "%-*s", w, SHOWN(e->j[i].label));
        text_figures(e, NONE, i, b);
        put_column(b, 8, "%.3f", (double)e->j[i].params / MB);
        put_column(b, 8, "%.0f", speed(e, &e->j[i]));
        put_column(b, 8, "%.1f", (double)memory(&e->j[i]) / MB);
        buf_addc(b, '\n');
    }
    if (per_source)
        text_sources(e, w, b);
    for (size_t i = 0; compare && i < e->nj; i++)
        for (size_t k = i + 1; k < e->nj; k++) {
            if (i == 0 && k == 1)
                buf_addc(b, '\n');
            text_pair(e, i, k, Q_NLL, b);
            if (e->base != NONE && i != e->base)
                text_pair(e, i, k, Q_KL, b);
        }
}

/* If eval_cost_shows is false, print a note that `regained` is not given. */
static void
note_cost(const struct eval *e)
{
    struct estimate cost;

    if (e->base == NONE || e->before == NONE)
        return;
    cost = eval_cost(e, NONE);
    if (!eval_cost_shows(&cost))
        note("%s: its loss is not higher than that of %s beyond the error "
             "(%.5f "
             "+/- %.5f nats a token): no share of it is regained",
            e->j[e->before].label, e->j[e->base].label, cost.v, cost.se);
}

void
eval_print(const struct eval *e, struct sheet *s, int per_source, int compare)
{
    for (const struct eval *f = e; f != NULL; f = f->also)
        note_cost(f);
    if (s->format != FMT_TEXT) {
        list_figures(e, s, per_source, compare);
        return;
    }
    for (const struct eval *f = e; f != NULL; f = f->also) {
        if (f != e)
            buf_addc(s->b, '\n');
        print_text(f, per_source, compare, s->b);
    }
    if (compare && e->also != NULL) {
        buf_addc(s->b, '\n');
        print_across(e, s);
    }
}

void
eval_partial(struct eval *e)
{
    struct buf b = { 0 };

    units_merge(&e->units);
    buf_addf(&b, "%sso far: ", progress_wipe());
    print_text(e, 0, 0, &b);
    if (io_write(STDERR_FILENO, b.p, b.n) < 0) {
        /* standard error has failed: nowhere to report it */
    }
    buf_release(&b);
}
