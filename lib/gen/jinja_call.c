/* Calls of functions, macros and methods; see jinja_run.h. */
#include "gen/date.h"
#include "gen/jinja_run.h"

#include <string.h>

#define RANGE 100000 /* as jinja2's sandbox allows */

int
jrun_arguments(struct jrun *r, const struct jnode *list, struct jargs *a)
{
    a->n = 0;
    for (; list != NULL; list = list->next, a->n++) {
        if (a->n > 0 && a->name[a->n - 1].n > 0 && list->name.n == 0)
            return jrun_fail(r, "an argument by position follows a named one");
        a->name[a->n] = list->name;
        if (jrun_eval(r, list->a, &a->v[a->n]) < 0)
            return -1;
    }
    return 0;
}

/* Index in row->param of argument i of *a; -1: none. */
static int
parameter_of(const struct jname *row, const struct jargs *a, size_t i)
{
    if (a->name[i].n == 0)
        return i < JNAME_PARAMS && row->param[i] != NULL ? (int)i : -1;
    for (int k = 0; k < JNAME_PARAMS && row->param[k] != NULL; k++)
        if (jtext_is(a->name[i], row->param[k]))
            return k;
    return -1;
}

int
jrun_bind(struct jrun *r, const struct jname *row, const struct jargs *a,
    const struct jval *slot[JNAME_PARAMS])
{
    int given = 0;

    for (int k = 0; k < JNAME_PARAMS; k++)
        slot[k] = NULL;
    for (size_t i = 0; i < a->n; i++) {
        const int k = parameter_of(row, a, i);

        if (k < 0 || slot[k] != NULL)
            return jrun_fail(r, "%s is not known with these arguments",
                row->name);
        slot[k] = &a->v[i];
    }
    while (given < JNAME_PARAMS && slot[given] != NULL)
        given++;
    if (given < row->least)
        return jrun_fail(r, "%s lacks an argument", row->name);
    return 0;
}

static int
make_range(struct jrun *r, const struct jval *const *slot, struct jval *out)
{
    int64_t v[3] = { 0, 0, 1 }, n = 0;

    for (int k = 0; k < 3 && slot[k] != NULL; k++) {
        if (slot[k]->kind != J_INT || slot[k]->i < -INT32_MAX ||
            slot[k]->i > INT32_MAX)
            return jrun_fail(r, "range of %s, or too large",
                jval_kind(slot[k]));
        v[k] = slot[k]->i;
    }
    if (slot[1] == NULL) {
        v[1] = v[0];
        v[0] = 0;
    }
    if (v[2] == 0)
        return jrun_fail(r, "range by steps of 0");
    if (v[2] > 0 ? v[0] < v[1] : v[0] > v[1])
        n = (v[1] - v[0] + v[2] + (v[2] > 0 ? -1 : 1)) / v[2];
    if (n > RANGE)
        return jrun_fail(r,
            "a range of more than %d numbers takes too much "
            "time",
            RANGE);
    *out = (struct jval){ .kind = J_LIST };
    if (jrun_work(r, (size_t)n) < 0 || jrun_room(r, (size_t)n, &out->list) < 0)
        return -1;
    for (; (int64_t)out->list.n < n; out->list.n++)
        out->list.v[out->list.n] = jval_int(v[0] + v[2] * (int64_t)out->list.n);
    return 0;
}

/* An object or namespace with the named arguments as members. */
static int
make_object(struct jrun *r, enum jkind kind, const struct jargs *a,
    struct jval *out)
{
    *out = (struct jval){ .kind = kind };
    if ((out->dict = jrun_alloc(r, 1, sizeof *out->dict)) == NULL)
        return -1;
    for (size_t i = 0; i < a->n; i++) {
        if (a->name[i].n == 0)
            return jrun_fail(r, "an object is made of named values only");
        if (kind == J_SPACE && a->name[i].p[0] == '_')
            return jrun_fail(r, "a member that begins with _ is set");
        if (jdict_set(r, out->dict, a->name[i], a->v[i]) < 0)
            return -1;
    }
    return 0;
}

static int
format_time(struct jrun *r, const struct jval *v, struct jval *out)
{
    const size_t from = jrun_begin(r);
    struct buf b = { 0 };
    struct err e;
    int k;

    if (v->kind != J_TEXT)
        return jrun_fail(r, "strftime_now takes a text");
    if (r->now == NULL)
        return err_set(r->e, EX_USAGE,
            "asks for the date: give it by --date, such as --date 2026-01-31");
    /* strftime takes as long for two bytes, such as %c, as for much text */
    if (jrun_work(r, 100 + 50 * v->t.n) < 0)
        return -1;
    if ((k = date_format(r->now, v->t.p, v->t.n, &b, &e)) < 0)
        jrun_fail(r, "%s", e.msg);
    else
        k = jrun_add(r, b.p, b.n);
    buf_release(&b);
    return k < 0 ? -1 : jrun_end(r, from, out);
}

static int
call_function(struct jrun *r, int id, const struct jargs *a, struct jval *out)
{
    const struct jval *slot[JNAME_PARAMS];

    if (id == JC_NAMESPACE || id == JC_DICT)
        return make_object(r, id == JC_DICT ? J_DICT : J_SPACE, a, out);
    if (jrun_bind(r, &jinja_functions[id], a, slot) < 0)
        return -1;
    if (id == JC_RANGE)
        return make_range(r, slot, out);
    if (id == JC_STRFTIME)
        return format_time(r, slot[0], out);
    if (slot[0]->kind != J_TEXT)
        return jrun_fail(r, "the template refuses the messages");
    return err_set(r->e, EX_INPUT, "%.*s",
        (int)(slot[0]->t.n < 400 ? slot[0]->t.n : 400), slot[0]->t.p);
}

/* Set the variables of a macro's parameters to arguments or defaults. */
static int
macro_parameters(struct jrun *r, const struct jnode *macro,
    const struct jargs *a)
{
    size_t i = 0, used = 0;

    for (const struct jnode *p = macro->a; p != NULL; p = p->next, i++) {
        struct jval v = { .kind = J_UNDEFINED, .t = p->name };
        size_t k = 0;

        while (k < a->n &&
            (a->name[k].n == 0 ? k != i || p->op
                               : !jtext_equal(a->name[k], p->name)))
            k++;
        used += k < a->n;
        if (k < a->n)
            v = a->v[k];
        else if (p->a != NULL && jrun_eval(r, p->a, &v) < 0)
            return -1;
        if (jrun_set(r, p->name, v) < 0)
            return -1;
    }
    if (used < a->n)
        return jrun_fail(r, "the macro \"%.*s\" has no such parameters",
            jtext_shown(macro->name), macro->name.p);
    return 0;
}

/* Run a macro, or the block of a call statement, and set *out to its text.  The
 * macro sees the variables of *up. */
static int
run_macro(struct jrun *r, const struct jnode *macro, const struct jframe *up,
    const struct jargs *a, struct jval *out)
{
    const size_t from = jrun_begin(r), before = jrun_scope_enter(r);
    struct jframe *site = r->frame, frame = { up, r->nvar, r->nvar };
    int k;

    site->to = r->nvar;
    r->frame = &frame;
    k = macro_parameters(r, macro, a) < 0 ? -1 : jrun_body(r, macro->c);
    r->frame = site;
    jrun_scope_leave(r, before);
    return k < 0 ? -1 : jrun_end(r, from, out);
}

int
jrun_call_block(struct jrun *r, const struct jnode *n)
{
    struct jcaller *c = jrun_alloc(r, 1, sizeof *c);
    struct jargs a;
    struct jval f;

    if (c == NULL || jrun_eval(r, n->b->a, &f) < 0 ||
        jrun_arguments(r, n->b->b, &a) < 0)
        return -1;
    r->line = n->line;
    if (f.kind != J_MACRO)
        return jrun_fail(r, "a block is given to %s", jval_kind(&f));
    if (a.n == JNODE_ARGS)
        return jrun_fail(r, "a call with a block has more than %d arguments",
            JNODE_ARGS - 1);
    *c = (struct jcaller){ n, r->frame };
    a.name[a.n] = (struct jtext){ "caller", 6 };
    a.v[a.n++] = (struct jval){ .kind = J_CALLER, .caller = c };
    if (run_macro(r, f.macro, &r->root, &a, &f) < 0)
        return -1;
    c->frame = NULL;
    return jrun_print(r, &f);
}

static int
call_method(struct jrun *r, const struct jnode *n, const struct jval *v,
    const struct jargs *a, struct jval *out)
{
    const struct jval *slot[JNAME_PARAMS];
    const struct jname *row = jname_find(jinja_methods, n->a->name);

    if (jrun_work(r, 8) < 0)
        return -1;
    if (v->kind == J_UNDEFINED)
        return jrun_member(r, v, n->a->name, out);
    if (v->kind == J_TEXT && row != NULL && row->id == JM_FORMAT) {
        if (jtext_format(r, v, a, out) < 0)
            return -1;
        out->safe = v->safe;
        return 0;
    }
    if (row == NULL || jname_of_dict(row) != (v->kind == J_DICT) ||
        (v->kind != J_TEXT && v->kind != J_DICT))
        return jrun_fail(r, "the method \"%.*s\" of %s is not known here",
            jtext_shown(n->a->name), n->a->name.p, jval_kind(v));
    if (jrun_bind(r, row, a, slot) < 0)
        return -1;
    return jrun_method(r, row, v, slot, out);
}

/* If the member `name` of *f is a macro or a function, set *f to that member
 * and return 1; 0: `name` may be a method; -1. */
static int
member_function(struct jrun *r, struct jtext name, struct jval *f)
{
    const struct jval *m = NULL;

    if ((f->kind == J_SPACE || f->kind == J_DICT) &&
        jdict_get(r, f->dict, name, &m) < 0)
        return -1;
    if (m == NULL ||
        (m->kind != J_MACRO && m->kind != J_CALLER && m->kind != J_FUNCTION))
        return 0;
    *f = *m;
    return 1;
}

int
jrun_call(struct jrun *r, const struct jnode *n, struct jval *out)
{
    struct jargs a;
    struct jval f;
    int is = 1;

    if (jrun_eval(r, n->a->kind == JN_MEMBER ? n->a->a : n->a, &f) < 0 ||
        jrun_arguments(r, n->b, &a) < 0)
        return -1;
    r->line = n->line;
    if (n->a->kind == JN_MEMBER &&
        (is = member_function(r, n->a->name, &f)) < 0)
        return -1;
    if (!is)
        return call_method(r, n, &f, &a, out);
    if (f.kind == J_FUNCTION)
        return call_function(r, (int)f.i, &a, out);
    if (f.kind == J_MACRO)
        return run_macro(r, f.macro, &r->root, &a, out);
    if (f.kind == J_CALLER && f.caller->frame != NULL)
        return run_macro(r, f.caller->node, f.caller->frame, &a, out);
    if (f.kind == J_UNDEFINED)
        return jrun_fail(r, "the function \"%.*s\" is not known here",
            jtext_shown(f.t), f.t.p);
    return jrun_fail(r, "%s is called", jval_kind(&f));
}
