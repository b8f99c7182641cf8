/* Expressions of a template, parsed to a tree; see jinja_parse.h. */
#include "gen/jinja_parse.h"

#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

static struct jnode *parse_or(struct jparse *p);
static struct jnode *parse_unary(struct jparse *p, int filters);

static struct jnode *
pair_node(struct jparse *p, enum jnode_kind kind, struct jnode *a)
{
    struct jnode *n = a == NULL ? NULL : jparse_node(p, kind);

    if (n != NULL)
        n->a = a;
    return n;
}

/* Append the character of the escape that s[n] begins with, after the
 * backslash.  Returns the escape's bytes in s; 0: a bad escape, or one not
 * known here (octal, \N{name}). */
static size_t
read_escape(const char *s, size_t n, struct buf *b)
{
    static const char letters[] = "abfnrtv", bytes[] = "\a\b\f\n\r\t\v";
    const char *at = *s != '\0' ? strchr(letters, *s) : NULL;
    size_t digits = *s == 'x' ? 2 : *s == 'u' ? 4 : *s == 'U' ? 8 : 0;
    char hex[9] = { 0 }, *end;
    uint32_t c;

    if (at != NULL) {
        buf_addc(b, bytes[at - letters]);
        return 1;
    }
    if (*s == '\n')
        return 1;
    if (strchr("\\'\"", *s) != NULL) {
        buf_addc(b, *s);
        return 1;
    }
    if (digits == 0 && *s != 'N' && (*s < '0' || *s > '7')) {
        buf_addc(b, '\\');
        buf_addc(b, *s);
        return 1;
    }
    if (digits == 0 || digits >= n)
        return 0;
    memcpy(hex, s + 1, digits);
    c = (uint32_t)strtoul(hex, &end, 16);
    if (*end != '\0' || strchr(" +-", *hex) != NULL || c == 0 || c > 0x10ffff ||
        (c >= 0xd800 && c < 0xe000))
        return 0;
    utf8_put(b, c);
    return 1 + digits;
}

/* Append to *b the text of the next token, a string. */
static int
unescape_string(struct jparse *p, struct buf *b)
{
    const struct jtext s = p->tok->text;

    for (size_t i = 0; i < s.n;) {
        size_t n = 1;

        if (s.p[i] != '\\') {
            buf_addc(b, s.p[i]);
        } else {
            if (i + 1 == s.n ||
                (n = read_escape(s.p + i + 1, s.n - i - 1, b)) == 0) {
                jparse_fail(p, "a text has an escape that is not known");
                return -1;
            }
            n++;
        }
        i += n;
    }
    return 0;
}

static struct jnode *
parse_string(struct jparse *p)
{
    struct jnode *n = jparse_node(p, JN_CONST);
    struct buf b = { 0 };
    char *text;
    int r = n == NULL ? -1 : 0;

    for (; r == 0 && p->tok->kind == JT_STRING; p->tok++)
        r = unescape_string(p, &b);
    if (r == 0 && (text = jmem_alloc(&p->t->mem, b.n + 1, 1)) != NULL) {
        if (b.n > 0)
            memcpy(text, b.p, b.n);
        n->value = jval_text(text, b.n);
    } else {
        n = r < 0 ? NULL : jparse_fail(p, "the template is too large");
    }
    buf_release(&b);
    return n;
}

/* Parse expressions up to the bracket `end`; pairs: 1: pairs of expressions, as
 * in {NAME: VALUE}. */
static int
parse_elements(struct jparse *p, const char *end, int pairs,
    struct jnode **last)
{
    while (!jparse_skip(p, end)) {
        if ((*last = jparse_expression(p)) == NULL)
            return -1;
        last = &(*last)->next;
        if (pairs) {
            if (jparse_want(p, ":") < 0 ||
                (*last = jparse_expression(p)) == NULL)
                return -1;
            last = &(*last)->next;
        }
        if (!jparse_is(p, end) && jparse_want(p, ",") < 0)
            return -1;
    }
    return 0;
}

static struct jnode *
parse_word(struct jparse *p)
{
    static const char *const word[] = { "true", "True", "false", "False",
        "none", "None" };
    struct jnode *n = jparse_node(p, JN_NAME);

    if (n == NULL)
        return NULL;
    n->name = (p->tok++)->text;
    if (p->macros > 0 &&
        (jtext_is(n->name, "varargs") || jtext_is(n->name, "kwargs")))
        return jparse_fail(p, "varargs and kwargs are not known here");
    p->caller |= jtext_is(n->name, "caller");
    for (size_t i = 0; i < sizeof word / sizeof *word; i++)
        if (jtext_is(n->name, word[i])) {
            n->kind = JN_CONST;
            n->value =
                i < 4 ? jval_bool(i < 2) : (struct jval){ .kind = J_NONE };
        }
    return n;
}

static struct jnode *
parse_brackets(struct jparse *p)
{
    struct jnode *n = NULL;

    if (jparse_skip(p, "(")) {
        if (jparse_skip(p, ")"))
            return jparse_node(p, JN_TUPLE);
        n = jparse_tuple(p, 1);
        return n == NULL || jparse_want(p, ")") < 0 ? NULL : n;
    }
    if (jparse_skip(p, "[")) {
        n = jparse_node(p, JN_LIST);
        return n == NULL || parse_elements(p, "]", 0, &n->a) < 0 ? NULL : n;
    }
    if (jparse_skip(p, "{")) {
        n = jparse_node(p, JN_DICT);
        return n == NULL || parse_elements(p, "}", 1, &n->a) < 0 ? NULL : n;
    }
    return jparse_fail(p, "an expression should begin at \"%.*s\"",
        jtext_shown(p->tok->text), p->tok->text.p);
}

static struct jnode *
parse_primary(struct jparse *p)
{
    struct jnode *n;

    switch (p->tok->kind) {
    case JT_NAME: return parse_word(p);
    case JT_STRING: return parse_string(p);
    case JT_INT:
    case JT_REAL:
        if ((n = jparse_node(p, JN_CONST)) == NULL)
            return NULL;
        n->value = p->tok->kind == JT_INT
            ? jval_int(p->tok->i)
            : (struct jval){ .kind = J_REAL, .d = p->tok->d };
        p->tok++;
        return n;
    default: return parse_brackets(p);
    }
}

/* Parse the arguments of a call, and step over the bracket that ends them. */
static int
parse_arguments(struct jparse *p, struct jnode **last)
{
    int n = 0;

    for (; !jparse_skip(p, ")"); n++) {
        struct jnode *a = jparse_node(p, JN_ARG);

        if (a == NULL || (n > 0 && jparse_want(p, ",") < 0))
            return -1;
        if (n > 0 && jparse_skip(p, ")"))
            break;
        if (n == JNODE_ARGS || jparse_is(p, "*") || jparse_is(p, "**")) {
            jparse_fail(p, "a call has * or more than %d arguments",
                JNODE_ARGS);
            return -1;
        }
        if (p->tok->kind == JT_NAME && p->tok[1].kind == JT_OPERATOR &&
            jtext_is(p->tok[1].text, "=")) {
            a->name = p->tok->text;
            p->tok += 2;
        }
        if ((a->a = jparse_expression(p)) == NULL)
            return -1;
        *last = a;
        last = &a->next;
    }
    return 0;
}

/* Parse the index or slice in the brackets after node a. */
static struct jnode *
parse_subscript(struct jparse *p, struct jnode *a)
{
    struct jnode *n = pair_node(p, JN_ITEM, a);

    if (n == NULL)
        return NULL;
    if (!jparse_is(p, ":") && (n->b = jparse_expression(p)) == NULL)
        return NULL;
    if (jparse_skip(p, ":")) {
        n->kind = JN_SLICE;
        if (!jparse_is(p, ":") && !jparse_is(p, "]") &&
            (n->c = jparse_expression(p)) == NULL)
            return NULL;
        if (jparse_skip(p, ":") && !jparse_is(p, "]") &&
            (n->d = jparse_expression(p)) == NULL)
            return NULL;
    }
    return jparse_want(p, "]") < 0 ? NULL : n;
}

static struct jnode *
parse_dot(struct jparse *p, struct jnode *a)
{
    struct jnode *n = pair_node(p, JN_MEMBER, a);

    if (n == NULL)
        return NULL;
    if (p->tok->kind == JT_INT) {
        n->kind = JN_ITEM;
        if ((n->b = jparse_node(p, JN_CONST)) != NULL)
            n->b->value = jval_int((p->tok++)->i);
        return n->b == NULL ? NULL : n;
    }
    if (p->tok->kind != JT_NAME)
        return jparse_fail(p, "a member's name is missing");
    n->name = (p->tok++)->text;
    return n;
}

static struct jnode *
parse_postfix(struct jparse *p, struct jnode *n)
{
    while (n != NULL) {
        if (jparse_skip(p, "."))
            n = parse_dot(p, n);
        else if (jparse_skip(p, "["))
            n = parse_subscript(p, n);
        else if (jparse_skip(p, "(")) {
            n = pair_node(p, JN_CALL, n);
            if (n == NULL || parse_arguments(p, &n->b) < 0)
                return NULL;
        } else
            return n;
    }
    return NULL;
}

/* Step over the name that is next, and set n->id to its row of `table`.  An
 * unknown name leaves n->id NULL: in a branch of an if, evaluating n is an
 * error; elsewhere the template is refused. */
static struct jnode *
known_name(struct jparse *p, struct jnode *n, const struct jname *table,
    const char *what)
{
    if (n == NULL)
        return NULL;
    if (p->tok->kind != JT_NAME)
        return jparse_fail(p, "the name of a %s is missing", what);
    n->name = p->tok->text;
    n->id = jname_find(table, n->name);
    if (n->id == NULL && !p->chosen && p->unknown == NULL)
        p->unknown = n;
    p->tok++;
    return n;
}

struct jnode *
jparse_filter(struct jparse *p, struct jnode *a)
{
    struct jnode *n =
        known_name(p, pair_node(p, JN_FILTER, a), jinja_filters, "filter");

    if (n != NULL && jparse_skip(p, "(") && parse_arguments(p, &n->b) < 0)
        return NULL;
    return n;
}

/* Does an argument without brackets follow a test's name? */
static int
argument_follows(const struct jparse *p)
{
    switch (p->tok->kind) {
    case JT_NAME:
        return !jparse_name_is(p, "else") && !jparse_name_is(p, "or") &&
            !jparse_name_is(p, "and");
    case JT_STRING:
    case JT_INT:
    case JT_REAL: return 1;
    default: return jparse_is(p, "[") || jparse_is(p, "{");
    }
}

static struct jnode *
parse_test(struct jparse *p, struct jnode *a)
{
    const int negated = jparse_skip_name(p, "not");
    struct jnode *n =
        known_name(p, pair_node(p, JN_TEST, a), jinja_tests, "test");

    if (n == NULL)
        return NULL;
    if (jparse_skip(p, "(")) {
        if (parse_arguments(p, &n->b) < 0)
            return NULL;
    } else if (argument_follows(p)) {
        if (jparse_name_is(p, "is"))
            return jparse_fail(p, "a test of a test needs brackets");
        n->b = jparse_node(p, JN_ARG);
        if (n->b == NULL ||
            (n->b->a = parse_postfix(p, parse_primary(p))) == NULL)
            return NULL;
    }
    return negated ? pair_node(p, JN_NOT, n) : n;
}

static struct jnode *
parse_unary(struct jparse *p, int filters)
{
    struct jnode *n;

    if (++p->depth > JPARSE_DEPTH)
        return jparse_fail(p, "an expression nests too deep");
    if (jparse_skip(p, "-"))
        n = pair_node(p, JN_NEGATE, parse_unary(p, 0));
    else if (jparse_skip(p, "+"))
        n = pair_node(p, JN_NEGATE, pair_node(p, JN_NEGATE, parse_unary(p, 0)));
    else
        n = parse_primary(p);
    n = parse_postfix(p, n);
    while (filters && n != NULL) {
        if (jparse_skip(p, "|"))
            n = jparse_filter(p, n);
        else if (jparse_skip_name(p, "is"))
            n = parse_test(p, n);
        else if (jparse_is(p, "("))
            n = parse_postfix(p, n);
        else
            break;
    }
    p->depth--;
    return n;
}

/* Binary operators from the weakest on: their texts and letters. */
static const struct {
    const char *text;
    int op, level;
} binary[] = {
    { "+", '+', 0 },
    { "-", '-', 0 },
    { "~", '~', 1 },
    { "*", '*', 2 },
    { "/", '/', 2 },
    { "//", 'd', 2 },
    { "%", '%', 2 },
    { "**", '^', 3 },
};
enum { LEVELS = 4 };

static struct jnode *
parse_binary(struct jparse *p, int level)
{
    struct jnode *n =
        level == LEVELS ? parse_unary(p, 1) : parse_binary(p, level + 1);
    size_t i = 0;

    while (level < LEVELS && n != NULL && i < sizeof binary / sizeof *binary) {
        if (binary[i].level != level || !jparse_skip(p, binary[i].text)) {
            i++;
            continue;
        }
        if ((n = pair_node(p, JN_BINARY, n)) == NULL ||
            (n->b = parse_binary(p, level + 1)) == NULL)
            return NULL;
        n->op = binary[i].op;
        i = 0;
    }
    return n;
}

/* Step over the operator of a comparison and return its letter; 0: none. */
static int
comparison_operator(struct jparse *p)
{
    static const struct {
        const char *text;
        int op;
    } known[] = { { "==", '=' }, { "!=", '!' }, { "<", '<' }, { ">", '>' },
        { "<=", 'l' }, { ">=", 'g' } };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (jparse_skip(p, known[i].text))
            return known[i].op;
    if (jparse_skip_name(p, "in"))
        return 'i';
    if (jparse_name_is(p, "not") && p->tok[1].kind == JT_NAME &&
        jtext_is(p->tok[1].text, "in")) {
        p->tok += 2;
        return 'n';
    }
    return 0;
}

static struct jnode *
parse_compare(struct jparse *p)
{
    struct jnode *n = parse_binary(p, 0), *all = NULL, **last = NULL;
    int op;

    while (n != NULL && (op = comparison_operator(p)) != 0) {
        struct jnode *a = jparse_node(p, JN_ARG);

        if (a == NULL || (a->a = parse_binary(p, 0)) == NULL)
            return NULL;
        a->op = op;
        if (all == NULL) {
            if ((all = pair_node(p, JN_COMPARE, n)) == NULL)
                return NULL;
            last = &all->b;
        }
        *last = a;
        last = &a->next;
    }
    return n == NULL || all == NULL ? n : all;
}

static struct jnode *
parse_not(struct jparse *p)
{
    struct jnode *n;

    if (!jparse_skip_name(p, "not"))
        return parse_compare(p);
    if (++p->depth > JPARSE_DEPTH)
        return jparse_fail(p, "an expression nests too deep");
    n = pair_node(p, JN_NOT, parse_not(p));
    p->depth--;
    return n;
}

static struct jnode *
parse_and(struct jparse *p)
{
    struct jnode *n = parse_not(p);

    while (n != NULL && jparse_skip_name(p, "and"))
        if ((n = pair_node(p, JN_AND, n)) == NULL ||
            (n->b = parse_not(p)) == NULL)
            return NULL;
    return n;
}

static struct jnode *
parse_or(struct jparse *p)
{
    struct jnode *n = parse_and(p);

    while (n != NULL && jparse_skip_name(p, "or"))
        if ((n = pair_node(p, JN_OR, n)) == NULL ||
            (n->b = parse_and(p)) == NULL)
            return NULL;
    return n;
}

struct jnode *
jparse_expression(struct jparse *p)
{
    const struct jnode *unknown = p->unknown;
    const int chosen = p->chosen;
    struct jnode *n = parse_or(p);

    while (n != NULL && jparse_skip_name(p, "if")) {
        struct jnode *c = jparse_node(p, JN_CHOICE);

        p->unknown = unknown;
        p->chosen = 1;
        if (c == NULL || (c->a = parse_or(p)) == NULL)
            return NULL;
        c->b = n;
        if (++p->depth > JPARSE_DEPTH)
            return jparse_fail(p, "an expression nests too deep");
        if (jparse_skip_name(p, "else") &&
            (c->c = jparse_expression(p)) == NULL)
            return NULL;
        p->depth--;
        n = c;
    }
    p->chosen = chosen;
    return n;
}

/* After a comma: does the next token end the tuple? */
static int
tuple_ends(const struct jparse *p)
{
    return p->tok->kind == JT_PRINT_END || p->tok->kind == JT_BLOCK_END ||
        jparse_is(p, ")") || jparse_name_is(p, "in");
}

struct jnode *
jparse_tuple(struct jparse *p, int choice)
{
    struct jnode *first = choice ? jparse_expression(p) : parse_or(p), *tuple;
    struct jnode **last;

    if (first == NULL || !jparse_is(p, ","))
        return first;
    if ((tuple = pair_node(p, JN_TUPLE, first)) == NULL)
        return NULL;
    last = &first->next;
    while (jparse_skip(p, ",") && !tuple_ends(p)) {
        if ((*last = choice ? jparse_expression(p) : parse_or(p)) == NULL)
            return NULL;
        last = &(*last)->next;
    }
    return tuple;
}
