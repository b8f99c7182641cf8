/* A base that is no model but a file of llama.cpp's; and such a file made. */
#include "evalppl.h"
#include "base_file.h"
#include "vocab.h"
#include "base/mem.h"
#include "cli/die.h"
#include "tok/tok.h"

#include <stdlib.h>
#include <string.h>

void
recorded_open(struct eval *e, const char *path)
{
    struct judged *j;
    struct err err;

    e->in = xmalloc(sizeof(*e->in));
    if (base_in_open(e->in, path, &err) < 0)
        die_err(&err);
    e->j = xreallocarray(e->j, e->nj + 1, sizeof(*e->j));
    j = &e->j[e->nj];
    memset(j, 0, sizeof(*j));
    j->recorded = 1;
    j->path = xstrdup(path);
    j->label = xstrdup(path);
    j->m.c.V = e->in->V;
    e->base = e->nj++;
}

void
recorded_text(struct eval *e)
{
    const size_t model = e->base == 0 ? 1 : 0;
    struct err err;
    struct tokenizer *t = tok_open(e->j[model].path, &err);

    if (t == NULL)
        die(EX_INPUT,
            "%s; without a tokenizer it is not known whether windows begin "
            "with BOS",
            err.msg);
    e->info.bos = tok_template_bos(t);
    e->info.nsource = 1;
    e->info.source = xmalloc(sizeof(*e->info.source));
    e->info.source[0] = "text";
    e->vocab = vocab_new(t, e->in->V);
    tok_free(t);
}

void
recorded_begin(struct eval *e, const uint32_t *ids, size_t n)
{
    const struct judged *j = &e->j[e->base != NONE ? e->base : 0];
    struct err err;

    e->out = xmalloc(sizeof(*e->out));
    if (base_out_begin(e->out, e->out_path, e->c, j->m.c.V, ids, n / e->c,
            &err) < 0)
        die_err(&err);
}

void
recorded_end(struct eval *e)
{
    struct err err;

    if (io_out_commit(&e->out->o, &err) < 0)
        die_err(&err);
}

void
recorded_close(struct eval *e)
{
    if (e->in != NULL)
        base_in_close(e->in);
    free(e->in);
    free(e->out);
    whole_free(e->whole);
}
