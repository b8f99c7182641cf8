/* Parses the statements of a template to a tree; see jinja.h, jinja_node.h. The
 * grammar follows jinja2 3.1's parser.py. */
#include "gen/jinja_parse.h"

#include "base/utf8.h"
#include "gen/jinja.h"

#include <stdlib.h>
#include <string.h>

#define SOURCE ((size_t)1 << 20) /* bytes of a template, at most */
#define PARAMETERS 64            /* of a macro, at most */

struct jnode *
jparse_node(struct jparse *p, enum jnode_kind kind)
{
    struct jnode *n = jmem_alloc(&p->t->mem, 1, sizeof *n);

    if (n == NULL) {
        jparse_fail(p, "the template is too large");
        return NULL;
    }
    n->kind = kind;
    n->line = p->tok->line;
    return n;
}

struct jnode *
jparse_fail(struct jparse *p, const char *fmt, ...)
{
    char why[300];
    va_list ap;

    va_start(ap, fmt);
    err_format(why, sizeof why, fmt, ap);
    va_end(ap);
    err_set(p->e, EX_INPUT, "line %d: %s", p->tok->line, why);
    return NULL;
}

int
jparse_is(const struct jparse *p, const char *operator)
{
    return p->tok->kind == JT_OPERATOR && jtext_is(p->tok->text, operator);
}

int
jparse_name_is(const struct jparse *p, const char *name)
{
    return p->tok->kind == JT_NAME && jtext_is(p->tok->text, name);
}

int
jparse_skip(struct jparse *p, const char *operator)
{
    if (!jparse_is(p, operator))
        return 0;
    p->tok++;
    return 1;
}

int
jparse_skip_name(struct jparse *p, const char *name)
{
    if (!jparse_name_is(p, name))
        return 0;
    p->tok++;
    return 1;
}

int
jparse_want(struct jparse *p, const char *operator)
{
    if (jparse_skip(p, operator))
        return 0;
    jparse_fail(p, "\"%s\" is missing before \"%.*s\"", operator,
        jtext_shown(p->tok->text), p->tok->text.p);
    return -1;
}

/* Step over the end of a statement's tag. */
static int
end_of_tag(struct jparse *p)
{
    if (p->tok->kind == JT_BLOCK_END) {
        p->tok++;
        return 0;
    }
    jparse_fail(p, "the statement should end before \"%.*s\"",
        jtext_shown(p->tok->text), p->tok->text.p);
    return -1;
}

static int parse_body(struct jparse *p, const char *const *ends,
    struct jnode **out);

/* Step over the end of the current tag, and parse the statements up to a tag
 * whose name is in `ends`; step over that name.  Returns the name's index in
 * `ends`; -1. */
static int
body_until(struct jparse *p, const char *const *ends, struct jnode **out)
{
    if (end_of_tag(p) < 0)
        return -1;
    return parse_body(p, ends, out);
}

/* body_until for a block with variables of its own.  There jinja2 refuses an
 * unknown filter as it reads it, even if an `if` is around the block. */
static int
inner_until(struct jparse *p, const char *const *ends, struct jnode **out)
{
    const int chosen = p->chosen;
    int end;

    p->chosen = 0;
    end = body_until(p, ends, out);
    p->chosen = chosen;
    return end;
}

/* Parse the body of a block with variables of its own up to the tag {% end %},
 * and step over that tag.  around: the member of *p that counts such blocks. */
static int
block_body(struct jparse *p, const char *end, int *around, struct jnode **out)
{
    const char *const ends[] = { end, NULL };
    int r;

    ++*around;
    r = inner_until(p, ends, out);
    --*around;
    return r < 0 ? -1 : end_of_tag(p);
}

static struct jnode *
parse_if(struct jparse *p)
{
    static const char *const ends[] = { "elif", "else", "endif", NULL };
    struct jnode *first = jparse_node(p, JN_IF), *n = first;
    const int chosen = p->chosen;
    int end;

    p->chosen = 1;
    while (n != NULL) {
        if ((n->a = jparse_expression(p)) == NULL ||
            (end = body_until(p, ends, &n->b)) < 0)
            return NULL;
        if (end == 1 && body_until(p, ends + 2, &n->c) < 0)
            return NULL;
        p->chosen = end == 0 ? 1 : chosen;
        if (end != 0)
            return end_of_tag(p) < 0 ? NULL : first;
        n = n->c = jparse_node(p, JN_IF);
    }
    return NULL;
}

/* Parse the variables that a loop or set gives values to. */
static struct jnode *
parse_targets(struct jparse *p, int members)
{
    struct jnode *first = NULL, **last = &first;

    do {
        struct jnode *n;

        if (p->tok->kind != JT_NAME)
            return jparse_fail(p, "the name of a variable is missing");
        if ((n = jparse_node(p, JN_NAME)) == NULL)
            return NULL;
        n->name = (p->tok++)->text;
        if (jtext_is(n->name, "loop") && (p->loops > 0 || !members))
            return jparse_fail(p, "the variable loop is set");
        if (members && jparse_skip(p, ".")) {
            struct jnode *m = jparse_node(p, JN_MEMBER);

            if (m == NULL || p->tok->kind != JT_NAME)
                return jparse_fail(p, "a member's name is missing");
            m->a = n;
            m->name = (p->tok++)->text;
            n = m;
        }
        *last = n;
        last = &n->next;
    } while (jparse_skip(p, ","));
    return first;
}

static struct jnode *
parse_for(struct jparse *p)
{
    static const char *const ends[] = { "else", "endfor", NULL };
    struct jnode *n = jparse_node(p, JN_FOR);
    const int chosen = p->chosen;
    int end;

    if (n == NULL || (n->a = parse_targets(p, 0)) == NULL)
        return NULL;
    if (!jparse_skip_name(p, "in"))
        return jparse_fail(p, "\"in\" is missing in a for");
    if ((n->b = jparse_tuple(p, 0)) == NULL)
        return NULL;
    p->chosen = 0;
    if (jparse_skip_name(p, "if") && (n->filter = jparse_expression(p)) == NULL)
        return NULL;
    p->chosen = chosen;
    if (jparse_name_is(p, "recursive"))
        return jparse_fail(p, "recursive loops are not known");
    p->loops++;
    p->scopes++;
    end = inner_until(p, ends, &n->c);
    p->loops--;
    if (end == 0 && inner_until(p, ends + 1, &n->d) < 0)
        end = -1;
    p->scopes--;
    return end < 0 || end_of_tag(p) < 0 ? NULL : n;
}

/* Parse the filters of a block, name|name. */
static int
parse_filters(struct jparse *p, struct jnode *n)
{
    const int chosen = p->chosen;

    p->chosen = 0;
    n->filter = jparse_node(p, JN_BLOCK);
    do
        n->filter = n->filter == NULL ? NULL : jparse_filter(p, n->filter);
    while (n->filter != NULL && jparse_skip(p, "|"));
    p->chosen = chosen;
    return n->filter == NULL ? -1 : 0;
}

/* The statement {% filter name|name %}. */
static struct jnode *
parse_filtered(struct jparse *p)
{
    struct jnode *n = jparse_node(p, JN_FILTERED);

    if (n == NULL || parse_filters(p, n) < 0 ||
        block_body(p, "endfilter", &p->buffered, &n->c) < 0)
        return NULL;
    return n;
}

static struct jnode *
parse_with(struct jparse *p)
{
    struct jnode *n = jparse_node(p, JN_WITH), **last;

    if (n == NULL)
        return NULL;
    for (last = &n->a; p->tok->kind != JT_BLOCK_END; last = &(*last)->next) {
        if (n->a != NULL && jparse_want(p, ",") < 0)
            return NULL;
        if (p->tok->kind != JT_NAME)
            return jparse_fail(p, "the name of a variable is missing");
        if ((*last = jparse_node(p, JN_ARG)) == NULL)
            return NULL;
        (*last)->name = (p->tok++)->text;
        if (jparse_want(p, "=") < 0 ||
            ((*last)->a = jparse_expression(p)) == NULL)
            return NULL;
    }
    return block_body(p, "endwith", &p->scopes, &n->c) < 0 ? NULL : n;
}

static struct jnode *
parse_assignment(struct jparse *p)
{
    struct jnode *n = jparse_node(p, JN_SET);

    if (n == NULL || (n->a = parse_targets(p, 1)) == NULL)
        return NULL;
    if (jparse_skip(p, "="))
        return (n->b = jparse_tuple(p, 1)) == NULL || end_of_tag(p) < 0 ? NULL
                                                                        : n;
    if ((jparse_skip(p, "|") && parse_filters(p, n) < 0) ||
        block_body(p, "endset", &p->buffered, &n->c) < 0)
        return NULL;
    return n;
}

/* Can *n, with the default n->a or NULL, be the macro's next parameter?  0 and
 * *e: it cannot. */
static int
parameter_fits(struct jparse *p, const struct jnode *macro,
    const struct jnode *n)
{
    int count = 0;

    for (const struct jnode *a = macro->a; a != NULL; a = a->next, count++)
        if (jtext_equal(a->name, n->name) || (a->a != NULL && n->a == NULL)) {
            jparse_fail(p,
                "the parameter \"%.*s\" is there twice, or has no default",
                jtext_shown(n->name), n->name.p);
            return 0;
        }
    if (count == PARAMETERS)
        jparse_fail(p, "a macro has more than %d parameters", PARAMETERS);
    return count < PARAMETERS;
}

static int
parse_parameters(struct jparse *p, struct jnode *macro)
{
    struct jnode **last = &macro->a;

    if (jparse_want(p, "(") < 0)
        return -1;
    while (!jparse_skip(p, ")")) {
        struct jnode *n = jparse_node(p, JN_ARG);

        if (n == NULL)
            return -1;
        if (macro->a != NULL && jparse_want(p, ",") < 0)
            return -1;
        if (p->tok->kind != JT_NAME) {
            jparse_fail(p, "a parameter's name is missing");
            return -1;
        }
        n->name = (p->tok++)->text;
        if ((jparse_skip(p, "=") && (n->a = jparse_expression(p)) == NULL) ||
            !parameter_fits(p, macro, n))
            return -1;
        *last = n;
        last = &n->next;
    }
    return 0;
}

/* Parse the body of a macro, or the block of a call statement, which is a macro
 * too.  A body that names `caller` has one more parameter, `caller`. */
static struct jnode *
parse_macro_body(struct jparse *p, struct jnode *n, const char *end)
{
    const int loops = p->loops, caller = p->caller;
    struct jnode **last = &n->a;
    int ok;

    p->loops = p->caller = 0;
    p->macros++;
    ok = block_body(p, end, &p->buffered, &n->c) == 0;
    p->macros--;
    if (ok && p->caller) {
        while (*last != NULL && !jtext_is((*last)->name, "caller"))
            last = &(*last)->next;
        if (*last == NULL && (*last = jparse_node(p, JN_ARG)) != NULL) {
            (*last)->name = (struct jtext){ "caller", 6 };
            (*last)->op = 1;
        }
        ok = *last != NULL;
    }
    p->loops = loops;
    p->caller = caller;
    return ok ? n : NULL;
}

static struct jnode *
parse_macro(struct jparse *p)
{
    struct jnode *n = jparse_node(p, JN_MACRO);

    if (n == NULL)
        return NULL;
    if (p->scopes > 0 || p->buffered > 0)
        return jparse_fail(p, "a macro inside a loop or block is not known");
    if (p->tok->kind != JT_NAME)
        return jparse_fail(p, "the name of a macro is missing");
    n->name = (p->tok++)->text;
    return parse_parameters(p, n) < 0 ? NULL
                                      : parse_macro_body(p, n, "endmacro");
}

/* The statement {% call(parameters) macro(arguments) %}. */
static struct jnode *
parse_called(struct jparse *p)
{
    struct jnode *n = jparse_node(p, JN_CALLED);

    if (n == NULL || (jparse_is(p, "(") && parse_parameters(p, n) < 0) ||
        (n->b = jparse_expression(p)) == NULL)
        return NULL;
    if (n->b->kind != JN_CALL)
        return jparse_fail(p, "a macro is called with a block");
    n->name = (struct jtext){ "caller", 6 };
    return parse_macro_body(p, n, "endcall");
}

static struct jnode *
parse_generation(struct jparse *p)
{
    struct jnode *n = jparse_node(p, JN_GENERATION);
    const int loops = p->loops;
    int ok;

    if (n == NULL)
        return NULL;
    if (p->buffered > 0)
        return jparse_fail(p,
            "generation inside a macro or another block is not known");
    p->t->marks = 1;
    p->loops = 0;
    ok = block_body(p, "endgeneration", &p->buffered, &n->c) == 0;
    p->loops = loops;
    return ok ? n : NULL;
}

static struct jnode *
parse_jump(struct jparse *p, enum jnode_kind kind)
{
    struct jnode *n = jparse_node(p, kind);

    if (n == NULL)
        return NULL;
    if (p->loops == 0)
        return jparse_fail(p, "break and continue belong into a loop");
    return end_of_tag(p) < 0 ? NULL : n;
}

/* Parse the statement whose name is next. */
static struct jnode *
parse_statement(struct jparse *p)
{
    if (p->tok->kind != JT_NAME)
        return jparse_fail(p, "the name of a statement is missing");
    if (jparse_skip_name(p, "if"))
        return parse_if(p);
    if (jparse_skip_name(p, "for"))
        return parse_for(p);
    if (jparse_skip_name(p, "set"))
        return parse_assignment(p);
    if (jparse_skip_name(p, "macro"))
        return parse_macro(p);
    if (jparse_skip_name(p, "with"))
        return parse_with(p);
    if (jparse_skip_name(p, "filter"))
        return parse_filtered(p);
    if (jparse_skip_name(p, "call"))
        return parse_called(p);
    if (jparse_skip_name(p, "generation"))
        return parse_generation(p);
    if (jparse_skip_name(p, "break"))
        return parse_jump(p, JN_BREAK);
    if (jparse_skip_name(p, "continue"))
        return parse_jump(p, JN_CONTINUE);
    return jparse_fail(p, "the statement \"%.*s\" is not known here",
        jtext_shown(p->tok->text), p->tok->text.p);
}

/* Parse the text between tags, a {{ }} tag, or a statement, and set *end to -1.
 * If a tag with a name of `ends` is next, step over that name, return NULL, and
 * set *end to the name's index. */
static struct jnode *
parse_piece(struct jparse *p, const char *const *ends, int *end)
{
    struct jnode *n;

    *end = -1;
    if (p->tok->kind == JT_DATA) {
        if ((n = jparse_node(p, JN_DATA)) != NULL)
            n->name = (p->tok++)->text;
        return n;
    }
    if (p->tok->kind == JT_PRINT) {
        if ((n = jparse_node(p, JN_PRINT)) == NULL)
            return NULL;
        p->tok++;
        if ((n->a = jparse_tuple(p, 1)) == NULL)
            return NULL;
        if (p->tok->kind != JT_PRINT_END)
            return jparse_fail(p, "\"}}\" is missing before \"%.*s\"",
                jtext_shown(p->tok->text), p->tok->text.p);
        p->tok++;
        return n;
    }
    p->tok++;
    for (int i = 0; ends != NULL && ends[i] != NULL; i++)
        if (jparse_skip_name(p, ends[i])) {
            *end = i;
            return NULL;
        }
    return parse_statement(p);
}

/* Parse a list of statements up to a tag of `ends`, or to the template's end
 * if `ends` is NULL.  Returns the index of the name in `ends`, else 0; -1. */
static int
parse_body(struct jparse *p, const char *const *ends, struct jnode **out)
{
    struct jnode **last = out;
    int end = -1;

    *out = NULL;
    if (++p->depth > JPARSE_DEPTH) {
        jparse_fail(p, "statements nest too deep");
        return -1;
    }
    while (p->tok->kind != JT_END) {
        struct jnode *n = parse_piece(p, ends, &end);

        if (end >= 0)
            break;
        if (n == NULL)
            return -1;
        if (p->unknown != NULL)
            return err_set(p->e, EX_INPUT,
                "line %d: the %s \"%.*s\" is not known here", p->unknown->line,
                p->unknown->kind == JN_FILTER ? "filter" : "test",
                jtext_shown(p->unknown->name), p->unknown->name.p);
        *last = n;
        last = &n->next;
    }
    p->depth--;
    if (p->tok->kind == JT_END && ends != NULL && end < 0) {
        jparse_fail(p, "\"%s\" is missing", ends[0]);
        return -1;
    }
    return end < 0 ? 0 : end;
}

/* Copy the text with \n for \r\n and \r, without a last line end, as jinja2
 * reads it.  NULL: the text is not UTF-8, or has a NUL. */
static char *
copy_source(const char *text, size_t n, size_t *m)
{
    char *src = xmalloc(n + 1);
    size_t len;

    *m = 0;
    for (size_t i = 0; i < n; i += len) {
        if ((len = utf8_len((const unsigned char *)text + i, n - i)) == 0 ||
            text[i] == '\0') {
            free(src);
            return NULL;
        }
        if (text[i] == '\r') {
            src[(*m)++] = '\n';
            len += i + 1 < n && text[i + 1] == '\n';
        } else {
            memcpy(src + *m, text + i, len);
            *m += len;
        }
    }
    *m -= *m > 0 && src[*m - 1] == '\n';
    src[*m] = '\0';
    return src;
}

struct jinja *
jinja_parse(const char *text, size_t n, struct err *e)
{
    struct jinja *t = xcalloc(1, sizeof *t);
    struct jparse p = { .t = t, .e = e };
    struct jtokens tokens = { 0 };
    int r = -1;
    size_t m;

    t->mem.most = 256 * SOURCE;
    if (n > SOURCE)
        err_set(e, EX_INPUT, "the template has more than %zu bytes", SOURCE);
    else if ((t->src = copy_source(text, n, &m)) == NULL)
        err_set(e, EX_INPUT, "the template is no text in UTF-8");
    else if (jinja_lex((struct jtext){ t->src, m }, &tokens, e) == 0) {
        p.tok = tokens.v;
        r = parse_body(&p, NULL, &t->body);
    }
    free(tokens.v);
    if (r == 0)
        return t;
    jinja_free(t);
    return NULL;
}

void
jinja_free(struct jinja *t)
{
    if (t == NULL)
        return;
    jmem_release(&t->mem);
    free(t->src);
    free(t);
}

int
jinja_marks(const struct jinja *t)
{
    return t->marks;
}
