/* Views of the targets in a message: see targets.h. */
#include "format/targets.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const parts[][TARGETS_PARTS] = {
    [TARGETS_FINAL] = { "teacher.final" },
    [TARGETS_TOP] = { "teacher.top.ids", "teacher.top.logp", "teacher.lse" },
    [TARGETS_SHARED] = { "teacher.top.ids", "teacher.top.logp", "teacher.rest",
        "teacher.kind" },
    [TARGETS_DRAWS] = { "teacher.sample.ids", "teacher.sample.count",
        "teacher.sample.plogp" },
};

size_t
targets_width(const struct st *s, enum targets_kind k)
{
    const struct st_tensor *t =
        k == TARGETS_NONE ? NULL : st_find(s, parts[k][0]);

    for (size_t i = 1; t != NULL && i < TARGETS_PARTS; i++)
        if (parts[k][i] != NULL && st_find(s, parts[k][i]) == NULL)
            return 0;
    return t != NULL && t->ndim == 3 ? t->shape[2] : 0;
}

const struct st_tensor *
targets_hidden(const struct st *s, size_t block)
{
    char name[40];

    snprintf(name, sizeof(name), "teacher.hidden.%zu", block);
    return st_find(s, name);
}

static struct targets_tensor
view_tensor(const struct st_tensor *t)
{
    return (struct targets_tensor){ t->data, t->dtype,
        t->ndim == 3 ? t->shape[2] : 1 };
}

/* Set *x to view the tensor of states t, after checking its shape: the rules of
 * messages do not check that. */
static int
states(struct targets_tensor *x, const struct st_tensor *t, const char *what,
    const size_t *bt, size_t width, struct err *e)
{
    if (t == NULL)
        return err_set(e, EX_INPUT, "no %s, which earlier batches had", what);
    if (t->ndim != 3 || t->shape[0] != bt[0] || t->shape[1] != bt[1] ||
        t->shape[2] != width || (t->dtype != DT_BF16 && t->dtype != DT_F32))
        return err_set(e, EX_INPUT, "%s is not [%zu,%zu,%zu] of BF16 or F32",
            t->name, bt[0], bt[1], width);
    *x = view_tensor(t);
    return 0;
}

int
targets_read(struct targets *x, const struct st *s, struct err *e)
{
    const size_t *bt = st_find(s, "ids")->shape;
    const char *const *name = parts[x->kind];

    x->T = bt[1];
    x->row = 0;
    if (x->kind == TARGETS_FINAL) {
        if (states(&x->part[TARGETS_STATE], st_find(s, name[0]), name[0], bt,
                x->width, e) < 0)
            return -1;
    } else if (x->kind != TARGETS_NONE) {
        if (targets_width(s, x->kind) != x->width)
            return err_set(e, EX_INPUT,
                "not the %zu %s a token that earlier batches had", x->width,
                name[0]);
        for (size_t i = 0; i < TARGETS_PARTS && name[i] != NULL; i++)
            x->part[i] = view_tensor(st_find(s, name[i]));
    }
    if (x->nblock > 0 && st_find(s, "teacher.kind") != NULL)
        x->aligned = view_tensor(st_find(s, "teacher.kind"));
    if (x->hidden == NULL && x->nblock > 0)
        x->hidden = xcalloc(x->nblock, sizeof(*x->hidden));
    for (size_t l = 0; l < x->nblock; l++) {
        if (states(&x->hidden[l], targets_hidden(s, x->block[l]),
                "teacher.hidden", bt, x->depth, e) < 0)
            return -1;
        if (x->hidden[l].dtype != x->hidden[0].dtype)
            return err_set(e, EX_INPUT, "hidden states of two types");
    }
    return 0;
}

void
targets_release(struct targets *x)
{
    free(x->hidden);
    x->hidden = NULL;
}

struct targets
targets_rows(const struct targets *x, size_t b0)
{
    struct targets y = *x;

    y.row += b0;
    return y;
}

int
targets_aligned(const struct targets *x, size_t i)
{
    return x->aligned.data == NULL || *targets_at(x, &x->aligned, i) != 0;
}

const unsigned char *
targets_at(const struct targets *x, const struct targets_tensor *t, size_t i)
{
    size_t bytes = 0;

    (void)dtype_bytes(t->dtype, t->width, &bytes);
    return t->data + (x->row * x->T + i) * bytes;
}
