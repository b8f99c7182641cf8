/* The models that are judged. */
#include "evalppl.h"
#include "base_file.h"
#include "base/mem.h"
#include "cli/die.h"
#include "tok/tok.h"

#include <stdlib.h>
#include <string.h>

static size_t
model_bytes(const struct model *m)
{
    size_t n = weight_bytes(&m->embed) + weight_bytes(&m->norm);

    if (!m->c.tied)
        n += weight_bytes(&m->head);
    for (size_t i = 0; i < m->c.L; i++)
        for (size_t t = 0; t < W_N; t++)
            n += weight_bytes(&m->block[i].w[t]);
    return n;
}

struct judged *
models_add(struct eval *e, const char *path, char *label)
{
    e->j = xreallocarray(e->j, e->nj + 1, sizeof(*e->j));
    e->j[e->nj] = (struct judged){ .path = xstrdup(path), .label = label };
    return &e->j[e->nj++];
}

/* A file of logits has one of each id. */
static void
check_vocabulary(const struct eval *e, const struct judged *j)
{
    if (e->in != NULL && j->m.c.V != e->in->V)
        die(EX_INPUT, "%s: has a vocabulary of %zu, %s one of %zu", j->path,
            j->m.c.V, e->in->path, e->in->V);
}

void
models_sizes(const struct eval *e, const struct judged *q,
    const struct judged *p)
{
    const struct judged *a = q->foreign ? q : p, *b = q->foreign ? p : q;

    if (q->m.c.V != p->m.c.V && a->foreign)
        die(EX_INPUT,
            "%s has %zu ids and another tokenizer than %s, %s has %zu ids: "
            "judge models of one tokenizer",
            a->label, a->m.c.V, e->input, b->label, b->m.c.V);
}

size_t
models_ids(const struct eval *e)
{
    size_t V = SIZE_MAX;

    for (size_t i = 0; i < e->nj; i++)
        if (!e->j[i].recorded && e->j[i].m.c.V < V)
            V = e->j[i].m.c.V;
    return V;
}

size_t
models_open(struct eval *e, const char *spec)
{
    const char *eq = strchr(spec, '=');
    struct judged *j;
    struct err err;

    if (eq == spec || (eq != NULL && memchr(spec, '/', (size_t)(eq - spec))))
        eq = NULL;
    j = models_add(e, eq != NULL ? eq + 1 : spec,
        eq != NULL ? xasprintf("%.*s", (int)(eq - spec), spec) : xstrdup(spec));
    if (model_open(&j->m, j->path, &err) < 0 ||
        model_check_finite(&j->m, &err) < 0)
        die_err(&err);
    check_vocabulary(e, j);
    j->params = model_params(&j->m);
    j->bytes = model_bytes(&j->m);
    return e->nj - 1;
}

size_t
models_find(struct eval *e, const char *spec)
{
    for (size_t i = 0; i < e->nj; i++)
        if (strcmp(e->j[i].label, spec) == 0 || strcmp(e->j[i].path, spec) == 0)
            return i;
    return models_open(e, spec);
}

void
models_check(const struct eval *e)
{
    for (size_t i = 0; i < e->nj; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(e->j[i].label, e->j[k].label) == 0)
                die(EX_USAGE,
                    "two models are called %s: give them labels, -m "
                    "label=model",
                    e->j[i].label);
}

void
models_split(struct eval *e)
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
        models_split(also);
    } else {
        free(also->j);
        free(also);
    }
}

void
models_close(struct eval *e)
{
    for (size_t i = 0; i < e->nj; i++) {
        struct judged *j = &e->j[i];

        fwd_free(j->f);
        model_close(&j->m);
        free(j->h);
        free(j->pair);
        free(j->path);
        free(j->label);
    }
    free(e->j);
}
