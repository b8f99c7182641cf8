/* The file of evalppl(1): see eval.h */
#include "eval.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const all = "(all)";

/* Find the index of a name, or add it; NONE: there is no room. */
static size_t
name_index(const char **name, size_t *n, size_t max, const char *what)
{
    for (size_t i = *n; i-- > 0;) /* mostly the name is the last one */
        if (strcmp(name[i], what) == 0)
            return i;
    if (*n == max)
        return NONE;
    name[*n] = what;
    return (*n)++;
}

static size_t
eval_row(const struct eval *v, size_t model, size_t source)
{
    return model < v->nmodel ? v->row[model][source + 1] : NONE;
}

double
eval_real(const struct eval *v, size_t model, size_t source, const char *column)
{
    return table_real(&v->t, eval_row(v, model, source),
        table_column(&v->t, column));
}

/* Set v->base to the model whose KL is 0 without an error, and v->from to the
 * model whose `regained` is 0. */
static void
find_roles(struct eval *v)
{
    v->base = v->from = NONE;
    for (size_t m = v->nmodel; m-- > 0;) {
        if (eval_real(v, m, NONE, "kl") == 0.0 &&
            isnan(eval_real(v, m, NONE, "kl_se")))
            v->base = m;
        else if (fabs(eval_real(v, m, NONE, "regained")) == 0.0)
            v->from = m;
    }
}

/* Set the row of each model and source. */
static int
index_rows(struct eval *v, struct err *e)
{
    const size_t model = table_column(&v->t, "model");
    const size_t source = table_column(&v->t, "source");

    memset(v->row, 0xff, sizeof v->row);
    for (size_t i = 0; i < v->t.nrow; i++) {
        const char *name = table_cell(&v->t, i, source);
        const int whole = strcmp(name, all) == 0;
        const size_t s =
            whole ? NONE : name_index(v->source, &v->nsource, SOURCES, name);
        const size_t m = name_index(v->model, &v->nmodel, MODELS,
            table_cell(&v->t, i, model));

        if (m == NONE || (s == NONE && !whole))
            v->left_out++;
        else if (v->row[m][s + 1] != NONE)
            return err_set(e, EX_INPUT, "line %zu: %s on %s stands there twice",
                v->t.line + i + 1, v->model[m], name);
        else
            v->row[m][s + 1] = i;
    }
    for (size_t m = 0; m < v->nmodel; m++)
        if (eval_row(v, m, NONE) == NONE)
            return err_set(e, EX_INPUT, "%s has no line for %s", v->model[m],
                all);
    return v->nmodel > 0 ? 0 : err_set(e, EX_INPUT, "names no model");
}

static int
eval_parse(struct eval *v, struct err *e)
{
    size_t at = 0;

    v->protocol = "";
    while (at < v->l.n && *v->l.line[at] == '#')
        if (strncmp(v->l.line[at++], "# ", 2) == 0)
            v->protocol = v->l.line[at - 1] + 2;
    if (v->l.torn)
        return err_set(e, EX_INPUT, "line %zu: it is cut short", v->l.n);
    if (table_parse(&v->t, &v->l, &at, e) < 0 ||
        table_need(&v->t, "model source", 0, e) < 0 ||
        table_need(&v->t, "parameters documents tokens ppl", 1, e) < 0 ||
        index_rows(v, e) < 0)
        return -1;
    find_roles(v);
    at++;
    if (at >= v->l.n)
        return 0;
    if (table_parse(&v->pair, &v->l, &at, e) < 0)
        return -1;
    /* without --compare the next table, if any, is not that of differences */
    if (table_column(&v->pair, "speedup") != NONE ||
        table_column(&v->pair, "document") != NONE ||
        table_column(&v->pair, "statistic") != NONE) {
        table_release(&v->pair);
        return 0;
    }
    if (table_need(&v->pair, "model other quantity", 0, e) < 0)
        return -1;
    if (v->pair.nrow > 4 * MODELS * MODELS * (SOURCES + 1))
        return err_set(e, EX_INPUT,
            "line %zu: more differences than of %d models", v->pair.line,
            MODELS);
    return table_need(&v->pair, "difference se", 1, e);
}

int
eval_read(struct eval *v, const char *path, struct err *e)
{
    int r = lines_read(&v->l, path, e);

    if (r <= 0 || eval_parse(v, e) == 0)
        return r;
    eval_release(v);
    return err_prefix(e, "%s", path);
}

void
eval_release(struct eval *v)
{
    table_release(&v->t);
    table_release(&v->pair);
    lines_release(&v->l);
    memset(v, 0, sizeof *v);
}

int
eval_pair(const struct eval *v, size_t i, size_t k, const char *quantity,
    double *difference, double *se)
{
    const struct table *t = &v->pair;
    const size_t model = table_column(t, "model");
    const size_t other = table_column(t, "other");
    const size_t source = table_column(t, "source"); /* older files have none */

    for (size_t r = 0; r < t->nrow; r++) {
        const char *a = table_cell(t, r, model), *b = table_cell(t, r, other);
        const int back =
            strcmp(a, v->model[k]) == 0 && strcmp(b, v->model[i]) == 0;

        if ((!back &&
                (strcmp(a, v->model[i]) != 0 || strcmp(b, v->model[k]) != 0)) ||
            strcmp(table_cell(t, r, table_column(t, "quantity")), quantity) !=
                0 ||
            (source != NONE && strcmp(table_cell(t, r, source), all) != 0))
            continue;
        *difference = table_real(t, r, table_column(t, "difference"));
        *se = table_real(t, r, table_column(t, "se"));
        if (back)
            *difference = -*difference;
        return isfinite(*difference) && *se > 0.0;
    }
    return 0;
}

int
eval_trained(const struct eval *v, size_t model)
{
    return model != v->base && model != v->from;
}
