/* The files of a folder: see run.h */
#include "run.h"
#include "base/dir.h"
#include "base/io.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Add the message *e about a file of the run. */
static void
add_problem(struct run *r, const struct err *e)
{
    r->problem = xgrow_pow2(r->problem, r->nproblem, sizeof *r->problem);
    r->problem[r->nproblem++] = *e;
}

/* Read a file of one table, whose text stays in *l.  Returns 1; 0: no such
 * file; -1 and *e.  `text` and `numbers` are the columns that it must have
 * (table_need). */
static int
read_table(struct lines *l, struct table *t, const char *path, const char *text,
    const char *numbers, struct err *e)
{
    size_t at = 0;
    int r = lines_read(l, path, e);

    if (r <= 0)
        return r;
    lines_whole(l);
    if (table_parse(t, l, &at, e) == 0 && table_need(t, text, 0, e) == 0 &&
        table_need(t, numbers, 1, e) == 0)
        return 1;
    table_release(t);
    lines_release(l);
    return err_prefix(e, "%s", path);
}

/* Read the named columns of a log, NAN for a column that is missing; the
 * columns `need` must be there.  Returns 1; 0: no such file, or no row in it;
 * -1 and *e. */
static int
read_log_columns(const char *path, const char *const *name, size_t ncol,
    const char *need, double **v, size_t *n, struct err *e)
{
    struct lines l;
    struct table t;
    const int r = read_table(&l, &t, path, "", need, e);

    *n = r > 0 ? t.nrow : 0;
    for (size_t c = 0; *n > 0 && c < ncol; c++) {
        const size_t from = table_column(&t, name[c]);

        v[c] = xreallocarray(NULL, *n, sizeof **v);
        for (size_t i = 0; i < *n; i++)
            v[c][i] = table_real(&t, i, from);
    }
    if (r > 0) {
        table_release(&t);
        lines_release(&l);
    }
    return r < 0 ? -1 : *n > 0;
}

int
log_read(struct log *g, const char *dir, const char *name, struct err *e)
{
    static const char *const column[NLOG] = { "step", "ce", "tokens", "scored",
        "kl", "squarehead", "norm", "seconds", "reward", "loss", "" };
    static const char *const held[NHELD] = { "step", "loss", "ce", "kl" };
    char *path = xasprintf("%s/metrics.tsv", dir);
    int got;

    *g = (struct log){ .n = 0 };
    got = read_log_columns(path, column, NLOG, "step loss", g->v, &g->n, e);
    free(path);
    if (got <= 0)
        return got;
    for (size_t i = 0; i < g->n; i++)
        g->v[SPEED][i] =
            (g->v[TOKENS][i] - (i > 0 ? g->v[TOKENS][i - 1] : 0.0)) /
            g->v[SECONDS][i];
    g->name = xstrdup(name);
    path = xasprintf("%s/held-out.tsv", dir);
    got = read_log_columns(path, held, NHELD, "step loss ce kl", g->held,
        &g->nheld, e);
    free(path);
    return got < 0 ? 2 : 1;
}

void
log_release(struct log *g)
{
    for (int c = 0; c < NLOG; c++)
        free(g->v[c]);
    for (int c = 0; c < NHELD; c++)
        free(g->held[c]);
    free(g->name);
    *g = (struct log){ .n = 0 };
}

/* Add the logs of the folder of one run. */
static void
read_run_log(struct run *r, const char *dir, const char *name)
{
    struct log g;
    struct err e;
    const int got = log_read(&g, dir, name, &e);

    if (got < 0 || got == 2)
        add_problem(r, &e);
    if (got <= 0)
        return;
    r->log = xgrow_pow2(r->log, r->nlog, sizeof *r->log);
    r->log[r->nlog++] = g;
}

/* Read the logs of the folder and of the folders in it. */
static int
read_logs(struct run *r, const char *dir, struct err *e)
{
    struct dirent **found;
    const int n = scandir(dir, &found, NULL, alphasort);

    if (n < 0)
        return err_set(e, EX_SYS, "%s:", dir);
    read_run_log(r, dir, r->name);
    for (int i = 0; i < n; i++) {
        char *path = xasprintf("%s/%s", dir, found[i]->d_name);

        if (*found[i]->d_name != '.')
            read_run_log(r, path, found[i]->d_name);
        free(path);
        free(found[i]);
    }
    free(found);
    return 0;
}

static void
read_lines_file(struct run *r, struct lines *l, const char *dir,
    const char *name)
{
    char *path = xasprintf("%s/%s", dir, name);
    struct err e;

    if (lines_read(l, path, &e) < 0)
        add_problem(r, &e);
    free(path);
}

/* Read the files that hold one table each; files of a profile may be in the
 * folder `profile`.  Returns the number of rows of all tables. */
static size_t
read_tables(struct run *r, const char *dir)
{
    static const struct {
        const char *name;           /* of the file */
        const char *text, *numbers; /* columns that it must have */
    } want[NFILE] = {
        [F_PRUNE] = { "prune.tsv", "kind kept",
            "blocks width parameters ppl kl score" },
        [F_SEARCH] = { "search.tsv", "kind", "tokens params objective" },
        [F_BLOCKS] = { "blocks.tsv", "", "block influence attention mlp" },
        [F_CHANNELS] = { "channels.tsv", "input class",
            "block channel max mean_sq" },
        [F_SPARSE] = { "sparse.tsv", "layer", "block error" },
        [F_TOKENS] = { "tokens.tsv", "source", "tokens tokens/word" },
        [F_COMM] = { "comm-log2.tsv", "op", "from count bytes ms" },
        [F_SCALING] = { "scaling.tsv", "mode",
            "ranks threads rows tokens/s sd efficiency" },
        [F_PLAN] = { "plan.tsv", "", "step" },
        [F_ABLE] = { "abilities.tsv", "ability model", "items share" },
    };
    size_t nrow = 0;
    struct err e;

    for (int i = 0; i < NFILE; i++) {
        char *path = xasprintf("%s/%s", dir, want[i].name);

        if (!io_exists(path) && (i == F_BLOCKS || i == F_CHANNELS)) {
            free(path);
            path = xasprintf("%s/profile/%s", dir, want[i].name);
        }
        if (read_table(&r->text[i], &r->file[i], path, want[i].text,
                want[i].numbers, &e) < 0)
            add_problem(r, &e);
        nrow += r->file[i].nrow;
        free(path);
    }
    return nrow;
}

/* Sort the logs in the order of the models, and give them the models' colours;
 * logs of no model come last. */
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

/* Check that all samples are lines of four fields; else add a problem and drop
 * them. */
static void
check_samples(struct run *r, const char *dir)
{
    struct err e;

    for (size_t i = 0; i < r->samples.n; i++) {
        size_t tabs = 0;

        for (const char *p = r->samples.line[i]; *p != '\0'; p++)
            tabs += *p == '\t';
        if (tabs != 3) {
            err_set(&e, EX_INPUT,
                "%s/samples.txt: line %zu: is not language, model, text and "
                "prompt",
                dir, i + 1);
            add_problem(r, &e);
            lines_release(&r->samples);
        }
    }
}

char *
run_folder(const char *dir, const char *below)
{
    return io_exists_in(dir, DIR_FULL "/settings")
        ? xasprintf("%s/" DIR_FULL "%s", dir, below)
        : xstrdup(dir);
}

int
run_read(struct run *r, const char *dir, struct err *e)
{
    char *real = realpath(dir, NULL), *path = xasprintf("%s/eval.tsv", dir);
    const char *slash = real != NULL ? strrchr(real, '/') : NULL;
    struct err bad;
    size_t nrow;

    memset(r, 0, sizeof *r);
    r->name = xstrdup(slash != NULL && slash[1] != '\0' ? slash + 1 : dir);
    free(real);
    if (eval_read(&r->eval, path, &bad) < 0)
        add_problem(r, &bad);
    free(path);
    if (read_logs(r, dir, e) < 0)
        return -1;
    order_logs(r);
    nrow = read_tables(r, dir);
    read_lines_file(r, &r->samples, dir, "samples.txt");
    check_samples(r, dir);
    read_lines_file(r, &r->facts, dir, "facts.txt");
    if (r->eval.nmodel + r->nlog + nrow + r->samples.n + r->facts.n > 0)
        return 0;
    if (r->nproblem > 0) {
        *e = r->problem[0];
        return -1;
    }
    return err_set(e, EX_INPUT,
        "%s: holds no file of a run, such as metrics.tsv or eval.tsv: see "
        "report(1)",
        dir);
}

void
run_release(struct run *r)
{
    for (size_t i = 0; i < r->nlog; i++)
        log_release(&r->log[i]);
    free(r->log);
    eval_release(&r->eval);
    for (int i = 0; i < NFILE; i++) {
        table_release(&r->file[i]);
        lines_release(&r->text[i]);
    }
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

size_t
log_best(const struct log *g)
{
    const double *loss = g->held[HELD_LOSS];
    size_t best = 0;

    for (size_t i = 1; i < g->nheld; i++)
        if (loss[i] < loss[best] || isnan(loss[best]))
            best = i;
    return best;
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
