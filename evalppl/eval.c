/* The models of one run: their vocabularies, and those of one tokenizer. */
#include "evalppl.h"
#include "base_file.h"
#include "base/mem.h"
#include "cli/die.h"
#include "tok/tok.h"

#include <stdlib.h>
#include <string.h>

/* A file of logits has one of each id. */
static void
check_vocabulary(const struct eval *e, const struct judged *j)
{
    if (e->in != NULL && j->m.c.V != e->in->V)
        die(EX_INPUT, "%s: has a vocabulary of %zu, %s one of %zu", j->path,
            j->m.c.V, e->in->path, e->in->V);
}

size_t
judged_open(struct eval *e, const char *spec)
{
    struct err err;

    if (models_open(&e->j, &e->nj, spec, &err) < 0)
        die_err(&err);
    check_vocabulary(e, &e->j[e->nj - 1]);
    return e->nj - 1;
}

size_t
judged_find(struct eval *e, const char *spec)
{
    for (size_t i = 0; i < e->nj; i++)
        if (strcmp(e->j[i].label, spec) == 0 || strcmp(e->j[i].path, spec) == 0)
            return i;
    return judged_open(e, spec);
}

void
judged_sizes(const struct eval *e, const struct judged *q,
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
judged_ids(const struct eval *e)
{
    size_t V = SIZE_MAX;

    for (size_t i = 0; i < e->nj; i++)
        if (!e->j[i].recorded && e->j[i].m.c.V < V)
            V = e->j[i].m.c.V;
    return V;
}

void
judged_split(struct eval *e)
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
        judged_split(also);
    } else {
        free(also->j);
        free(also);
    }
}
