/* Statements at work, and rendering; see jinja_run.h. */
#include "gen/jinja_run.h"

#include <stdlib.h>
#include <string.h>

/* Results of statements besides 0 and -1. */
enum { RUN_BREAK = 1, RUN_CONTINUE };

int
jrun_fail(struct jrun *r, const char *fmt, ...)
{
    char why[400];
    va_list ap;

    va_start(ap, fmt);
    err_format(why, sizeof why, fmt, ap);
    va_end(ap);
    return err_set(r->e, EX_INPUT, "line %d: %s", r->line, why);
}

int
jrun_work(struct jrun *r, size_t n)
{
    r->work += n < JRUN_WORK ? n : JRUN_WORK;
    return r->work <= JRUN_WORK ? 0 : jrun_fail(r, "takes too much time");
}

void *
jrun_alloc(struct jrun *r, size_t n, size_t size)
{
    void *p = jmem_alloc(&r->mem, n, size);

    if (p == NULL)
        jrun_fail(r, "needs too much memory");
    return p;
}

int
jrun_text(struct jrun *r, struct buf *b, struct jval *out)
{
    char *p = jrun_alloc(r, b->n + 1, 1);

    if (p != NULL && b->n > 0)
        memcpy(p, b->p, b->n);
    *out = jval_text(p, b->n);
    buf_release(b);
    return p == NULL || jrun_work(r, out->t.n / 256) < 0 ? -1 : 0;
}

struct jval
jrun_get(const struct jrun *r, struct jtext name)
{
    const struct jname *f;

    for (size_t i = r->nvar; i > r->inner; i--)
        if (jtext_equal(r->var[i - 1].name, name))
            return r->var[i - 1].v;
    for (size_t i = r->outer; i > 0; i--)
        if (jtext_equal(r->var[i - 1].name, name))
            return r->var[i - 1].v;
    f = jname_find(jinja_functions, name);
    if (f != NULL)
        return (struct jval){ .kind = J_FUNCTION, .i = f->id };
    return (struct jval){ .kind = J_UNDEFINED, .t = name };
}

int
jrun_set(struct jrun *r, struct jtext name, struct jval v)
{
    for (size_t i = r->scope; i < r->nvar; i++)
        if (jtext_equal(r->var[i].name, name)) {
            r->var[i].v = v;
            return 0;
        }
    r->var = xgrow(r->var, r->nvar, &r->cap, sizeof *r->var);
    r->var[r->nvar++] = (struct jvariable){ name, v };
    return 0;
}

/* Enter a scope; the result is for scope_leave. */
static size_t
scope_enter(struct jrun *r)
{
    const size_t before = r->scope;

    if (before == 0)
        r->top = r->nvar;
    r->scope = r->nvar;
    return before;
}

static void
scope_leave(struct jrun *r, size_t before)
{
    r->nvar = r->scope;
    r->scope = before;
}

static int
list_of_names(struct jrun *r, const struct jdict *d, struct jlist *out)
{
    out->n = d->n;
    if ((out->v = jrun_alloc(r, d->n + 1, sizeof *out->v)) == NULL)
        return -1;
    for (size_t i = 0; i < d->n; i++)
        out->v[i] = jval_text(d->name[i].p, d->name[i].n);
    return jrun_work(r, d->n);
}

static int
list_of_characters(struct jrun *r, struct jtext t, struct jlist *out)
{
    out->v = jrun_alloc(r, jtext_length(t) + 1, sizeof *out->v);
    if (out->v == NULL)
        return -1;
    while (t.n > 0) {
        const size_t n = jtext_at(t, 1);

        out->v[out->n++] = jval_text(t.p, n);
        t.p += n;
        t.n -= n;
    }
    return jrun_work(r, out->n);
}

int
jrun_elements(struct jrun *r, const struct jval *v, struct jlist *out)
{
    *out = (struct jlist){ NULL, 0 };
    switch (v->kind) {
    case J_UNDEFINED: return 0;
    case J_LIST:
    case J_TUPLE: *out = v->list; return jrun_work(r, v->list.n);
    case J_DICT: return list_of_names(r, v->dict, out);
    case J_TEXT: return list_of_characters(r, v->t, out);
    default: return jrun_fail(r, "%s has no elements", jval_kind(v));
    }
}

/* Assign *v to the targets of a loop or a set. */
static int
set_targets(struct jrun *r, const struct jnode *target, const struct jval *v)
{
    struct jlist all = { NULL, 0 };
    size_t i = 0;

    if (target->kind == JN_MEMBER) {
        const struct jval space = jrun_get(r, target->a->name);

        if (space.kind != J_SPACE)
            return jrun_fail(r, "a member of %s is set", jval_kind(&space));
        if (jdict_set(&r->mem, space.dict, target->name, *v) < 0)
            return jrun_fail(r, "needs too much memory");
        return jrun_work(r, space.dict->n);
    }
    if (target->next == NULL)
        return jrun_set(r, target->name, *v);
    if (jrun_elements(r, v, &all) < 0)
        return -1;
    for (; target != NULL && i < all.n; target = target->next, i++) {
        if (target->kind == JN_MEMBER)
            return jrun_fail(r, "members are set one at a time here");
        jrun_set(r, target->name, all.v[i]);
    }
    if (target != NULL || i < all.n)
        return jrun_fail(r, "%zu values are for another number of variables",
            all.n);
    return 0;
}

/* Keep the list's elements for which the loop's condition is true. */
static int
filter_loop(struct jrun *r, const struct jnode *n, struct jlist *all)
{
    struct jval *kept = jrun_alloc(r, all->n + 1, sizeof *kept), is;
    size_t count = 0;
    int k = kept == NULL ? -1 : 0;

    for (size_t i = 0; i < all->n && k == 0; i++) {
        const size_t before = scope_enter(r);

        k = set_targets(r, n->a, &all->v[i]) < 0 ||
                jrun_eval(r, n->filter, &is) < 0
            ? -1
            : 0;
        if (k == 0 && jval_true(&is))
            kept[count++] = all->v[i];
        scope_leave(r, before);
    }
    *all = (struct jlist){ kept, count };
    return k;
}

static int
run_for(struct jrun *r, const struct jnode *n)
{
    /* in r->mem, as a variable may outlive the loop */
    struct jloop *loop = jrun_alloc(r, 1, sizeof *loop);
    struct jval v;
    int k = 0;

    if (loop == NULL || jrun_eval(r, n->b, &v) < 0 ||
        jrun_elements(r, &v, &loop->list) < 0 ||
        (n->filter != NULL && filter_loop(r, n, &loop->list) < 0))
        return -1;
    for (; loop->at < loop->list.n && k != -1 && k != RUN_BREAK; loop->at++) {
        const size_t before = scope_enter(r);

        jrun_set(r, (struct jtext){ "loop", 4 },
            (struct jval){ .kind = J_LOOP, .loop = loop });
        k = set_targets(r, n->a, &loop->list.v[loop->at]);
        if (k == 0)
            k = jrun_body(r, n->c);
        scope_leave(r, before);
    }
    if (k == 0 && loop->list.n == 0)
        return jrun_body(r, n->d);
    return k == -1 ? -1 : 0;
}

static int
run_if(struct jrun *r, const struct jnode *n)
{
    struct jval v;

    for (;;) {
        if (jrun_eval(r, n->a, &v) < 0)
            return -1;
        if (jval_true(&v))
            return jrun_body(r, n->b);
        if (n->c == NULL || n->c->kind != JN_IF || n->c->next != NULL)
            return jrun_body(r, n->c);
        n = n->c;
    }
}

static int
run_print(struct jrun *r, const struct jnode *n)
{
    struct jval v;

    if (jrun_eval(r, n->a, &v) < 0)
        return -1;
    r->line = n->line;
    if (jval_print(&v, r->out) < 0)
        return jrun_fail(r, "%s is printed: tojson can", jval_kind(&v));
    return 0;
}

/* Run a block in a scope of its own, and print its text to *to. */
static int
run_apart(struct jrun *r, const struct jnode *body, struct buf *to)
{
    struct buf *out = r->out;
    const size_t before = scope_enter(r);
    int k;

    r->out = to;
    k = jrun_body(r, body);
    r->out = out;
    scope_leave(r, before);
    return k;
}

static int
run_set(struct jrun *r, const struct jnode *n)
{
    struct buf text = { 0 };
    struct jval v;

    if (n->b != NULL) {
        if (jrun_eval(r, n->b, &v) < 0)
            return -1;
        r->line = n->line;
        return set_targets(r, n->a, &v);
    }
    if (run_apart(r, n->c, &text) < 0) {
        buf_release(&text);
        return -1;
    }
    return jrun_text(r, &text, &v) < 0 ? -1 : set_targets(r, n->a, &v);
}

static int
run_generation(struct jrun *r, const struct jnode *n)
{
    struct jinja_out *o = r->result;
    const size_t from = r->out->n;

    if (run_apart(r, n->c, r->out) < 0)
        return -1;
    if (r->out->n > from) {
        o->span = xgrow_pow2(o->span, o->nspan, sizeof *o->span);
        o->span[o->nspan++] = (struct jinja_span){ from, r->out->n };
    }
    return 0;
}

static int
run_statement(struct jrun *r, const struct jnode *n)
{
    switch (n->kind) {
    case JN_DATA: buf_add(r->out, n->name.p, n->name.n); return 0;
    case JN_PRINT: return run_print(r, n);
    case JN_IF: return run_if(r, n);
    case JN_FOR: return run_for(r, n);
    case JN_SET: return run_set(r, n);
    case JN_MACRO:
        return jrun_set(r, n->name,
            (struct jval){ .kind = J_MACRO, .macro = n });
    case JN_GENERATION: return run_generation(r, n);
    case JN_BREAK: return RUN_BREAK;
    default: return RUN_CONTINUE;
    }
}

int
jrun_body(struct jrun *r, const struct jnode *list)
{
    int k = 0;

    if (++r->depth > JRUN_DEPTH)
        return jrun_fail(r, "nests too deep");
    for (; list != NULL && k == 0; list = list->next) {
        r->line = list->line;
        k = jrun_work(r, 1) < 0 ? -1 : run_statement(r, list);
        if (k != -1 && r->out->n > JRUN_OUTPUT)
            k = jrun_fail(r, "prints too much");
    }
    r->depth--;
    return k;
}

int
jinja_render(const struct jinja *t, const json_t *variables,
    const struct tm *now, struct jinja_out *out, struct err *e)
{
    struct jrun r = { .mem.most = JRUN_MEMORY,
        .out = &out->text,
        .result = out,
        .now = now,
        .e = e };
    const char *name;
    json_t *j;
    struct jval v;
    int k = 0;

    *out = (struct jinja_out){ 0 };
    json_object_foreach((json_t *)(uintptr_t)variables, name, j)
    {
        if (k == 0 && (k = jval_of_json(&r.mem, j, &v)) < 0)
            jrun_fail(&r, "the messages are too large");
        jrun_set(&r, (struct jtext){ name, strlen(name) }, v);
    }
    buf_reserve(&out->text, 1);
    if (k == 0)
        k = jrun_body(&r, t->body);
    free(r.var);
    jmem_release(&r.mem);
    return k < 0 ? -1 : 0;
}

void
jinja_out_release(struct jinja_out *out)
{
    buf_release(&out->text);
    free(out->span);
    *out = (struct jinja_out){ 0 };
}
