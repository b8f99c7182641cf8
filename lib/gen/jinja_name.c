/* Variables and the members of objects; see jinja_run.h. */
#include "gen/jinja_run.h"

#include <string.h>

/* Functions of jinja2 that retort lacks: a template that names one is refused,
 * even if the name is only tested by `is defined`. */
static const char *const foreign[] = { "lipsum", "cycler", "joiner", "self" };

static int
known_function(struct jrun *r, struct jtext name, struct jval *out)
{
    const struct jname *f = jname_find(jinja_functions, name);

    if (f != NULL) {
        *out = (struct jval){ .kind = J_FUNCTION, .i = f->id };
        return 0;
    }
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (jtext_is(name, foreign[i]))
            return jrun_fail(r, "the function \"%s\" is not known here",
                foreign[i]);
    *out = (struct jval){ .kind = J_UNDEFINED, .t = name };
    return 0;
}

int
jrun_get(struct jrun *r, struct jtext name, struct jval *out)
{
    const struct jval *v;

    for (const struct jframe *f = r->frame; f != NULL; f = f->up) {
        const size_t to = f == r->frame ? r->nvar : f->to;

        if (jrun_names(r, to - f->from, name) < 0)
            return -1;
        for (size_t i = to; i > f->from; i--)
            if (jtext_equal(r->var[i - 1].name, name)) {
                *out = r->var[i - 1].v;
                return 0;
            }
    }
    if (jdict_get(r, &r->given, name, &v) < 0)
        return -1;
    if (v == NULL)
        return known_function(r, name, out);
    *out = *v;
    return 0;
}

int
jrun_set(struct jrun *r, struct jtext name, struct jval v)
{
    if (jrun_names(r, r->nvar - r->scope, name) < 0)
        return -1;
    for (size_t i = r->scope; i < r->nvar; i++)
        if (jtext_equal(r->var[i].name, name)) {
            r->var[i].v = v;
            return 0;
        }
    r->var = xgrow(r->var, r->nvar, &r->cap, sizeof *r->var);
    r->var[r->nvar++] = (struct jvariable){ name, v };
    return 0;
}

size_t
jrun_scope_enter(struct jrun *r)
{
    const size_t before = r->scope;

    if (before == 0)
        r->root.to = r->nvar;
    r->scope = r->nvar;
    return before;
}

void
jrun_scope_leave(struct jrun *r, size_t before)
{
    r->nvar = r->scope;
    r->scope = before;
}

/* Index of `name` in d; d->n: it is not there. */
static int
dict_find(struct jrun *r, const struct jdict *d, struct jtext name, size_t *i)
{
    if (jrun_names(r, d->n, name) < 0)
        return -1;
    for (*i = 0; *i < d->n; (*i)++)
        if (jtext_equal(d->name[*i], name))
            break;
    return 0;
}

int
jdict_get(struct jrun *r, const struct jdict *d, struct jtext name,
    const struct jval **m)
{
    size_t i;

    *m = NULL;
    if (dict_find(r, d, name, &i) < 0)
        return -1;
    if (i < d->n)
        *m = &d->v[i];
    return 0;
}

int
jdict_set(struct jrun *r, struct jdict *d, struct jtext name, struct jval v)
{
    size_t i;

    if (dict_find(r, d, name, &i) < 0)
        return -1;
    if (i == d->cap) {
        const size_t cap = 2 * d->cap + 4;
        struct jtext *names = jrun_alloc(r, cap, sizeof *names);
        struct jval *values = jrun_alloc(r, cap, sizeof *values);

        if (names == NULL || values == NULL)
            return -1;
        if (d->n > 0) {
            memcpy(names, d->name, d->n * sizeof *names);
            memcpy(values, d->v, d->n * sizeof *values);
        }
        *d = (struct jdict){ names, values, d->n, cap };
    }
    d->name[i] = name;
    d->v[i] = v;
    d->n += i == d->n;
    return 0;
}
