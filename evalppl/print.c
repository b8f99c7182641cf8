/* The report: a table for people, or TSV. */
#include "evalppl.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/text.h"
#include "cli/progress.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

enum { MB = 1000000 };

static double
speed(const struct eval *e, const struct judged *j)
{
    return j->seconds > 0.0 ? (double)e->nfed / j->seconds : NAN;
}

/* Bytes of weights as stored and of work space. */
static size_t
memory(const struct judged *j)
{
    return j->recorded ? 0 : j->bytes + fwd_bytes(j->f);
}

/* The line that says how text was cut and scored, before all figures. */
static void
describe(const struct eval *e, struct buf *b)
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

const char *
source_name(const struct eval *e, size_t source)
{
    return source == NONE ? "(all)" : e->info.source[source];
}

/* ---- TSV ---- */

static void
tsv_row(const struct eval *e, size_t source, size_t model, struct buf *b)
{
    const struct judged *j = &e->j[model];
    struct figures f;

    eval_figures(e, source, model, &f);
    buf_addf(b, "%s\t%s\t%zu\t%zu\t%zu", SHOWN(j->label),
        SHOWN(source_name(e, source)), j->params, f.units, f.n);
    put_cell(b, "%.8f", f.nll.v);
    put_cell(b, "%.8f", f.nll.se);
    put_cell(b, "%.6f", f.ppl);
    put_cell(b, "%.6f", f.low);
    put_cell(b, "%.6f", f.high);
    put_cell(b, "%.8f", f.kl.v);
    put_cell(b, "%.8f", f.kl.se);
    put_cell(b, "%.8f", f.klt.v);
    put_cell(b, "%.8f", f.klt.se);
    put_cell(b, "%.6f", f.agree.v);
    put_cell(b, "%.6f", f.agree.se);
    put_cell(b, "%.3f", f.ppl_ratio);
    put_cell(b, "%.3f", f.regained);
    put_cell(b, "%.1f", source == NONE ? speed(e, j) : NAN);
    put_cell(b, "%.0f", source == NONE ? (double)memory(j) : NAN);
    put_cell(b, "%.0f", f.bytes > 0 ? (double)f.bytes : NAN);
    put_cell(b, "%.8f", f.bits.v);
    put_cell(b, "%.8f", f.bits.se);
    put_cell(b, "%.0f", f.words > 0 ? (double)f.words : NAN);
    put_cell(b, "%.6f", f.byte_ppl);
    put_cell(b, "%.6f", f.word_ppl);
    buf_addc(b, '\n');
}

/* Differences of all pairs of models on one source. */
static void
tsv_pairs(const struct eval *e, size_t source, struct buf *b)
{
    static const char *const names[] = { "nll", "kl" };

    for (size_t i = 0; i < e->nj; i++)
        for (size_t k = i + 1; k < e->nj; k++)
            for (int q = Q_NLL; q <= Q_KL; q++) {
                struct mean m;

                if (q == Q_KL && (e->base == NONE || i == e->base))
                    continue;
                m = eval_mean(e, source, (enum quantity)q, i, k);
                buf_addf(b, "%s\t%s\t%s", SHOWN(e->j[i].label),
                    SHOWN(e->j[k].label), names[q]);
                put_cell(b, "%.8f", m.v);
                put_cell(b, "%.8f", m.se);
                put_cell(b, "%.3f", m.v / m.se);
                buf_addf(b, "\t%s\n", SHOWN(source_name(e, source)));
            }
}

/* With every pair of models of different tokenizers. */
static void
across(const struct eval *e, struct buf *b,
    void (*print)(struct buf *b, const struct judged *i, const struct judged *k,
        const struct mean *m))
{
    for (const struct eval *f = e->also; f != NULL; f = f->also)
        for (size_t i = 0; i < e->nj; i++)
            for (size_t k = 0; k < f->nj; k++) {
                const struct mean m = bits_difference(e, i, f, k);

                print(b, &e->j[i], &f->j[k], &m);
            }
    if (e->also != NULL)
        across(e->also, b, print);
}

static void
tsv_bits(struct buf *b, const struct judged *i, const struct judged *k,
    const struct mean *m)
{
    buf_addf(b, "%s\t%s\tbits", SHOWN(i->label), SHOWN(k->label));
    put_cell(b, "%.8f", m->v);
    put_cell(b, "%.8f", m->se);
    put_cell(b, "%.3f", m->v / m->se);
    buf_adds(b, "\t(all)\n");
}

static void
text_bits(struct buf *b, const struct judged *i, const struct judged *k,
    const struct mean *m)
{
    buf_adds(b, "bits/B ");
    put_difference(b, i->label, k->label, m, 5);
}

static void
print_tsv(const struct eval *e, int per_source, int compare, struct buf *b)
{
    for (const struct eval *f = e; f != NULL; f = f->also) {
        buf_adds(b, "# ");
        describe(f, b);
        buf_addc(b, '\n');
    }
    buf_adds(b,
        "model\tsource\tparameters\tdocuments\ttokens\tnll\tnll_se\t"
        "ppl\tppl_low\tppl_high\tkl\tkl_se\tkl_t\tkl_t_se\t"
        "agree\tagree_se\tppl_ratio\tregained\ttokens_s\tmemory\t"
        "bytes\tbits\tbits_se\twords\tbyte_ppl\tword_ppl\n");
    for (const struct eval *f = e; f != NULL; f = f->also)
        for (size_t i = 0; i < f->nj; i++)
            tsv_row(f, NONE, i, b);
    for (size_t s = 0; per_source && s < e->info.nsource; s++)
        for (size_t i = 0; i < e->nj && units_of(e, s) > 0; i++)
            tsv_row(e, s, i, b);
    if (!compare)
        return;
    buf_adds(b, "\nmodel\tother\tquantity\tdifference\tse\tz\tsource\n");
    for (const struct eval *f = e; f != NULL; f = f->also)
        tsv_pairs(f, NONE, b);
    across(e, b, tsv_bits);
    for (size_t s = 0; per_source && s < e->info.nsource; s++)
        if (units_of(e, s) > 0)
            tsv_pairs(e, s, b);
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
        buf_addf(b, " %7s %9s", "agree %", "ppl ratio");
        if (e->from != NONE)
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
    put_column(b, 9, "%.2f", f.ppl_ratio);
    if (e->from != NONE)
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

            if (units_of(e, s) == 0)
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
    const struct mean m = eval_mean(e, NONE, q, i, k);

    buf_addf(b, "%-4s ", q == Q_NLL ? "loss" : "KL");
    put_difference(b, e->j[i].label, e->j[k].label, &m, 5);
}

static void
print_text(const struct eval *e, int per_source, int compare, struct buf *b)
{
    const int w = models_label_width(e->j, e->nj, 40);

    describe(e, b);
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

/* Say why no share of the loss is regained, where that is so. */
static void
note_cost(const struct eval *e)
{
    struct mean cost;

    if (e->base == NONE || e->from == NONE)
        return;
    cost = eval_cost(e, NONE);
    if (!eval_cost_shows(&cost))
        note("%s: its loss is not higher than that of %s beyond the error "
             "(%.5f "
             "+/- %.5f nats a token): no share of it is regained",
            e->j[e->from].label, e->j[e->base].label, cost.v, cost.se);
}

void
eval_print(const struct eval *e, enum format f, int per_source, int compare,
    struct buf *b)
{
    for (const struct eval *g = e; g != NULL; g = g->also)
        note_cost(g);
    if (f == FMT_TSV) {
        print_tsv(e, per_source, compare, b);
        return;
    }
    for (const struct eval *g = e; g != NULL; g = g->also) {
        if (g != e)
            buf_addc(b, '\n');
        print_text(g, per_source, compare, b);
    }
    if (compare && e->also != NULL) {
        buf_addc(b, '\n');
        across(e, b, text_bits);
    }
}

void
eval_partial(struct eval *e)
{
    struct buf b = { 0 };

    units_merge(e);
    buf_addf(&b, "%sso far: ", progress_wipe());
    print_text(e, 0, 0, &b);
    if (io_write(STDERR_FILENO, b.p, b.n) < 0) {
        /* There is nowhere to say it. */
    }
    buf_release(&b);
}
