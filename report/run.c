/* The files of a folder: see run.h */
#include "run.h"
#include "base/io.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Keep what *e says of a file of the run. */
static void
problem(struct run *r, const struct err *e)
{
    r->problem = xgrow_pow2(r->problem, r->nproblem, sizeof *r->problem);
    r->problem[r->nproblem++] = *e;
}

/* A file of one table, whose text stays in *l. */
static int
one_table(struct lines *l, struct table *t, const char *path, const char *text,
    const char *numbers, struct err *e)
{
    size_t at = 0;
    int r = lines_read(l, path, e);

    if (r <= 0)
        return r;
    if (table_parse(t, l, &at, e) == 0 && table_need(t, text, 0, e) == 0 &&
        table_need(t, numbers, 1, e) == 0)
        return 1;
    table_release(t);
    lines_release(l);
    return err_prefix(e, "%s", path);
}

static void
read_log(struct run *r, const char *path, const char *name)
{
    static const char *const column[NLOG] = { "step", "tokens", "scored", "ce",
        "kl", "squarehead", "norm", "seconds", "" };
    struct lines l;
    struct table t = { 0 };
    struct log *g;
    struct err e;
    size_t at = 0;
    int got = lines_read(&l, path, &e);

    if (got > 0) {
        /* A step that is being written, or that a kill has torn. */
        l.n -= l.n > 1 && l.torn;
        if (table_parse(&t, &l, &at, &e) < 0 ||
            table_need(&t, "step", 1, &e) < 0 ||
            table_need(&t, "ce", 1, &e) < 0)
            got = err_prefix(&e, "%s", path);
    }
    if (got < 0)
        problem(r, &e);
    if (got > 0 && t.nrow > 0) {
        r->log = xgrow_pow2(r->log, r->nlog, sizeof *r->log);
        g = &r->log[r->nlog++];
        *g = (struct log){ .name = xstrdup(name), .n = t.nrow };
        for (int c = 0; c < NLOG; c++) {
            const size_t from = table_column(&t, column[c]);

            g->v[c] = xreallocarray(NULL, g->n, sizeof **g->v);
            for (size_t i = 0; i < g->n; i++)
                g->v[c][i] = table_real(&t, i, from);
        }
        for (size_t i = 0; i < g->n; i++)
            g->v[SPEED][i] =
                (g->v[TOKENS][i] - (i > 0 ? g->v[TOKENS][i - 1] : 0.0)) /
                g->v[SECONDS][i];
    }
    if (got != 0)
        lines_release(&l);
    table_release(&t);
}

/* metrics.tsv of the folder and of those in it. */
static int
read_logs(struct run *r, const char *dir, struct err *e)
{
    struct dirent **found;
    const int n = scandir(dir, &found, NULL, alphasort);
    char *path = xasprintf("%s/metrics.tsv", dir);

    if (n < 0) {
        free(path);
        return err_set(e, EX_SYS, "%s:", dir);
    }
    read_log(r, path, r->name);
    for (int i = 0; i < n; i++) {
        free(path);
        path = xasprintf("%s/%s/metrics.tsv", dir, found[i]->d_name);
        if (*found[i]->d_name != '.')
            read_log(r, path, found[i]->d_name);
        free(found[i]);
    }
    free(found);
    free(path);
    return 0;
}

static void
read_file(struct run *r, struct lines *l, const char *dir, const char *name)
{
    char *path = xasprintf("%s/%s", dir, name);
    struct err e;

    if (lines_read(l, path, &e) < 0)
        problem(r, &e);
    free(path);
}

static void
read_table(struct run *r, struct lines *l, struct table *t, const char *dir,
    const char *name, const char *text, const char *numbers)
{
    char *path = xasprintf("%s/%s", dir, name);
    struct err e;

    if (one_table(l, t, path, text, numbers, &e) < 0)
        problem(r, &e);
    free(path);
}

/* Logs in the order of the models, with the colours of these; others behind
 * them. */
static void
order_logs(struct run *r)
{
    const struct eval *v = &r->eval;
    size_t put = 0;

    for (size_t m = 0; m < v->nmodel; m++)
        for (size_t i = put; i < r->nlog; i++)
            if (strcmp(r->log[i].name, v->model[m]) == 0) {
                const struct log g = r->log[i];

                memmove(&r->log[put + 1], &r->log[put], (i - put) * sizeof g);
                r->log[put] = g;
                r->log[put++].colour = m;
                break;
            }
    for (size_t i = put; i < r->nlog; i++)
        r->log[i].colour = v->nmodel + i - put;
}

/* Lines of three fields. */
static void
check_samples(struct run *r, const char *dir)
{
    struct err e;

    for (size_t i = 0; i < r->samples.n; i++) {
        const char *tab = strchr(r->samples.line[i], '\t');

        if (tab == NULL || strchr(tab + 1, '\t') == NULL) {
            err_set(&e, EX_INPUT,
                "%s/samples.txt: line %zu: not language, model, text", dir,
                i + 1);
            problem(r, &e);
            lines_release(&r->samples);
        }
    }
}

int
run_read(struct run *r, const char *dir, struct err *e)
{
    char *real = realpath(dir, NULL), *path = xasprintf("%s/eval.tsv", dir);
    const char *slash = real != NULL ? strrchr(real, '/') : NULL;
    struct err bad;

    memset(r, 0, sizeof *r);
    r->name = xstrdup(slash != NULL && slash[1] != '\0' ? slash + 1 : dir);
    free(real);
    if (eval_read(&r->eval, path, &bad) < 0)
        problem(r, &bad);
    free(path);
    if (read_logs(r, dir, e) < 0)
        return -1;
    order_logs(r);
    read_table(r, &r->prune_text, &r->prune, dir, "prune.tsv", "kind kept",
        "blocks width parameters ppl kl score");
    read_table(r, &r->tokens_text, &r->tokens, dir, "tokens.tsv", "source",
        "tokens tokens/word");
    read_file(r, &r->samples, dir, "samples.txt");
    check_samples(r, dir);
    read_file(r, &r->facts, dir, "facts.txt");
    if (r->eval.nmodel + r->nlog + r->prune.nrow + r->tokens.nrow +
            r->samples.n + r->facts.n >
        0)
        return 0;
    if (r->nproblem > 0) {
        *e = r->problem[0];
        return -1;
    }
    return err_set(e, EX_INPUT,
        "%s: holds no file of a run: metrics.tsv, eval.tsv, prune.tsv, "
        "tokens.tsv, samples.txt, facts.txt",
        dir);
}

void
run_release(struct run *r)
{
    for (size_t i = 0; i < r->nlog; i++) {
        for (int c = 0; c < NLOG; c++)
            free(r->log[i].v[c]);
        free(r->log[i].name);
    }
    free(r->log);
    eval_release(&r->eval);
    table_release(&r->prune);
    table_release(&r->tokens);
    lines_release(&r->prune_text);
    lines_release(&r->tokens_text);
    lines_release(&r->samples);
    lines_release(&r->facts);
    free(r->problem);
    free(r->name);
}

double
log_last(const struct log *g, int column)
{
    const size_t n = g->n / 10 > 0 ? g->n / 10 : 1;
    double sum = 0.0;
    size_t some = 0;

    for (size_t i = g->n - n; i < g->n; i++)
        if (!isnan(g->v[column][i])) {
            sum += g->v[column][i];
            some++;
        }
    return some > 0 ? sum / (double)some : NAN;
}

double
log_speed(const struct log *g)
{
    double tokens = 0.0, seconds = 0.0;

    for (size_t i = 0; i < g->n; i++) {
        const double s = g->v[SECONDS][i];
        const double n = g->v[TOKENS][i] - (i > 0 ? g->v[TOKENS][i - 1] : 0);

        if (s > 0.0 && n > 0.0) {
            tokens += n;
            seconds += s;
        }
    }
    return seconds > 0.0 ? tokens / seconds : NAN;
}

int
log_has(const struct log *g, int column)
{
    for (size_t i = 0; i < g->n; i++)
        if (fabs(g->v[column][i]) > 0.0)
            return 1;
    return 0;
}

int
log_alike(const struct log *a, const struct log *b)
{
    for (size_t i = 0; i < a->n && a->n == b->n; i++)
        if (!(a->v[STEP][i] == b->v[STEP][i] &&
                a->v[TOKENS][i] == b->v[TOKENS][i] &&
                a->v[SCORED][i] == b->v[SCORED][i]))
            return 0;
    return a->n == b->n;
}
