/* Values of expressions; see jinja_run.h. */
#include "gen/jinja_run.h"

#include <math.h>
#include <string.h>

#define LONGEST 80 /* bytes of a name in an error, at most */

static int
shown_length(struct jtext t)
{
    return (int)(t.n < LONGEST ? t.n : LONGEST);
}

/* Member `name` of the variable `loop`.  1: *out is set, or stays undefined
 * (previtem, nextitem); 0: `loop` has no such member. */
static int
loop_member(const struct jloop *l, struct jtext name, struct jval *out)
{
    const int64_t at = (int64_t)l->at, n = (int64_t)l->list.n;
    const struct {
        const char *name;
        struct jval v;
    } known[] = { { "index", jval_int(at + 1) }, { "index0", jval_int(at) },
        { "first", jval_bool(at == 0) }, { "last", jval_bool(at == n - 1) },
        { "length", jval_int(n) }, { "revindex", jval_int(n - at) },
        { "revindex0", jval_int(n - at - 1) } };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (jtext_is(name, known[i].name)) {
            *out = known[i].v;
            return 1;
        }
    if (jtext_is(name, "previtem") && at > 0) {
        *out = l->list.v[at - 1];
        return 1;
    }
    if (jtext_is(name, "nextitem") && at < n - 1) {
        *out = l->list.v[at + 1];
        return 1;
    }
    return jtext_is(name, "previtem") || jtext_is(name, "nextitem");
}

int
jrun_member(struct jrun *r, const struct jval *v, struct jtext name,
    struct jval *out)
{
    const struct jval *m;

    *out = (struct jval){ .kind = J_UNDEFINED, .t = name };
    switch (v->kind) {
    case J_UNDEFINED:
        return jrun_fail(r, "\"%.*s\" is not defined, so it has no \"%.*s\"",
            shown_length(v->t), v->t.p, shown_length(name), name.p);
    case J_DICT:
    case J_SPACE:
        m = jdict_get(v->dict, name);
        if (m != NULL)
            *out = *m;
        return jrun_work(r, v->dict->n);
    case J_LOOP:
        if (!loop_member(v->loop, name, out))
            return jrun_fail(r, "loop.%.*s is not known here",
                shown_length(name), name.p);
        return 0;
    default: return 0;
    }
}

/* Element i of a list or character i of a text, from the end if i < 0; not
 * defined beyond the ends. */
static int
nth_element(struct jrun *r, const struct jval *v, int64_t i, struct jval *out)
{
    const int is_text = v->kind == J_TEXT;
    const int64_t n = (int64_t)(is_text ? jtext_length(v->t) : v->list.n);
    size_t at;

    if (jrun_work(r, is_text ? v->t.n / 16 : 0) < 0)
        return -1;
    i += i < 0 ? n : 0;
    if (i < 0 || i >= n) {
        *out = (struct jval){ .kind = J_UNDEFINED, .t = { "[...]", 5 } };
        return 0;
    }
    if (!is_text) {
        *out = v->list.v[i];
        return 0;
    }
    at = jtext_at(v->t, (size_t)i);
    *out = jval_text(v->t.p + at,
        jtext_at((struct jtext){ v->t.p + at, v->t.n - at }, 1));
    return 0;
}

static int
eval_item(struct jrun *r, const struct jnode *n, struct jval *out)
{
    struct jval v, i;

    if (jrun_eval(r, n->a, &v) < 0 || jrun_eval(r, n->b, &i) < 0)
        return -1;
    if (i.kind == J_TEXT)
        return jrun_member(r, &v, i.t, out);
    if ((v.kind == J_LIST || v.kind == J_TUPLE || v.kind == J_TEXT) &&
        (i.kind == J_INT || i.kind == J_BOOL))
        return nth_element(r, &v, i.i, out);
    if (v.kind == J_UNDEFINED)
        return jrun_member(r, &v, (struct jtext){ "[...]", 5 }, out);
    *out = (struct jval){ .kind = J_UNDEFINED, .t = { "[...]", 5 } };
    return 0;
}

/* A bound of a slice; absent: the value if it is left out. */
static int
slice_bound(struct jrun *r, const struct jnode *n, int64_t absent, int64_t *out)
{
    struct jval v;

    *out = absent;
    if (n == NULL)
        return 0;
    if (jrun_eval(r, n, &v) < 0)
        return -1;
    if (v.kind == J_NONE)
        return 0;
    if (v.kind != J_INT && v.kind != J_BOOL)
        return jrun_fail(r, "a slice from or to %s", jval_kind(&v));
    *out = v.i;
    return 0;
}

static int64_t
clamped(int64_t i, int64_t n, int64_t lo, int64_t hi)
{
    if (i < 0)
        i = i < -n ? lo : i + n;
    return i < lo ? lo : i > hi ? hi : i;
}

/* Copy v's elements of the indices `from`, from + step, ... before `to`.  The
 * elements of a text are its characters. */
static int
copy_slice(struct jrun *r, const struct jval *v, int64_t from, int64_t to,
    int64_t step, struct jval *out)
{
    struct jlist all;
    struct buf b = { 0 };
    struct jlist part = { NULL, 0 };

    if (jrun_elements(r, v, &all) < 0 ||
        (part.v = jrun_alloc(r, all.n + 1, sizeof *part.v)) == NULL)
        return -1;
    while (step > 0 ? from < to : from > to) {
        part.v[part.n++] = all.v[from];
        if (step > 0 ? step >= to - from : -step >= from - to)
            break;
        from += step;
    }
    if (v->kind != J_TEXT) {
        *out = (struct jval){ .kind = v->kind, .list = part };
        return 0;
    }
    for (size_t i = 0; i < part.n; i++)
        buf_add(&b, part.v[i].t.p, part.v[i].t.n);
    return jrun_text(r, &b, out);
}

static int
eval_slice(struct jrun *r, const struct jnode *n, struct jval *out)
{
    struct jval v;
    int64_t from, to, step, size;

    if (jrun_eval(r, n->a, &v) < 0 || slice_bound(r, n->d, 1, &step) < 0)
        return -1;
    if (v.kind != J_LIST && v.kind != J_TUPLE && v.kind != J_TEXT)
        return jrun_fail(r, "a slice of %s", jval_kind(&v));
    if (step == 0 || step < -INT32_MAX || step > INT32_MAX)
        return jrun_fail(r, "a slice by steps of %lld", (long long)step);
    size = (int64_t)(v.kind == J_TEXT ? jtext_length(v.t) : v.list.n);
    if (slice_bound(r, n->b, step > 0 ? 0 : INT64_MAX, &from) < 0 ||
        slice_bound(r, n->c, step > 0 ? INT64_MAX : INT64_MIN, &to) < 0)
        return -1;
    from = step > 0 ? clamped(from, size, 0, size)
                    : clamped(from, size, -1, size - 1);
    to =
        step > 0 ? clamped(to, size, 0, size) : clamped(to, size, -1, size - 1);
    if (v.kind == J_TEXT && step == 1) {
        const size_t a = jtext_at(v.t, (size_t)from);
        const size_t b = from < to ? jtext_at(v.t, (size_t)to) : a;

        *out = jval_text(v.t.p + a, b - a);
        return jrun_work(r, v.t.n / 16);
    }
    return copy_slice(r, &v, from, to, step, out);
}

static int
eval_list(struct jrun *r, const struct jnode *n, struct jval *out)
{
    size_t count = 0;

    *out = (struct jval){ .kind = n->kind == JN_LIST ? J_LIST : J_TUPLE };
    for (const struct jnode *c = n->a; c != NULL; c = c->next)
        count++;
    out->list.v = jrun_alloc(r, count + 1, sizeof *out->list.v);
    if (out->list.v == NULL)
        return -1;
    for (const struct jnode *c = n->a; c != NULL; c = c->next)
        if (jrun_eval(r, c, &out->list.v[out->list.n++]) < 0)
            return -1;
    return 0;
}

static int
eval_dict(struct jrun *r, const struct jnode *n, struct jval *out)
{
    *out = (struct jval){ .kind = J_DICT };
    if ((out->dict = jrun_alloc(r, 1, sizeof *out->dict)) == NULL)
        return -1;
    for (const struct jnode *c = n->a; c != NULL; c = c->next->next) {
        struct jval name, v;

        if (jrun_eval(r, c, &name) < 0 || jrun_eval(r, c->next, &v) < 0)
            return -1;
        if (name.kind != J_TEXT)
            return jrun_fail(r, "an object with %s as a name",
                jval_kind(&name));
        if (jdict_set(&r->mem, out->dict, name.t, v) < 0)
            return jrun_fail(r, "needs too much memory");
    }
    return 0;
}

static int
join_texts(struct jrun *r, const struct jval *a, const struct jval *b,
    struct jval *out)
{
    struct buf all = { 0 };

    if (jval_print(a, &all) < 0 || jval_print(b, &all) < 0) {
        buf_release(&all);
        return jrun_fail(r, "%s and %s are joined as texts", jval_kind(a),
            jval_kind(b));
    }
    return jrun_text(r, &all, out);
}

static int
join_lists(struct jrun *r, const struct jlist *a, const struct jlist *b,
    struct jval *out)
{
    struct jval *v = jrun_alloc(r, a->n + b->n + 1, sizeof *v);

    if (v == NULL || jrun_work(r, a->n + b->n) < 0)
        return -1;
    if (a->n > 0)
        memcpy(v, a->v, a->n * sizeof *v);
    if (b->n > 0)
        memcpy(v + a->n, b->v, b->n * sizeof *v);
    *out = (struct jval){ .kind = J_LIST, .list = { v, a->n + b->n } };
    return 0;
}

static int
repeat_text(struct jrun *r, struct jtext t, int64_t times, struct jval *out)
{
    struct buf b = { 0 };

    if (times > 0 && t.n > JRUN_MEMORY / (size_t)times)
        return jrun_fail(r, "needs too much memory");
    for (; times > 0 && t.n > 0; times--)
        buf_add(&b, t.p, t.n);
    return jrun_text(r, &b, out);
}

/* Python's division and remainder round towards minus infinity. */
static int64_t
floor_divide(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static int
whole_numbers(struct jrun *r, int op, int64_t a, int64_t b, struct jval *out)
{
    int64_t v = 0;
    int over = 0;

    if ((op == 'd' || op == '%') && (b == 0 || b == -1)) {
        if (b == 0)
            return jrun_fail(r, "a division by 0");
        over = op == 'd' && __builtin_sub_overflow((int64_t)0, a, &v);
    } else if (op == 'd') {
        v = floor_divide(a, b);
    } else if (op == '%') {
        v = a - floor_divide(a, b) * b;
    } else if (op == '+') {
        over = __builtin_add_overflow(a, b, &v);
    } else if (op == '-') {
        over = __builtin_sub_overflow(a, b, &v);
    } else if (op == '*') {
        over = __builtin_mul_overflow(a, b, &v);
    } else {
        if (a >= -1 && a <= 1 && b > 2)
            b = 2 - b % 2;
        for (v = 1; b > 0 && !over; b--)
            over = __builtin_mul_overflow(v, a, &v);
    }
    if (over)
        return jrun_fail(r, "a whole number has more than 64 bits");
    *out = jval_int(v);
    return 0;
}

static int
real_numbers(struct jrun *r, int op, double a, double b, struct jval *out)
{
    *out = (struct jval){ .kind = J_REAL };
    if ((op == '/' || op == 'd' || op == '%') && b == 0.0)
        return jrun_fail(r, "a division by 0");
    switch (op) {
    case '+': out->d = a + b; break;
    case '-': out->d = a - b; break;
    case '*': out->d = a * b; break;
    case '/': out->d = a / b; break;
    case 'd': out->d = floor(a / b); break;
    case '%': out->d = a - floor(a / b) * b; break;
    default: out->d = pow(a, b); break;
    }
    return 0;
}

static int
eval_binary(struct jrun *r, const struct jnode *n, struct jval *out)
{
    struct jval a, b;

    if (jrun_eval(r, n->a, &a) < 0 || jrun_eval(r, n->b, &b) < 0)
        return -1;
    r->line = n->line;
    if (n->op == '~' || (n->op == '+' && a.kind == J_TEXT && b.kind == J_TEXT))
        return join_texts(r, &a, &b, out);
    if (n->op == '+' && a.kind == J_LIST && b.kind == J_LIST)
        return join_lists(r, &a.list, &b.list, out);
    if (n->op == '*' && a.kind == J_TEXT && b.kind == J_INT)
        return repeat_text(r, a.t, b.i, out);
    if (!jval_is_number(&a) || !jval_is_number(&b)) {
        const struct jval *u = a.kind == J_UNDEFINED ? &a : &b;

        if (u->kind == J_UNDEFINED)
            return jrun_fail(r, "\"%.*s\" is not defined", shown_length(u->t),
                u->t.p);
        return jrun_fail(r, "%s %s %s has no value", jval_kind(&a),
            n->op == 'd'       ? "//"
                : n->op == '^' ? "**"
                               : (char[2]){ (char)n->op, 0 },
            jval_kind(&b));
    }
    if (n->op == '/' || a.kind == J_REAL || b.kind == J_REAL ||
        (n->op == '^' && b.i < 0))
        return real_numbers(r, n->op, jval_real(&a), jval_real(&b), out);
    return whole_numbers(r, n->op, a.i, b.i, out);
}

static int
is_element(struct jrun *r, const struct jval *a, const struct jval *b, int *is)
{
    struct jlist all;

    if (b->kind == J_TEXT) {
        if (a->kind != J_TEXT)
            return jrun_fail(r, "%s in a text", jval_kind(a));
        *is = jtext_search(b->t, a->t, 0) != SIZE_MAX;
        return jrun_work(r, b->t.n / 16);
    }
    if (b->kind == J_DICT || b->kind == J_SPACE) {
        *is = a->kind == J_TEXT && jdict_get(b->dict, a->t) != NULL;
        return jrun_work(r, b->dict->n);
    }
    if (jrun_elements(r, b, &all) < 0)
        return -1;
    *is = 0;
    for (size_t i = 0; i < all.n && !*is; i++)
        *is = jval_equal(a, &all.v[i], &r->work);
    return jrun_work(r, 0);
}

int
jrun_compare(struct jrun *r, int op, const struct jval *a, const struct jval *b,
    int *is)
{
    int d;

    if (op == '=' || op == '!') {
        *is = jval_equal(a, b, &r->work) == (op == '=');
        return jrun_work(r, 0);
    }
    if (op == 'i' || op == 'n') {
        if (is_element(r, a, b, is) < 0)
            return -1;
        *is = *is == (op == 'i');
        return 0;
    }
    if (!(a->kind == J_TEXT && b->kind == J_TEXT) &&
        !(jval_is_number(a) && jval_is_number(b)))
        return jrun_fail(r, "%s and %s have no order", jval_kind(a),
            jval_kind(b));
    d = jval_order(a, b);
    *is = d != -2 &&
        (op == '<'          ? d < 0
                : op == '>' ? d > 0
                : op == 'l' ? d <= 0
                            : d >= 0);
    return 0;
}

static int
eval_compare(struct jrun *r, const struct jnode *n, struct jval *out)
{
    struct jval a, b;
    int is = 1;

    if (jrun_eval(r, n->a, &a) < 0)
        return -1;
    for (const struct jnode *c = n->b; c != NULL && is; c = c->next) {
        if (jrun_eval(r, c->a, &b) < 0)
            return -1;
        r->line = n->line;
        if (jrun_compare(r, c->op, &a, &b, &is) < 0)
            return -1;
        a = b;
    }
    *out = jval_bool(is);
    return 0;
}

static int
eval_filter(struct jrun *r, const struct jnode *n, struct jval *out)
{
    const struct jval *slot[JNAME_PARAMS];
    struct jargs a;
    struct jval v;
    int is;

    if (jrun_eval(r, n->a, &v) < 0 || jrun_arguments(r, n->b, &a) < 0)
        return -1;
    r->line = n->line;
    if (jrun_bind(r, n->id, &a, slot) < 0)
        return -1;
    if (n->kind == JN_FILTER)
        return jrun_filter(r, n->id, &v, slot, out);
    if (jrun_test(r, n->id, &v, slot[0], &is) < 0)
        return -1;
    *out = jval_bool(is);
    return 0;
}

static int
eval_logic(struct jrun *r, const struct jnode *n, struct jval *out)
{
    struct jval v;

    if (n->kind == JN_CHOICE) {
        if (jrun_eval(r, n->a, &v) < 0)
            return -1;
        if (jval_true(&v))
            return jrun_eval(r, n->b, out);
        if (n->c != NULL)
            return jrun_eval(r, n->c, out);
        *out = (struct jval){ .kind = J_UNDEFINED, .t = { "if", 2 } };
        return 0;
    }
    if (jrun_eval(r, n->a, out) < 0)
        return -1;
    if (n->kind == JN_NOT) {
        *out = jval_bool(!jval_true(out));
        return 0;
    }
    return jval_true(out) == (n->kind == JN_AND) ? jrun_eval(r, n->b, out) : 0;
}

static int
eval_negate(struct jrun *r, const struct jnode *n, struct jval *out)
{
    struct jval v;

    if (jrun_eval(r, n->a, &v) < 0)
        return -1;
    if (v.kind == J_REAL) {
        *out = (struct jval){ .kind = J_REAL, .d = -v.d };
        return 0;
    }
    if (!jval_is_number(&v))
        return jrun_fail(r, "minus %s has no value", jval_kind(&v));
    return whole_numbers(r, '-', 0, v.i, out);
}

static int
eval_member(struct jrun *r, const struct jnode *n, struct jval *out)
{
    const struct jname *method = jname_find(jinja_methods, n->name);
    struct jval v;

    if (jrun_eval(r, n->a, &v) < 0)
        return -1;
    r->line = n->line;
    if (method != NULL && v.kind == J_DICT && jname_of_dict(method))
        return jrun_fail(r, "the method \"%s\" is not called", method->name);
    return jrun_member(r, &v, n->name, out);
}

static int
eval_node(struct jrun *r, const struct jnode *n, struct jval *out)
{
    switch (n->kind) {
    case JN_CONST: *out = n->value; return 0;
    case JN_NAME: *out = jrun_get(r, n->name); return 0;
    case JN_MEMBER: return eval_member(r, n, out);
    case JN_ITEM: return eval_item(r, n, out);
    case JN_SLICE: return eval_slice(r, n, out);
    case JN_CALL: return jrun_call(r, n, out);
    case JN_FILTER:
    case JN_TEST: return eval_filter(r, n, out);
    case JN_LIST:
    case JN_TUPLE: return eval_list(r, n, out);
    case JN_DICT: return eval_dict(r, n, out);
    case JN_NEGATE: return eval_negate(r, n, out);
    case JN_BINARY: return eval_binary(r, n, out);
    case JN_COMPARE: return eval_compare(r, n, out);
    default: return eval_logic(r, n, out);
    }
}

int
jrun_eval(struct jrun *r, const struct jnode *n, struct jval *out)
{
    int k;

    r->line = n->line;
    if (++r->depth > JRUN_DEPTH)
        return jrun_fail(r, "nests too deep");
    k = jrun_work(r, 1 + (n->kind == JN_NAME ? r->nvar / 4 : 0)) < 0
        ? -1
        : eval_node(r, n, out);
    r->depth--;
    return k;
}
