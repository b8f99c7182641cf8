/* The page: see page.h */
#include "page.h"
#include "charts.h"
#include "comm.h"
#include "grid.h"
#include "html.h"
#include "predictions.h"
#include "pruning.h"
#include "style.h"
#include "tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void
put_heading(struct buf *b, const char *id, const char *text)
{
    put(b, "<h2 id=\"%s\">%s</h2>\n", id, text);
}

static void
put_run_table(struct buf *b, const struct run *r, int which)
{
    struct grid g;

    table_make(&g, which, r);
    grid_page(b, &g);
    grid_release(&g);
}

/* Append a main result: a figure and a sentence about it. */
static void
put_tile(struct buf *b, const char *fmt, double v, const char *unit,
    const char *what)
{
    if (!isfinite(v))
        return;
    buf_adds(b, "<div><b>");
    put(b, fmt, v);
    put(b, " <small>%s</small></b><span>%s</span></div>\n", unit, what);
}

/* Does pruning cost so much that the share regained by training is meaningful?
 * Perplexity must rise by more than 0.5 %, and if a model was trained, evalppl
 * must have printed a share. */
static int
cost_shows(const struct eval *v)
{
    int told = 0, trained = 0;

    for (size_t m = 0; m < v->nmodel; m++)
        if (eval_trained(v, m)) {
            trained = 1;
            told |= isfinite(eval_real(v, m, NONE, "regained"));
        }
    return (told || !trained) &&
        eval_real(v, v->from, NONE, "ppl") >
        1.005 * eval_real(v, v->base, NONE, "ppl");
}

/* Append the cost of pruning, and the share of it that training regained. */
static void
put_cost(struct buf *b, const struct eval *v)
{
    const char *base = v->model[v->base];
    const double whole = eval_real(v, v->base, NONE, "ppl");
    const double cut = eval_real(v, v->from, NONE, "ppl");
    const int shows = cost_shows(v);
    char *what = xasprintf("perplexity by cutting %s to %s, which keeps %.1f "
                           "%% of the parameters: %.4g, not %.4g%s",
        base, v->model[v->from],
        100.0 * eval_real(v, v->from, NONE, "parameters") /
            eval_real(v, v->base, NONE, "parameters"),
        cut, whole, shows ? "" : "; too little to say what training regained");

    put_tile(b, "%+.1f", 100.0 * (cut / whole - 1.0), "%", what);
    free(what);
    for (size_t m = 0; m < v->nmodel && shows; m++) {
        const double ppl = eval_real(v, m, NONE, "ppl");

        if (!eval_trained(v, m))
            continue;
        what = xasprintf("of that loss is won back by %s: perplexity %.4g, "
                         "%+.1f %% above %s",
            v->model[m], ppl, 100.0 * (ppl / whole - 1.0), base);
        put_tile(b, "%.1f", eval_real(v, m, NONE, "regained"), "%", what);
        free(what);
    }
}

/* Append by how many standard errors two trained models differ. */
static void
put_pair(struct buf *b, const struct eval *v, size_t i, size_t k, int kl)
{
    double d, se;
    char *what;

    if (!eval_pair(v, i, k, kl ? "kl" : "nll", &d, &se))
        return;
    what = fabs(d) >= 2.0 * se
        ? xasprintf("by which %s is better than %s in %s: %.4f \xc2\xb1 %.4f "
                    "nats a token",
              v->model[d < 0 ? i : k], v->model[d < 0 ? k : i],
              kl ? "KL from the teacher" : "loss", fabs(d), se)
        : xasprintf("between %s and %s in %s, which proves no difference: %.4f "
                    "\xc2\xb1 %.4f nats a token",
              v->model[i], v->model[k], kl ? "KL from the teacher" : "loss",
              fabs(d), se);
    put_tile(b, "%.1f", fabs(d) / se, "standard errors", what);
    free(what);
}

static void
put_result(struct buf *b, const struct run *r)
{
    const struct eval *v = &r->eval;
    size_t trained = 0;

    if (v->nmodel == 0)
        return;
    for (size_t m = 0; m < v->nmodel; m++)
        trained += eval_trained(v, m) != 0;
    buf_adds(b, "<div class=\"tiles\" id=\"result\">\n");
    if (v->base != NONE && v->from != NONE)
        put_cost(b, v);
    /* More than three trained models are compared only in the table. */
    for (size_t i = 0; i < v->nmodel && trained <= 3; i++)
        for (size_t k = i + 1; k < v->nmodel; k++)
            for (int kl = 0; kl < 2 && eval_trained(v, i) && eval_trained(v, k);
                 kl++)
                put_pair(b, v, i, k, kl);
    buf_adds(b, "</div>\n");
    put_run_table(b, r, T_MODELS);
    put(b, "<p class=\"note\">%s. ", v->protocol);
    put(b, "%s</p>\n", models_note);
    put_run_table(b, r, T_PAIRS);
    if (v->nsource > 0) {
        put_heading(b, "by-source", "By source");
        buf_adds(b, "<div class=\"figures\">\n");
        charts_sources(b, v);
        buf_adds(b, "</div>\n<details><summary>The figures</summary>\n");
        put_run_table(b, r, T_SOURCES);
        buf_adds(b, "</details>\n");
    }
    if (v->left_out > 0)
        put(b,
            "<p class=\"problem\">Left out: %zu lines, of more than %d models "
            "or %d sources.</p>\n",
            v->left_out, MODELS, SOURCES);
}

/* A line of samples.txt: pointers into the line, whose tabs become zero bytes.
 * The page shows what `model` writes after the prompt. */
struct sample {
    char *lang, *model, *text, *prompt;
};

/* Replace \n, \t and \\ in a text by the characters that they stand for. */
static void
read_escapes(char *text)
{
    char *to = text;

    for (const char *p = text; *p != '\0'; p++) {
        const char *code =
            *p == '\\' && p[1] != '\0' ? strchr("n\nt\t\\\\", p[1]) : NULL;

        *to++ = code != NULL ? code[1] : *p;
        p += code != NULL;
    }
    *to = '\0';
}

static struct sample
sample_of(char *line)
{
    struct sample s = { .lang = line };
    char **const rest[] = { &s.model, &s.text, &s.prompt };

    for (size_t i = 0; i < 3; i++) {
        line += strcspn(line, "\t");
        *line++ = '\0';
        *rest[i] = line;
    }
    read_escapes(s.text);
    read_escapes(s.prompt);
    return s;
}

static void
put_sample(struct buf *b, const struct eval *v, const struct sample *s)
{
    size_t colour = 0;

    for (size_t m = 0; m < v->nmodel; m++)
        if (strcmp(v->model[m], s->model) == 0)
            colour = m % 6;
    put(b, "<p lang=\"%s\"><b class=\"c%zu\">%s</b> %s</p>\n", s->lang, colour,
        s->model, s->text);
}

/* Append the prompts, and under each what every model writes after it. */
static void
put_samples(struct buf *b, const struct run *r)
{
    char *before = NULL; /* the line of `last` */
    struct sample last = { .prompt = NULL };

    if (r->samples.n == 0)
        return;
    put_heading(b, "samples", "What the models write");
    buf_adds(b, "<div class=\"samples\">\n");
    for (size_t i = 0; i < r->samples.n; i++) {
        char *line = xstrdup(r->samples.line[i]);
        const struct sample s = sample_of(line);

        if (i > 0 && strcmp(s.prompt, last.prompt) != 0)
            buf_adds(b, "</div>\n");
        if (i == 0 || strcmp(s.prompt, last.prompt) != 0)
            put(b, "<div><h4 lang=\"%s\">%s</h4>\n", s.lang, s.prompt);
        put_sample(b, &r->eval, &s);
        free(before);
        before = line;
        last = s;
    }
    free(before);
    buf_adds(b, "</div>\n</div>\n");
}

/* Append facts from lines KEY, tab, VALUE: with `commands` those whose key is
 * "command", else those with other keys.  A line without a key continues the
 * command before it. */
static void
put_facts(struct buf *b, const struct lines *l, int commands)
{
    int on = 0;

    for (size_t i = 0; i < l->n; i++) {
        const char *line = l->line[i];
        const size_t n = strcspn(line, "\t");
        char *key = xasprintf("%.*s", (int)n, line);

        if (line[n] == '\t' && n > 0 && *line != ' ') {
            on = (strcmp(key, "command") == 0) == commands;
            if (on && commands)
                put(b, "%s\n", line + n + 1);
            else if (on)
                put(b, "<tr><th scope=\"row\">%s</th><td>%s</td></tr>\n", key,
                    line + n + 1);
        } else if (on && commands)
            put(b, "%s\n", line);
        free(key);
    }
}

static void
put_run(struct buf *b, const struct run *r)
{
    if (r->facts.n == 0)
        return;
    put_heading(b, "facts", "The run");
    buf_adds(b, "<table class=\"text\"><tbody>\n");
    put_facts(b, &r->facts, 0);
    buf_adds(b,
        "</tbody></table>\n<details><summary>Its commands</summary>\n"
        "<pre>");
    put_facts(b, &r->facts, 1);
    buf_adds(b, "</pre></details>\n");
}

static int
is_pruned(const struct run *r)
{
    size_t nrow = 0;

    for (int i = F_PRUNE; i <= F_SPARSE; i++)
        nrow += r->file[i].nrow;
    return nrow > 0;
}

void
page(struct buf *b, const struct run *r)
{
    const char *title = r->eval.nmodel > 0 && r->eval.base != NONE
        ? "What is left of the teacher"
        : "Report of a run";

    put(b,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
        "<meta charset=\"utf-8\"/>\n<meta name=\"viewport\" "
        "content=\"width=device-width, initial-scale=1\"/>\n"
        "<title>%s: %s</title>\n<style>\n",
        title, r->name);
    buf_adds(b, style);
    put(b, "</style>\n</head>\n<body>\n<main>\n<h1>%s <small>%s</small></h1>\n",
        title, r->name);
    for (size_t i = 0; i < r->nproblem; i++)
        put(b, "<p class=\"problem\">Left out: %s</p>\n", r->problem[i].msg);
    put_result(b, r);
    if (r->file[F_ABLE].nrow > 0) {
        put_heading(b, "able", "Abilities");
        put_run_table(b, r, T_ABLE);
    }
    if (r->nlog > 0) {
        put_heading(b, "training", "Training");
        put_run_table(b, r, T_RUNS);
        put_run_table(b, r, T_HELD_OUT);
        charts_training(b, r);
    }
    if (is_pruned(r)) {
        put_heading(b, "pruning", "Pruning");
        put_run_table(b, r, T_PRUNING);
        charts_pruning(b, r);
    }
    if (r->file[F_PLAN].nrow > 0) {
        put_heading(b, "plan", "Predictions");
        predictions_page(b, &r->file[F_PLAN]);
    }
    if (r->file[F_TOKENS].nrow > 0) {
        put_heading(b, "tokenizer", "Tokens");
        buf_adds(b, "<details><summary>The figures by source</summary>\n");
        put_run_table(b, r, T_TOKENS);
        buf_adds(b, "</details>\n");
    }
    if (r->file[F_COMM].nrow + r->file[F_SCALING].nrow > 0)
        put_heading(b, "ranks", "Ranks");
    put_run_table(b, r, T_SCALING);
    if (r->file[F_COMM].nrow > 0)
        charts_comm(b, &r->file[F_COMM]);
    put_samples(b, r);
    put_run(b, r);
    buf_adds(b, "</main>\n</body>\n</html>\n");
}
