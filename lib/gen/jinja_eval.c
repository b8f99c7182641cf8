/* Values of expressions; see jinja_run.h. */
#include "gen/jinja_run.h"

#include <math.h>
#include <string.h>

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

/* The names of Python's methods of texts, lists, tuples and objects.  As a
 * value such a method is defined and true. */
static const char text_methods[] =
    " capitalize casefold center count encode endswith expandtabs find format "
    "format_map index isalnum isalpha isascii isdecimal isdigit isidentifier "
    "islower isnumeric isprintable isspace istitle isupper join ljust lower "
    "lstrip maketrans partition removeprefix removesuffix replace rfind rindex "
    "rjust rpartition rsplit rstrip split splitlines startswith strip swapcase "
    "title translate upper zfill ";
static const char list_methods[] = " copy count index ";
static const char tuple_methods[] = " count index ";
static const char dict_methods[] = " copy fromkeys get items keys values ";
/* Methods that change an object: jinja2's sandbox makes them undefined. */
static const char blocked_methods[] = " clear pop popitem setdefault update ";

static int
is_word_of(struct jtext name, const char *words)
{
    const char *p = words;

    if (name.n == 0 || name.n > 20 || memchr(name.p, ' ', name.n) != NULL)
        return 0;
    while ((p = strchr(p, ' ')) != NULL && p[1] != '\0') {
        p++;
        if (strncmp(p, name.p, name.n) == 0 && p[name.n] == ' ')
            return 1;
    }
    return 0;
}

static int
has_method(const struct jval *v, struct jtext name)
{
    switch (v->kind) {
    case J_TEXT: return is_word_of(name, text_methods);
    case J_LIST: return is_word_of(name, list_methods);
    case J_TUPLE: return is_word_of(name, tuple_methods);
    case J_DICT: return is_word_of(name, dict_methods);
    default: return 0;
    }
}

/* Set *out to v.name (attributes 1), where an object's methods come before its
 * members, or to v['name'] (attributes 0), where members come first. */
static int
member_of(struct jrun *r, const struct jval *v, struct jtext name,
    int attributes, struct jval *out)
{
    const struct jval *m = NULL;
    int method;

    *out = (struct jval){ .kind = J_UNDEFINED, .t = name };
    if (v->kind == J_TEXT && jrun_work(r, 16) < 0)
        return -1;
    if (v->kind == J_UNDEFINED)
        return jrun_fail(r, "\"%.*s\" is not defined, so it has no \"%.*s\"",
            jtext_shown(v->t), v->t.p, jtext_shown(name), name.p);
    if (v->kind == J_LOOP && !loop_member(v->loop, name, out))
        return jrun_fail(r, "loop.%.*s is not known here", jtext_shown(name),
            name.p);
    if (attributes && v->kind == J_DICT && is_word_of(name, blocked_methods))
        return 0;
    method = has_method(v, name);
    if ((v->kind == J_DICT || v->kind == J_SPACE) && !(attributes && method) &&
        jdict_get(r, v->dict, name, &m) < 0)
        return -1;
    if (m != NULL)
        *out = *m;
    else if (method)
        out->kind = J_METHOD;
    return 0;
}

int
jrun_member(struct jrun *r, const struct jval *v, struct jtext name,
    struct jval *out)
{
    return member_of(r, v, name, 1, out);
}

/* Element i of a list or character i of a text, from the end if i < 0; not
 * defined beyond the ends. */
static int
nth_element(struct jrun *r, const struct jval *v, int64_t i, struct jval *out)
{
    const int is_text = v->kind == J_TEXT;
    int64_t n;
    size_t at;

    if (is_text && jrun_bytes(r, v->t.n) < 0)
        return -1;
    n = (int64_t)(is_text ? jtext_length(v->t) : v->list.n);
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
    out->safe = v->safe;
    return 0;
}

int
jrun_item(struct jrun *r, const struct jval *v, const struct jval *i,
    struct jval *out)
{
    if (i->kind == J_TEXT)
        return member_of(r, v, i->t, 0, out);
    if ((v->kind == J_LIST || v->kind == J_TUPLE || v->kind == J_TEXT) &&
        (i->kind == J_INT || i->kind == J_BOOL))
        return nth_element(r, v, i->i, out);
    if (v->kind == J_UNDEFINED)
        return member_of(r, v, (struct jtext){ "[...]", 5 }, 0, out);
    *out = (struct jval){ .kind = J_UNDEFINED, .t = { "[...]", 5 } };
    return 0;
}

static int
eval_item(struct jrun *r, const struct jnode *n, struct jval *out)
{
    struct jval v, i;

    if (jrun_eval(r, n->a, &v) < 0 || jrun_eval(r, n->b, &i) < 0)
        return -1;
    return jrun_item(r, &v, &i, out);
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
    struct jval part = { .kind = v->kind };

    if (jrun_elements(r, v, &all) < 0 || jrun_work(r, all.n) < 0 ||
        jrun_room(r, all.n, &part.list) < 0)
        return -1;
    while (step > 0 ? from < to : from > to) {
        part.list.v[part.list.n++] = all.v[from];
        if (step > 0 ? step >= to - from : -step >= from - to)
            break;
        from += step;
    }
    *out = part;
    if (v->kind != J_TEXT)
        return 0;
    part.kind = J_LIST;
    return jtext_join(r, (struct jtext){ "", 0 }, &part, 0, out);
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
    if (v.kind == J_TEXT && jrun_bytes(r, v.t.n) < 0)
        return -1;
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
    } else if (copy_slice(r, &v, from, to, step, out) < 0) {
        return -1;
    }
    if (v.kind == J_TEXT)
        out->safe = v.safe;
    return 0;
}

static int
eval_list(struct jrun *r, const struct jnode *n, struct jval *out)
{
    size_t count = 0;

    *out = (struct jval){ .kind = n->kind == JN_LIST ? J_LIST : J_TUPLE };
    for (const struct jnode *c = n->a; c != NULL; c = c->next)
        count++;
    if (jrun_room(r, count, &out->list) < 0)
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
        if (jdict_set(r, out->dict, name.t, v) < 0)
            return -1;
    }
    return 0;
}

/* a ~ b, or a + b of two texts: a text added to Markup is escaped. */
static int
join_texts(struct jrun *r, int op, const struct jval *a, const struct jval *b,
    struct jval *out)
{
    const int safe = op == '+' && (a->safe || b->safe);
    const size_t from = jrun_begin(r);

    if ((safe ? jrun_escape(r, a) : jrun_print(r, a)) < 0 ||
        (safe ? jrun_escape(r, b) : jrun_print(r, b)) < 0 ||
        jrun_end(r, from, out) < 0)
        return -1;
    out->safe = safe;
    return 0;
}

static int
join_lists(struct jrun *r, const struct jval *a, const struct jval *b,
    struct jval *out)
{
    const size_t n = a->list.n + b->list.n;
    struct jval *v;

    if (jrun_work(r, n) < 0 || (v = jrun_alloc(r, n + 1, sizeof *v)) == NULL)
        return -1;
    if (a->list.n > 0)
        memcpy(v, a->list.v, a->list.n * sizeof *v);
    if (b->list.n > 0)
        memcpy(v + a->list.n, b->list.v, b->list.n * sizeof *v);
    *out = (struct jval){ .kind = a->kind, .list = { v, n } };
    return 0;
}

/* A text or list repeated. */
static int
repeat(struct jrun *r, const struct jval *v, int64_t times, struct jval *out)
{
    const size_t n = times > 0 ? (size_t)times : 0;

    if (v->kind == J_TEXT) {
        const size_t from = jrun_begin(r);

        if (jrun_repeat(r, v->t, n) < 0 || jrun_end(r, from, out) < 0)
            return -1;
        out->safe = v->safe;
        return 0;
    }
    *out = (struct jval){ .kind = v->kind };
    if (v->list.n > 0 && n > JINJA_MEMORY / sizeof *v / v->list.n)
        return jrun_fail(r, "needs too much memory");
    if (jrun_work(r, n * v->list.n) < 0 ||
        jrun_room(r, n * v->list.n, &out->list) < 0)
        return -1;
    while (out->list.n < n * v->list.n) {
        memcpy(out->list.v + out->list.n, v->list.v, v->list.n * sizeof *v);
        out->list.n += v->list.n;
    }
    return 0;
}

/* The operators that texts, lists and tuples have.  1: *out is set; 0: another
 * operator or other values; -1. */
static int
sequences(struct jrun *r, int op, const struct jval *a, const struct jval *b,
    struct jval *out)
{
    const int list = a->kind == J_LIST || a->kind == J_TUPLE;
    const int whole = b->kind == J_INT || b->kind == J_BOOL;

    if (op == '~' || (op == '+' && a->kind == J_TEXT && b->kind == J_TEXT))
        return join_texts(r, op, a, b, out) < 0 ? -1 : 1;
    if (op == '+' && list && a->kind == b->kind)
        return join_lists(r, a, b, out) < 0 ? -1 : 1;
    if (op == '*' && (a->kind == J_TEXT || list) && whole)
        return repeat(r, a, b->i, out) < 0 ? -1 : 1;
    return 0;
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

/* a // b and a % b as Python has them: the remainder has the sign of b. */
static double
floor_real(int op, double a, double b)
{
    double rest = fmod(a, b), whole = (a - rest) / b, down;

    if (rest != 0.0 && (b < 0.0) != (rest < 0.0)) {
        rest += b;
        whole -= 1.0;
    }
    if (op == '%')
        return rest != 0.0 ? rest : copysign(0.0, b);
    if (whole == 0.0)
        return copysign(0.0, a / b);
    down = floor(whole);
    return whole - down > 0.5 ? down + 1.0 : down;
}

static int
real_numbers(struct jrun *r, int op, double a, double b, struct jval *out)
{
    *out = (struct jval){ .kind = J_REAL };
    if (b == 0.0 && (op == '/' || op == 'd' || op == '%'))
        return jrun_fail(r, "a division by 0");
    switch (op) {
    case '+': out->d = a + b; return 0;
    case '-': out->d = a - b; return 0;
    case '*': out->d = a * b; return 0;
    case '/': out->d = a / b; return 0;
    case 'd':
    case '%': out->d = floor_real(op, a, b); return 0;
    default: out->d = pow(a, b); break;
    }
    if ((isfinite(a) && isfinite(b) && !isfinite(out->d)) ||
        (isnan(out->d) && !isnan(a) && !isnan(b)))
        return jrun_fail(r, "%g ** %g is no finite number", a, b);
    return 0;
}

static int
eval_binary(struct jrun *r, const struct jnode *n, struct jval *out)
{
    struct jval a, b;
    int k;

    if (jrun_eval(r, n->a, &a) < 0 || jrun_eval(r, n->b, &b) < 0)
        return -1;
    r->line = n->line;
    if ((k = sequences(r, n->op, &a, &b, out)) == 0 && n->op == '*')
        k = sequences(r, n->op, &b, &a, out);
    if (k != 0)
        return k < 0 ? -1 : 0;
    if (!jval_is_number(&a) || !jval_is_number(&b)) {
        const struct jval *u = a.kind == J_UNDEFINED ? &a : &b;

        if (u->kind == J_UNDEFINED)
            return jrun_fail(r, "\"%.*s\" is not defined", jtext_shown(u->t),
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
    if (n->id == NULL)
        return jrun_fail(r, "the %s \"%.*s\" is not known here",
            n->kind == JN_FILTER ? "filter" : "test", jtext_shown(n->name),
            n->name.p);
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
    struct jval v;

    if (jrun_eval(r, n->a, &v) < 0)
        return -1;
    r->line = n->line;
    return jrun_member(r, &v, n->name, out);
}

static int
eval_node(struct jrun *r, const struct jnode *n, struct jval *out)
{
    switch (n->kind) {
    case JN_CONST: *out = n->value; return 0;
    case JN_NAME: return jrun_get(r, n->name, out);
    case JN_BLOCK: *out = r->block; return 0;
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
    k = jrun_work(r, 1) < 0 ? -1 : eval_node(r, n, out);
    r->depth--;
    return k;
}
