/* Opening the models of a run, and their tokenizers; see eval.h. */
#include "eval.h"
#include "base_file.h"
#include "vocab.h"
#include "base/mem.h"
#include "cli/die.h"
#include "tok/tok.h"

#include <stdlib.h>
#include <string.h>

/* If the base is a file, dies unless the model has as many ids. */
static void
check_vocabulary(const struct eval *e, const struct eval_model *j)
{
    if (e->kld.in != NULL && j->m.c.V != e->kld.in->V)
        die(EX_INPUT, "%s: has a vocabulary of %zu, %s one of %zu", j->path,
            j->m.c.V, e->kld.in->path, e->kld.in->V);
}

size_t
eval_open_model(struct eval *e, const char *spec)
{
    struct err err;

    if (models_open(&e->j, &e->nj, spec, &err) < 0)
        die_err(&err);
    check_vocabulary(e, &e->j[e->nj - 1]);
    return e->nj - 1;
}

void
eval_add_base(struct eval *e, const char *path, size_t V)
{
    struct eval_model *j = models_add(&e->j, &e->nj, path, xstrdup(path));

    j->recorded = 1;
    j->m.c.V = V;
    e->base = e->nj - 1;
}

size_t
eval_model_named(struct eval *e, const char *spec)
{
    for (size_t i = 0; i < e->nj; i++)
        if (strcmp(e->j[i].label, spec) == 0 || strcmp(e->j[i].path, spec) == 0)
            return i;
    return eval_open_model(e, spec);
}

void
eval_check_sizes(const struct eval *e, const struct eval_model *q,
    const struct eval_model *p)
{
    const struct eval_model *a = q->foreign ? q : p, *b = q->foreign ? p : q;

    if (q->m.c.V != p->m.c.V && a->foreign)
        die(EX_INPUT,
            "%s has %zu ids and another tokenizer than %s, %s has %zu ids: "
            "judge models of one tokenizer",
            a->label, a->m.c.V, e->input, b->label, b->m.c.V);
}

size_t
eval_fewest_ids(const struct eval *e)
{
    size_t V = SIZE_MAX;

    for (size_t i = 0; i < e->nj; i++)
        if (!e->j[i].recorded && e->j[i].m.c.V < V)
            V = e->j[i].m.c.V;
    return V;
}

void
eval_split(struct eval *e)
{
    struct tokenizer *t;
    struct eval *also;
    size_t n = 1;
    struct err err;
    char hash[33];

    if ((t = tok_open(e->j[0].path, &err)) == NULL)
        die_err(&err);
    tok_hash(t, hash);
    tok_free(t);
    also = xmalloc(sizeof(*also));
    *also = *e;
    also->j = xcalloc(e->nj, sizeof(*also->j));
    also->nj = 0;
    for (size_t i = 1; i < e->nj; i++) {
        if (tok_matches(e->j[i].path, hash, &err) == 0) {
            also->j[also->nj++] = e->j[i];
            continue;
        }
        e->j[n++] = e->j[i];
    }
    e->nj = n;
    if (also->nj > 0) {
        e->also = also;
        eval_split(also);
    } else {
        free(also->j);
        free(also);
    }
}

const char *
source_name(const struct eval *e, size_t source)
{
    return source == NONE ? "(all)" : e->info.source[source];
}

void
eval_release(struct eval *e)
{
    if (e->also != NULL)
        eval_release(e->also);
    free(e->also);
    models_close(e->j, e->nj);
    stream_info_release(&e->info);
    vocab_free(e->vocab);
    units_release(&e->units);
}
