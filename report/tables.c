/* The tables of a run: see tables.h */
#include "tables.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A column of a file.  fmt NULL: its cells are shown as they are; else its
 * numbers are multiplied by `scale` and printed by fmt. */
struct column {
    const char *name, *fmt;
    double scale;
};

/* Add a cell with two numbers, such as "low..high". */
static void
grid_two(struct grid *g, const char *fmt, double a, double b)
{
    char text[200];

    snprintf(text, sizeof text, isfinite(a) && isfinite(b) ? fmt : "-", a, b);
    grid_text(g, text);
}

const char models_note[] =
    "M param: millions of parameters. ppl: perplexity, lower is better.\n"
    "95 %: its interval over documents. KL: distance from the teacher (the\n"
    "model with 0), nats a token. top-1: how often both find the same token\n"
    "most likely. won back: share of the loss added by pruning that training\n"
    "took away. token/s: tokens read, not written, a second in scoring these\n"
    "texts. MB: memory for scoring, weights and work space, so more than the\n"
    "model's file.\n";

static void
make_models(struct grid *g, const struct eval *v)
{
    static const struct column column[] = {
        { "parameters", "%.3f", 1e-6 },
        { "ppl", "%.2f", 1.0 },
        { NULL, NULL, 1.0 },
        { "kl", "%.4f", 1.0 },
        { "agree", "%.1f%%", 100.0 },
        { "regained", "%.1f%%", 1.0 },
        { "tokens_s", "%.0f", 1.0 },
        { "memory", "%.1f", 1e-6 },
    };
    int ranges = 0; /* documents enough for intervals */

    for (size_t m = 0; m < v->nmodel; m++)
        ranges |= isfinite(eval_real(v, m, NONE, "ppl_low"));
    grid_init(g, "models", "All held-out documents",
        ranges ? "model|M param|ppl|95 %|KL|top-1|won back|token/s|MB"
               : "model|M param|ppl|KL|top-1|won back|token/s|MB");
    for (size_t m = 0; m < v->nmodel; m++) {
        grid_text(g, v->model[m]);
        for (size_t c = 0; c < sizeof column / sizeof *column; c++)
            if (column[c].name != NULL)
                grid_number(g, column[c].fmt,
                    column[c].scale * eval_real(v, m, NONE, column[c].name));
            else if (ranges)
                grid_two(g, "%.1f..%.1f", eval_real(v, m, NONE, "ppl_low"),
                    eval_real(v, m, NONE, "ppl_high"));
    }
}

/* Add the rows of model i less model k: of the loss, and of KL. */
static void
add_pair_row(struct grid *g, const struct eval *v, size_t i, size_t k)
{
    static const char *const quantity[] = { "nll", "kl" };
    double d, se;

    for (int q = 0; q < 2; q++)
        if (eval_pair(v, i, k, quantity[q], &d, &se)) {
            grid_text(g, v->model[i]);
            grid_text(g, v->model[k]);
            grid_text(g, q == 0 ? "loss" : "KL");
            grid_number(g, "%+.5f", d);
            grid_number(g, "%.5f", se);
            grid_number(g, "%.1f", fabs(d) / se);
        }
}

static const char pairs_note[] =
    "difference: document by document, in nats a token; below 0 the model is\n"
    "better than the other. Less than 2 std errors prove nothing.\n";

/* Each trained model is compared with the model before training, and with the
 * trained models after it. */
static void
make_pairs(struct grid *g, const struct eval *v)
{
    grid_init(g, "pairs",
        "Differences, document by document, in nats a token: below 0 the model "
        "is better than the other; less than 2 standard errors prove nothing",
        "model|than|in|difference|\xc2\xb1|std errors");
    for (size_t i = 0; i < v->nmodel; i++) {
        if (!eval_trained(v, i))
            continue;
        if (v->from != NONE)
            add_pair_row(g, v, i, v->from);
        for (size_t k = i + 1; k < v->nmodel; k++)
            if (eval_trained(v, k))
                add_pair_row(g, v, i, k);
    }
}

static void
make_sources(struct grid *g, const struct eval *v)
{
    grid_init(g, "sources",
        "Perplexity by source \xc2\xb1 half its 95 % interval, which holds the "
        "difference between documents that the models share",
        "source|texts");
    for (size_t m = 0; m < v->nmodel; m++, g->ncol++)
        grid_text(g, v->model[m]);
    for (size_t s = 0; s < v->nsource; s++) {
        grid_text(g, v->source[s]);
        grid_number(g, "%.0f", eval_real(v, 0, s, "documents"));
        for (size_t m = 0; m < v->nmodel; m++) {
            const double ppl = eval_real(v, m, s, "ppl");
            const double half = (eval_real(v, m, s, "ppl_high") -
                                    eval_real(v, m, s, "ppl_low")) /
                2.0;

            if (isfinite(half))
                grid_two(g, "%.1f\xc2\xb1%.1f", ppl, half);
            else
                grid_number(g, "%.1f", ppl);
        }
    }
}

static void
make_runs(struct grid *g, const struct run *r)
{
    grid_init(g, "runs",
        "Losses are means of the last tenth of the steps, in nats a scored "
        "token, before their weights; bold curves are running means",
        "run|steps|tokens|tokens/s|CE|KL|SquareHead|grad norm");
    for (size_t i = 0; i < r->nlog; i++) {
        const struct log *l = &r->log[i];

        grid_text(g, l->name);
        grid_number(g, "%.0f", l->v[STEP][l->n - 1]);
        grid_number(g, "%.0f", l->v[TOKENS][l->n - 1]);
        grid_number(g, "%.0f", log_speed(l));
        grid_number(g, "%.4f", log_last(l, CE));
        grid_number(g, "%.5f", log_last(l, KL));
        grid_number(g, "%.5f", log_last(l, SQUAREHEAD));
        grid_number(g, "%.3f", log_last(l, NORM));
    }
}

static void
make_held_out(struct grid *g, const struct run *r)
{
    grid_init(g, "held-out",
        "Held-out batches judged beside training: the evaluation of least "
        "loss, and the last one",
        "run|times|best at|loss|CE|KL|last CE|last KL");
    for (size_t i = 0; i < r->nlog; i++) {
        const struct log *l = &r->log[i];
        const size_t best = log_best(l), last = l->nheld - 1;

        if (l->nheld == 0)
            continue;
        grid_text(g, l->name);
        grid_number(g, "%.0f", (double)l->nheld);
        grid_number(g, "%.0f", l->held[HELD_STEP][best]);
        grid_number(g, "%.4f", l->held[HELD_LOSS][best]);
        grid_number(g, "%.4f", l->held[HELD_CE][best]);
        grid_number(g, "%.5f", l->held[HELD_KL][best]);
        grid_number(g, "%.4f", l->held[HELD_CE][last]);
        grid_number(g, "%.5f", l->held[HELD_KL][last]);
    }
}

static void
grid_row(struct grid *g, const struct table *t, size_t i,
    const struct column *c, size_t n)
{
    for (; n-- > 0; c++) {
        const size_t k = table_column(t, c->name);

        if (c->fmt == NULL)
            grid_text(g, table_cell(t, i, k));
        else
            grid_number(g, c->fmt, c->scale * table_real(t, i, k));
    }
}

/* Make the table of pruning: the whole model, each step that the search took,
 * and the result. */
static void
make_pruning(struct grid *g, const struct table *t)
{
    static const struct column c[] = { { "kind", NULL, 0 },
        { "blocks", "%.0f", 1 }, { "kept", NULL, 0 }, { "width", "%.0f", 1 },
        { "parameters", "%.3f", 1e-6 }, { "ppl", "%.2f", 1 },
        { "kl", "%.4f", 1 } };

    grid_init(g, "pruned",
        "Steps that the search took, on the calibration data",
        "step|blocks|which|MLP|M param|ppl|KL");
    for (size_t i = 0; i < t->nrow; i++) {
        const char *kind = table_cell(t, i, table_column(t, "kind"));

        if (strcmp(kind, "whole") == 0 || strcmp(kind, "cut") == 0 ||
            table_real(t, i, table_column(t, "taken")) == 1.0)
            grid_row(g, t, i, c, sizeof c / sizeof *c);
    }
}

static void
make_tokens(struct grid *g, const struct table *t)
{
    static const struct column c[] = { { "source", NULL, 0 },
        { "documents", "%.0f", 1 }, { "words", "%.0f", 1 },
        { "tokens", "%.0f", 1 }, { "tokens/word", "%.3f", 1 },
        { "characters/token", "%.3f", 1 }, { "split", "%.1f", 100 },
        { "fallback", "%.2f", 100 }, { "distinct", "%.0f", 1 },
        { "parity", "%.3f", 1 } };

    grid_init(g, "tokens",
        "A language that is cut into more tokens costs more for the same "
        "content and is harder to learn",
        "source|texts|words|tokens|tok/word|char/tok|split %|bytes %|ids "
        "used|parity");
    for (size_t i = 0; i < t->nrow && i < SOURCES; i++)
        grid_row(g, t, i, c, sizeof c / sizeof *c);
}

static void
make_scaling(struct grid *g, const struct table *t)
{
    static const struct column c[] = { { "mode", NULL, 0 },
        { "ranks", "%.0f", 1 }, { "threads", "%.0f", 1 }, { "rows", "%.0f", 1 },
        { "tokens/s", "%.1f", 1 }, { "sd", "%.1f", 1 },
        { "efficiency", "%.1f", 100 }, { "mfu", "%.2f", 100 },
        { "hfu", "%.2f", 100 }, { "exposed", "%.1f", 100 },
        { "waited", "%.1f", 100 }, { "slowest", "%.0f", 1 },
        { "eta_h", "%.3g", 1 } };

    grid_init(g, "scaling",
        "Training over ranks: weak has more rows with more ranks, strong the "
        "same rows in all",
        "mode|ranks|threads|rows|tok/s|sd|eff %|MFU %|HFU %|comm %|wait %|"
        "slowest|ETA h");
    for (size_t i = 0; i < t->nrow && i < SOURCES; i++)
        grid_row(g, t, i, c, sizeof c / sizeof *c);
}

static void
make_able(struct grid *g, const struct table *t)
{
    static const struct column c[] = { { "ability", NULL, 0 },
        { "model", NULL, 0 }, { "items", "%.0f", 1 }, { "share", "%.1f", 100 },
        { "share_se", "%.1f", 100 }, { "change", "%+.1f", 100 },
        { "change_se", "%.1f", 100 } };

    grid_init(g, "abilities",
        "What the models can do: the share of the items that they do, and how "
        "far it is from the first model's over the same items, each with its "
        "standard error",
        "ability|model|items|share %|\xc2\xb1|change|\xc2\xb1");
    for (size_t i = 0; i < t->nrow && i < SOURCES; i++)
        grid_row(g, t, i, c, sizeof c / sizeof *c);
}

void
table_make(struct grid *g, int which, const struct run *r)
{
    switch (which) {
    case T_MODELS: make_models(g, &r->eval); break;
    case T_PAIRS: make_pairs(g, &r->eval); break;
    case T_SOURCES: make_sources(g, &r->eval); break;
    case T_RUNS: make_runs(g, r); break;
    case T_HELD_OUT: make_held_out(g, r); break;
    case T_ABLE: make_able(g, &r->file[F_ABLE]); break;
    case T_PRUNING: make_pruning(g, &r->file[F_PRUNE]); break;
    case T_SCALING: make_scaling(g, &r->file[F_SCALING]); break;
    default: make_tokens(g, &r->file[F_TOKENS]); break;
    }
}

void
terminal(struct buf *b, const struct run *r)
{
    static const char *const
        note[NTABLE] = { [T_MODELS] = models_note, [T_PAIRS] = pairs_note };
    struct grid g;

    for (int i = 0; i < NTABLE; i++) {
        table_make(&g, i, r);
        if (b->n > 0 && g.ncell > g.ncol)
            buf_addc(b, '\n');
        grid_terminal(b, &g);
        if (note[i] != NULL && g.ncell > g.ncol)
            buf_addf(b, "\n%s", note[i]);
        grid_release(&g);
    }
}
