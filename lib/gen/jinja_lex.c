/* Cutting a template into tokens; see jinja_lex.h. */
#include "gen/jinja_lex.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct lexer {
    struct jtext src;
    size_t at; /* byte that is next */
    int line;
    struct jtokens *out;
    size_t cap;
    struct err *e;
};

static struct jtoken *
push_token(struct lexer *l, enum jtoken_kind kind, size_t from, size_t to)
{
    struct jtokens *o = l->out;

    o->v = xgrow(o->v, o->n, &l->cap, sizeof *o->v);
    o->v[o->n] = (struct jtoken){ .kind = kind,
        .line = l->line,
        .text = { l->src.p + from, to - from } };
    return &o->v[o->n++];
}

/* Go on to byte `to`, and count the lines that end before that byte. */
static void
move_to(struct lexer *l, size_t to)
{
    for (; l->at < to; l->at++)
        l->line += l->src.p[l->at] == '\n';
}

static int
byte_is(const struct lexer *l, size_t at, char c)
{
    return at < l->src.n && l->src.p[at] == c;
}

/* Bytes of the white space that begins at byte `at`. */
static size_t
blank_at(const struct lexer *l, size_t at)
{
    return jtext_leading((struct jtext){ l->src.p + at, l->src.n - at });
}

/* Offset of the next tag's brace from byte `from` on, or of the end. */
static size_t
next_tag(const struct lexer *l, size_t from)
{
    for (size_t i = from; i + 1 < l->src.n; i++)
        if (l->src.p[i] == '{' && strchr("{%#", l->src.p[i + 1]) != NULL &&
            l->src.p[i + 1] != '\0')
            return i;
    return l->src.n;
}

/* Apply lstrip_blocks to the text [from,to) before a tag, and return the text's
 * end: the beginning of the tag's line if only white space is before the tag,
 * else `to`.  starts: 1: a line begins at `from`. */
static size_t
strip_line(const struct lexer *l, size_t from, size_t to, int starts)
{
    const struct jtext t = { l->src.p + from, to - from };
    const size_t blank = jtext_trailing(t);
    size_t line = to;

    while (line > from && l->src.p[line - 1] != '\n')
        line--;
    if (line == from && !starts)
        return to;
    return blank >= to - line ? line : to;
}

/* Push the text before the tag at `tag`, trimmed. */
static void
lex_data(struct lexer *l, size_t tag, int starts)
{
    size_t end = tag;

    if (tag < l->src.n && byte_is(l, tag + 2, '-'))
        end -= jtext_trailing((struct jtext){ l->src.p + l->at, tag - l->at });
    else if (tag < l->src.n && l->src.p[tag + 1] != '{' &&
        !byte_is(l, tag + 2, '+'))
        end = strip_line(l, l->at, tag, starts);
    if (end > l->at)
        push_token(l, JT_DATA, l->at, end);
    move_to(l, tag);
}

/* Step over the white space after a tag that ends with `sign`: all of it after
 * -, none after +, else a line end if `trims` (trim_blocks) is 1. */
static void
after_tag(struct lexer *l, char sign, int trims)
{
    if (sign == '-')
        move_to(l, l->at + blank_at(l, l->at));
    else if (sign != '+' && trims && byte_is(l, l->at, '\n'))
        move_to(l, l->at + 1);
}

static int
lex_comment(struct lexer *l)
{
    const int sign_first =
        byte_is(l, l->at + 2, '-') || byte_is(l, l->at + 2, '+');
    const size_t from = l->at + 2 + (size_t)sign_first;
    size_t end = from;
    char sign;

    while (end + 1 < l->src.n &&
        (l->src.p[end] != '#' || l->src.p[end + 1] != '}'))
        end++;
    if (end + 1 >= l->src.n)
        return err_set(l->e, EX_INPUT, "line %d: the comment does not end",
            l->line);
    sign = end > from ? l->src.p[end - 1] : ' ';
    move_to(l, end + 2);
    after_tag(l, sign, 1);
    return 0;
}

/* If the tag {% name %} begins at byte `at`, return the tag's length, else 0.
 * *sign: the - or + before the tag's last %}, else a space. */
static size_t
named_tag(const struct lexer *l, size_t at, const char *name, char *sign)
{
    size_t i = at + 2;

    if (!byte_is(l, at, '{') || !byte_is(l, at + 1, '%'))
        return 0;
    i += byte_is(l, i, '-') || byte_is(l, i, '+');
    i += blank_at(l, i);
    if (l->src.n - i < strlen(name) ||
        memcmp(l->src.p + i, name, strlen(name)) != 0)
        return 0;
    i += strlen(name);
    i += blank_at(l, i);
    *sign = byte_is(l, i, '-') || byte_is(l, i, '+') ? l->src.p[i] : ' ';
    i += *sign != ' ';
    return byte_is(l, i, '%') && byte_is(l, i + 1, '}') ? i + 2 - at : 0;
}

/* If the tag at l->at is {% raw %}, push the text up to {% endraw %} and return
 * 1, else 0; -1. */
static int
lex_raw(struct lexer *l)
{
    const int line = l->line;
    char sign;
    size_t n = named_tag(l, l->at, "raw", &sign), end;

    if (n == 0 || sign == '+')
        return 0;
    move_to(l, l->at + n);
    after_tag(l, sign, 0);
    if (l->at == l->src.n) /* jinja2 takes a raw at the very end */
        return 1;
    for (end = l->at; end < l->src.n; end++)
        if ((n = named_tag(l, end, "endraw", &sign)) > 0)
            break;
    if (end >= l->src.n)
        return err_set(l->e, EX_INPUT, "line %d: the raw text does not end",
            line);
    lex_data(l, end, l->src.p[l->at - 1] == '\n');
    move_to(l, end + n);
    after_tag(l, sign, 1);
    return 1;
}

static int
lex_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int
lex_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static int
lex_number(struct lexer *l)
{
    const char *p = l->src.p;
    size_t i = l->at;
    int real = 0;
    struct jtoken *t;
    char text[64];

    while (i < l->src.n && lex_is_digit(p[i]))
        i++;
    if (byte_is(l, i, '.') && i + 1 < l->src.n && lex_is_digit(p[i + 1])) {
        real = 1;
        for (i++; i < l->src.n && lex_is_digit(p[i]);)
            i++;
    }
    if (i - l->at >= sizeof text || (i < l->src.n && lex_is_letter(p[i])))
        return err_set(l->e, EX_INPUT,
            "line %d: numbers are known in decimal digits only", l->line);
    memcpy(text, p + l->at, i - l->at);
    text[i - l->at] = '\0';
    t = push_token(l, real ? JT_REAL : JT_INT, l->at, i);
    errno = 0;
    if (real)
        t->d = strtod(text, NULL);
    else
        t->i = strtoimax(text, NULL, 10);
    if (errno != 0)
        return err_set(l->e, EX_INPUT, "line %d: the number %s is too large",
            l->line, text);
    move_to(l, i);
    return 0;
}

static int
lex_string(struct lexer *l)
{
    const char quote = l->src.p[l->at];
    size_t i = l->at + 1;

    while (i < l->src.n && l->src.p[i] != quote)
        i += l->src.p[i] == '\\' ? 2 : 1;
    if (i >= l->src.n)
        return err_set(l->e, EX_INPUT,
            "line %d: the text in quotes does not "
            "end",
            l->line);
    push_token(l, JT_STRING, l->at + 1, i);
    move_to(l, i + 1);
    return 0;
}

static int
lex_operator(struct lexer *l, int *depth)
{
    static const char *const two[] = { "==", "!=", "<=", ">=", "**", "//" };
    const char *p = l->src.p + l->at;

    for (size_t i = 0; i < sizeof two / sizeof *two; i++)
        if (l->src.n - l->at > 1 && memcmp(p, two[i], 2) == 0) {
            push_token(l, JT_OPERATOR, l->at, l->at + 2);
            l->at += 2;
            return 0;
        }
    if (*p == '\0' || strchr("+-*/%~<>=.,:|()[]{}", *p) == NULL)
        return err_set(l->e, EX_INPUT,
            "line %d: an expression has the byte 0x%02x", l->line,
            (unsigned char)*p);
    *depth += strchr("([{", *p) != NULL;
    *depth -= strchr(")]}", *p) != NULL;
    push_token(l, JT_OPERATOR, l->at, l->at + 1);
    l->at++;
    return 0;
}

/* Read one token inside a tag.  *depth: brackets that are open. */
static int
lex_token(struct lexer *l, int *depth)
{
    const char c = l->src.p[l->at];
    size_t i = l->at;

    if (lex_is_digit(c))
        return lex_number(l);
    if (c == '"' || c == '\'')
        return lex_string(l);
    if (!lex_is_letter(c))
        return lex_operator(l, depth);
    while (i < l->src.n &&
        (lex_is_letter(l->src.p[i]) || lex_is_digit(l->src.p[i])))
        i++;
    push_token(l, JT_NAME, l->at, i);
    l->at = i;
    return 0;
}

/* Returns the bytes of the tag's end if the tag ends at l->at, else 0.  *sign:
 * the - or + in the tag's end, else a space. */
static size_t
tag_end(const struct lexer *l, char kind, char *sign)
{
    const char *p = l->src.p + l->at;
    const size_t left = l->src.n - l->at;
    const char first = kind == '{' ? '}' : '%';

    *sign = ' ';
    if (left >= 2 && p[0] == first && p[1] == '}')
        return 2;
    if (left >= 3 && (p[0] == '-' || (p[0] == '+' && kind == '%')) &&
        p[1] == first && p[2] == '}') {
        *sign = p[0];
        return 3;
    }
    return 0;
}

static int
lex_tag(struct lexer *l)
{
    const char kind = l->src.p[l->at + 1];
    const int line = l->line;
    int depth = 0;
    char sign;
    size_t n;

    push_token(l, kind == '{' ? JT_PRINT : JT_BLOCK, l->at, l->at + 2);
    l->at += 2;
    if (byte_is(l, l->at, '-') || byte_is(l, l->at, '+'))
        l->at++;
    for (;;) {
        move_to(l, l->at + blank_at(l, l->at));
        if (l->at == l->src.n)
            return err_set(l->e, EX_INPUT, "line %d: the tag does not end",
                line);
        if (depth <= 0 && (n = tag_end(l, kind, &sign)) > 0)
            break;
        if (lex_token(l, &depth) < 0)
            return -1;
    }
    push_token(l, kind == '{' ? JT_PRINT_END : JT_BLOCK_END, l->at, l->at + n);
    l->at += n;
    after_tag(l, sign, kind == '%');
    return 0;
}

int
jinja_lex(struct jtext src, struct jtokens *out, struct err *e)
{
    struct lexer l = { .src = src, .line = 1, .out = out, .e = e };
    int starts = 1;

    *out = (struct jtokens){ 0 };
    while (l.at < src.n) {
        const size_t tag = next_tag(&l, l.at);
        int raw;

        lex_data(&l, tag, starts);
        if (tag == src.n)
            break;
        if ((raw = lex_raw(&l)) < 0 ||
            (raw == 0 &&
                (src.p[tag + 1] == '#' ? lex_comment(&l) : lex_tag(&l)) < 0))
            return -1;
        starts = src.p[l.at - 1] == '\n';
    }
    push_token(&l, JT_END, src.n, src.n);
    return 0;
}
