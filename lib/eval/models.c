/* Models that are evaluated together; see models.h. */
#include "eval/models.h"
#include "base/mem.h"
#include "base/text.h"
#include "model/files/adapter_file.h"

#include <stdlib.h>
#include <string.h>

static size_t
model_bytes(const struct model *m)
{
    size_t n = 0;

    for (enum outer_tensor k = OUTER_EMBED; k < OUTER_N; k++)
        if (family_has_outer(&m->c, k))
            n += weight_bytes(model_outer(m, k));
    for (size_t i = 0; i < m->c.L; i++)
        for (size_t t = 0; t < W_N; t++)
            n += weight_bytes(&m->block[i].w[t]);
    return n;
}

struct eval_model *
models_add(struct eval_model **j, size_t *n, const char *path, char *label)
{
    *j = xreallocarray(*j, *n + 1, sizeof(**j));
    (*j)[*n] = (struct eval_model){ .path = xstrdup(path), .label = label };
    return &(*j)[(*n)++];
}

int
models_open(struct eval_model **all, size_t *n, const char *spec, struct err *e)
{
    const char *eq = strchr(spec, '=');
    struct eval_model *j;

    if (eq == spec || (eq != NULL && memchr(spec, '/', (size_t)(eq - spec))))
        eq = NULL;
    j = models_add(all, n, eq != NULL ? eq + 1 : spec,
        eq != NULL ? xasprintf("%.*s", (int)(eq - spec), spec) : xstrdup(spec));
    if (model_open_checked(&j->m, j->path, NULL, e) < 0)
        return -1;
    j->params = model_params(&j->m);
    j->bytes = model_bytes(&j->m);
    return 0;
}

int
models_adapt(struct eval_model *j, size_t n, const char *path, struct err *e)
{
    for (size_t i = 0; path != NULL && i < n; i++) {
        if (model_adapt(&j[i].m, path, e) < 0)
            return -1;
        j[i].params += adapter_params(j[i].m.adapter);
    }
    return 0;
}

int
models_check(const struct eval_model *j, size_t n, struct err *e)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(j[i].label, j[k].label) == 0)
                return err_set(e, EX_USAGE,
                    "two models are called %s: give them labels, -m "
                    "label=model",
                    j[i].label);
    return 0;
}

void
models_hash(struct buf *b, const struct eval_model *j, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!j[i].recorded) {
            char model[33];

            model_hash(&j[i].m, model);
            buf_adds(b, model);
        }
}

int
models_label_width(const struct eval_model *j, size_t n, size_t most)
{
    size_t w = 5;

    for (size_t i = 0; i < n; i++) {
        const size_t k = strlen(SHOWN(j[i].label));

        w = k > w ? k : w;
    }
    return (int)(w > most ? most : w);
}

void
models_close(struct eval_model *all, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct eval_model *j = &all[i];

        fwd_free(j->f);
        model_close(&j->m);
        free(j->h);
        free(j->pair);
        free(j->path);
        free(j->label);
    }
    free(all);
}
