/* Statements at work, and rendering; see jinja_run.h. */
#include "gen/jinja_run.h"

#include <stdlib.h>
#include <string.h>

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
    r->work += n < JINJA_WORK ? n : JINJA_WORK;
    return r->work <= JINJA_WORK ? 0 : jrun_fail(r, "takes too much time");
}

int
jrun_bytes(struct jrun *r, size_t n)
{
    return jrun_work(r, 1 + n / 16);
}

int
jrun_names(struct jrun *r, size_t n, struct jtext name)
{
    return jrun_work(r, 1 + n * (1 + name.n / 64) / 4);
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
jrun_room(struct jrun *r, size_t n, struct jlist *l)
{
    *l = (struct jlist){ jrun_alloc(r, n + 1, sizeof *l->v), 0 };
    return l->v == NULL ? -1 : 0;
}

static int
list_of_names(struct jrun *r, const struct jdict *d, struct jlist *out)
{
    if (jrun_work(r, d->n) < 0 || jrun_room(r, d->n, out) < 0)
        return -1;
    for (; out->n < d->n; out->n++)
        out->v[out->n] = jval_text(d->name[out->n].p, d->name[out->n].n);
    return 0;
}

static int
list_of_characters(struct jrun *r, struct jtext t, struct jlist *out)
{
    const size_t n = jtext_length(t);

    if (jrun_work(r, n) < 0 || jrun_room(r, n, out) < 0)
        return -1;
    while (t.n > 0) {
        const size_t len = jtext_at(t, 1);

        out->v[out->n++] = jval_text(t.p, len);
        t.p += len;
        t.n -= len;
    }
    return 0;
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
        struct jval space;

        if (jrun_get(r, target->a->name, &space) < 0)
            return -1;
        if (space.kind != J_SPACE)
            return jrun_fail(r, "a member of %s is set", jval_kind(&space));
        if (target->name.p[0] == '_')
            return jrun_fail(r, "a member that begins with _ is set");
        return jdict_set(r, space.dict, target->name, *v);
    }
    if (target->next == NULL)
        return jrun_set(r, target->name, *v);
    if (jrun_elements(r, v, &all) < 0)
        return -1;
    for (; target != NULL && i < all.n; target = target->next, i++) {
        if (target->kind == JN_MEMBER)
            return jrun_fail(r, "members are set one at a time here");
        if (jrun_set(r, target->name, all.v[i]) < 0)
            return -1;
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
    struct jlist kept;
    struct jval is;
    int k = jrun_room(r, all->n, &kept);

    for (size_t i = 0; i < all->n && k == 0; i++) {
        const size_t before = jrun_scope_enter(r);

        k = set_targets(r, n->a, &all->v[i]) < 0 ||
                jrun_eval(r, n->filter, &is) < 0
            ? -1
            : 0;
        if (k == 0 && jval_true(&is))
            kept.v[kept.n++] = all->v[i];
        jrun_scope_leave(r, before);
    }
    *all = kept;
    return k;
}

/* Run a list of statements in a scope of its own. */
static int
run_scope(struct jrun *r, const struct jnode *list)
{
    const size_t before = jrun_scope_enter(r);
    const int k = jrun_body(r, list);

    jrun_scope_leave(r, before);
    return k;
}

/* Run a loop once, for its element number loop->at.  Returns as jrun_body
 * does. */
static int
run_turn(struct jrun *r, const struct jnode *n, const struct jloop *loop)
{
    const size_t before = jrun_scope_enter(r);
    int k = -1;

    if (jrun_set(r, (struct jtext){ "loop", 4 },
            (struct jval){ .kind = J_LOOP, .loop = loop }) == 0 &&
        set_targets(r, n->a, &loop->list.v[loop->at]) == 0)
        k = jrun_body(r, n->c);
    jrun_scope_leave(r, before);
    return k;
}

static int
run_for(struct jrun *r, const struct jnode *n)
{
    /* in r->mem, as a variable may outlive the loop */
    struct jloop *loop = jrun_alloc(r, 1, sizeof *loop);
    int k = 0, whole = 0; /* whole: 1: a turn ran to its end */
    struct jval v;

    if (loop == NULL || jrun_eval(r, n->b, &v) < 0 ||
        jrun_elements(r, &v, &loop->list) < 0 ||
        (n->filter != NULL && filter_loop(r, n, &loop->list) < 0))
        return -1;
    for (size_t i = 0; i < loop->list.n && k != JRUN_BREAK; i++) {
        loop->at = i;
        if ((k = run_turn(r, n, loop)) == -1)
            return -1;
        whole |= k == 0;
    }
    /* jinja2 runs the else branch also if break or continue ended each turn */
    return whole ? 0 : run_scope(r, n->d);
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
    return jrun_print(r, &v);
}

/* Run a block in a scope of its own and set *out to its text, through its
 * filters if it has some.  Returns as jrun_body does: a jump out of the block
 * drops the text. */
static int
run_apart(struct jrun *r, const struct jnode *n, struct jval *out)
{
    const size_t from = jrun_begin(r);
    const int k = run_scope(r, n->c);

    if (k == -1 || jrun_end(r, from, out) < 0)
        return -1;
    if (k != 0 || n->filter == NULL)
        return k;
    r->block = *out;
    return jrun_eval(r, n->filter, out);
}

static int
run_set(struct jrun *r, const struct jnode *n)
{
    struct jval v;
    int k;

    if (n->b == NULL && (k = run_apart(r, n, &v)) != 0)
        return k;
    if (n->b != NULL && jrun_eval(r, n->b, &v) < 0)
        return -1;
    r->line = n->line;
    return set_targets(r, n->a, &v);
}

static int
run_filter(struct jrun *r, const struct jnode *n)
{
    struct jval v;
    const int k = run_apart(r, n, &v);

    return k != 0 ? k : jrun_print(r, &v);
}

/* A with block evaluates all its values before it sets a variable. */
static int
run_with(struct jrun *r, const struct jnode *n)
{
    struct jlist all;
    size_t before, i = 0;
    int k = 0;

    for (const struct jnode *a = n->a; a != NULL; a = a->next)
        i++;
    if (jrun_room(r, i, &all) < 0)
        return -1;
    for (const struct jnode *a = n->a; a != NULL; a = a->next)
        if (jrun_eval(r, a->a, &all.v[all.n++]) < 0)
            return -1;
    before = jrun_scope_enter(r);
    i = 0;
    for (const struct jnode *a = n->a; a != NULL && k == 0; a = a->next)
        k = jrun_set(r, a->name, all.v[i++]);
    if (k == 0)
        k = jrun_body(r, n->c);
    jrun_scope_leave(r, before);
    return k;
}

static int
run_generation(struct jrun *r, const struct jnode *n)
{
    struct jinja_out *o = r->result;
    const size_t from = r->out->n;

    if (run_scope(r, n->c) < 0)
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
    case JN_DATA: return jrun_add(r, n->name.p, n->name.n);
    case JN_PRINT: return run_print(r, n);
    case JN_IF: return run_if(r, n);
    case JN_FOR: return run_for(r, n);
    case JN_SET: return run_set(r, n);
    case JN_WITH: return run_with(r, n);
    case JN_FILTERED: return run_filter(r, n);
    case JN_CALLED: return jrun_call_block(r, n);
    case JN_MACRO:
        return jrun_set(r, n->name,
            (struct jval){ .kind = J_MACRO, .macro = n });
    case JN_GENERATION: return run_generation(r, n);
    case JN_BREAK: return JRUN_BREAK;
    default: return JRUN_CONTINUE;
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
    }
    r->depth--;
    return k;
}

int
jinja_render(const struct jinja *t, const json_t *variables,
    const struct tm *now, struct jinja_out *out, struct err *e)
{
    struct jrun r = { .mem.most = JINJA_MEMORY,
        .out = &out->text,
        .result = out,
        .now = now,
        .e = e };
    struct jval v;
    int k = -1;

    *out = (struct jinja_out){ 0 };
    buf_reserve(&out->text, 1);
    r.frame = &r.top;
    if (jval_of_json(&r.mem, variables, &v) < 0) {
        jrun_fail(&r, "the messages are too large");
    } else {
        r.given = *v.dict;
        k = jrun_body(&r, t->body);
    }
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
