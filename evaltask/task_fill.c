/* Fields of an item into the texts of a form, and filters. */
#include "task_fill.h"
#include "base/mem.h"
#include "text/unicode.h"

#include <float.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unicode/uchar.h>
#include <unicode/ucasemap.h>

/* ---- filters: out is what becomes of s[n] ---- */

struct filtered {
    const struct form *form;
    const struct strings *arg;
    const char *s;
    size_t n;
    struct buf *out;
};

static uint32_t
next_char(const char *s, size_t n, size_t *len)
{
    return utf8_next((const unsigned char *)s, (const unsigned char *)s + n,
        len);
}

/* Bytes of the last character of s[n], n > 0. */
static size_t
last_len(const char *s, size_t n)
{
    const unsigned char *p = (const unsigned char *)s;

    return (size_t)(p + n - uni_before(p + n, p));
}

static int
f_strip(struct filtered *f, struct err *e)
{
    size_t len;

    (void)e;
    while (f->n > 0 && uni_python_space(next_char(f->s, f->n, &len))) {
        f->s += len;
        f->n -= len;
    }
    while (f->n > 0) {
        len = last_len(f->s, f->n);
        if (!uni_python_space(
                next_char(f->s + f->n - len, len, &(size_t){ 0 })))
            break;
        f->n -= len;
    }
    buf_add(f->out, f->s, f->n);
    return 0;
}

static int
f_but_last(struct filtered *f, struct err *e)
{
    (void)e;
    buf_add(f->out, f->s, f->n > 0 ? f->n - last_len(f->s, f->n) : 0);
    return 0;
}

/* Append s[n] in lower case, as the root locale has it. */
static int
lower(struct buf *out, const char *s, size_t n, struct err *e)
{
    UErrorCode status = U_ZERO_ERROR;
    UCaseMap *map = ucasemap_open("", 0, &status);
    int32_t got = 0;

    if (n > INT32_MAX / 4)
        return err_set(e, EX_INPUT, "a text of %zu bytes is too long", n);
    buf_reserve(out, 3 * n + 16);
    if (U_SUCCESS(status))
        got = ucasemap_utf8ToLower(map, out->p + out->n, (int32_t)(3 * n + 16),
            s, (int32_t)n, &status);
    ucasemap_close(map);
    if (U_FAILURE(status))
        return err_set(e, EX_SYS, "lower case: %s", u_errorName(status));
    out->n += (size_t)got;
    out->p[out->n] = '\0';
    return 0;
}

static int
f_lower_first(struct filtered *f, struct err *e)
{
    size_t len = 0;

    if (f->n == 0)
        return 0;
    next_char(f->s, f->n, &len);
    if (lower(f->out, f->s, len, e) < 0)
        return -1;
    buf_add(f->out, f->s + len, f->n - len);
    return 0;
}

static int
f_capitalize(struct filtered *f, struct err *e)
{
    size_t len = 0;
    uint32_t c;

    if (f->n == 0)
        return 0;
    c = next_char(f->s, f->n, &len);
    utf8_put(f->out, c == UTF8_BAD ? 0xfffd : (uint32_t)u_totitle((UChar32)c));
    return lower(f->out, f->s + len, f->n - len, e);
}

/* Where the last word begins: behind the last space, which is not part of it;
 * n + 1 spaces make n + 2 words, of which some are empty. */
static size_t
last_word(const struct filtered *f)
{
    size_t at = f->n;

    while (at > 0 && f->s[at - 1] != ' ')
        at--;
    return at;
}

static int
f_last_word(struct filtered *f, struct err *e)
{
    const size_t at = last_word(f);

    (void)e;
    buf_add(f->out, f->s + at, f->n - at);
    return 0;
}

static int
f_but_last_word(struct filtered *f, struct err *e)
{
    const size_t at = last_word(f);

    (void)e;
    buf_add(f->out, f->s, at > 0 ? at - 1 : 0);
    return 0;
}

/* The argument's first place in the text; NULL and *e. */
static const char *
find(const struct filtered *f, struct err *e)
{
    const char *at = strstr(f->s, f->arg->v[0]);

    if (at == NULL)
        err_set(e, EX_INPUT, "no \"%s\" in \"%.60s\"", f->arg->v[0], f->s);
    return at;
}

static int
f_before(struct filtered *f, struct err *e)
{
    const char *at = find(f, e);

    if (at == NULL)
        return -1;
    buf_add(f->out, f->s, (size_t)(at - f->s));
    return 0;
}

static int
f_after(struct filtered *f, struct err *e)
{
    const char *at = find(f, e);

    if (at == NULL)
        return -1;
    buf_adds(f->out, at + strlen(f->arg->v[0]));
    return 0;
}

static int
f_replace(struct filtered *f, struct err *e)
{
    const char *const what = f->arg->v[0], *p = f->s, *at;

    if (*what == '\0')
        return err_set(e, EX_INPUT, "replace: of nothing");
    while ((at = strstr(p, what)) != NULL) {
        buf_add(f->out, p, (size_t)(at - p));
        buf_adds(f->out, f->arg->v[1]);
        p = at + strlen(what);
    }
    buf_adds(f->out, p);
    return 0;
}

/* Without what stands in square brackets on one line, and them. */
static int
f_unbracket(struct filtered *f, struct err *e)
{
    const char *p = f->s;

    (void)e;
    while (*p != '\0') {
        const size_t n = *p == '[' ? strcspn(p, "]\n") : 0;

        if (n > 0 && p[n] == ']')
            p += n + 1;
        else
            buf_addc(f->out, *p++);
    }
    return 0;
}

static int
f_map(struct filtered *f, struct err *e)
{
    for (size_t i = 0; i < f->form->nmap; i++) {
        const struct map_word *m = &f->form->map[i];

        if (strcmp(m->map, f->arg->v[0]) == 0 && strcmp(m->from, f->s) == 0) {
            buf_adds(f->out, m->to);
            return 0;
        }
    }
    return err_set(e, EX_INPUT, "map %s has no \"%.60s\"", f->arg->v[0], f->s);
}

static const struct {
    const char *name;
    size_t narg;
    int (*fn)(struct filtered *f, struct err *e);
} filters[] = { { "strip", 0, f_strip }, { "but-last", 0, f_but_last },
    { "lower-first", 0, f_lower_first }, { "capitalize", 0, f_capitalize },
    { "last-word", 0, f_last_word }, { "but-last-word", 0, f_but_last_word },
    { "before", 1, f_before }, { "after", 1, f_after },
    { "replace", 2, f_replace }, { "unbracket", 0, f_unbracket },
    { "map", 1, f_map } };
enum { NFILTERS = sizeof(filters) / sizeof(*filters) };

static size_t
filter_find(const char *name)
{
    size_t i = 0;

    while (i < NFILTERS && strcmp(filters[i].name, name) != 0)
        i++;
    return i;
}

int
filter_check(const struct fill_step *s, struct err *e)
{
    const size_t i = filter_find(s->name);

    if (i == NFILTERS)
        return err_set(e, EX_INPUT, "\"%s\" is no filter", s->name);
    if (s->arg.n != filters[i].narg)
        return err_set(e, EX_INPUT, "%s has %zu arguments, not %zu", s->name,
            s->arg.n, filters[i].narg);
    return 0;
}

/* s as all filters of a part leave it, replaced. */
static int
apply(const struct form *form, const struct fill_part *part, char **s,
    struct err *e)
{
    for (size_t i = 0; i < part->nstep; i++) {
        struct buf out = { 0 };
        struct filtered f = { form, &part->step[i].arg, *s, strlen(*s), &out };

        buf_adds(&out, "");
        if (filters[filter_find(part->step[i].name)].fn(&f, e) < 0) {
            buf_release(&out);
            return -1;
        }
        free(*s);
        *s = out.p;
    }
    return 0;
}

/* ---- fields ---- */

/* A real as Python's repr writes it: the fewest digits that read back as x,
 * with an exponent from 1e16 on and below 1e-4.  (For some powers of 2 Python
 * knows a form that is a digit shorter.) */
static void
python_real(char *out, size_t size, double x)
{
    int digits = 0;
    long exponent;

    do
        snprintf(out, size, "%.*e", digits, x);
    while (strtod(out, NULL) != x && ++digits < DBL_DECIMAL_DIG);
    exponent = strtol(strchr(out, 'e') + 1, NULL, 10);
    if (exponent >= -4 && exponent < 16)
        snprintf(out, size, "%.*f",
            digits > exponent ? digits - (int)exponent : 1, x);
}

/* Values that are no text become what lm-eval's templates print: Python's. */
static int
add_value(const json_t *v, struct strings *out, struct err *e)
{
    char number[64];

    if (json_is_string(v)) {
        strings_add(out, json_string_value(v), json_string_length(v));
        return 0;
    }
    if (json_is_integer(v))
        snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT,
            json_integer_value(v));
    else if (json_is_real(v))
        python_real(number, sizeof(number), json_real_value(v));
    else if (json_is_boolean(v))
        snprintf(number, sizeof(number), "%s",
            json_is_true(v) ? "True" : "False");
    else if (json_is_null(v))
        snprintf(number, sizeof(number), "None");
    else
        return err_set(e, EX_INPUT, "is %s",
            v == NULL ? "missing" : "no text, number or list");
    strings_add(out, number, strlen(number));
    return 0;
}

/* What lies at path below v: of a list, by a number, or of all of it. */
static int
walk(const json_t *v, const char *path, struct strings *out, int *list,
    struct err *e)
{
    const size_t n = strcspn(path, ".");
    const char *rest = path[n] == '.' ? path + n + 1 : path + n;
    char *name, *end;
    size_t i;
    int r = 0;

    if (json_is_array(v)) {
        i = (size_t)strtoul(path, &end, 10);
        if (n > 0 && end == path + n)
            return walk(json_array_get(v, i), rest, out, list, e);
        *list = 1;
        for (i = 0; i < json_array_size(v) && r == 0; i++)
            r = walk(json_array_get(v, i), path, out, list, e);
        return r;
    }
    if (n == 0)
        return add_value(v, out, e);
    name = xasprintf("%.*s", (int)n, path);
    r = walk(json_object_get(v, name), rest, out, list, e);
    free(name);
    return r;
}

static int fill_some(const struct form *form, const struct fill *f, size_t nset,
    const json_t *item, struct buf *out, struct err *e);

/* A part's values, filtered; only the first nset of the made fields are. */
static int
values(const struct form *form, const struct fill_part *part, size_t nset,
    const json_t *item, struct strings *out, int *list, struct err *e)
{
    int r = 0, made = 0;

    *list = 0;
    for (size_t i = nset; i-- > 0 && !made;)
        if (strcmp(form->set[i].name, part->text) == 0) {
            struct buf b = { 0 };

            made = 1;
            buf_adds(&b, "");
            r = fill_some(form, &form->set[i].fill, i, item, &b, e);
            strings_add(out, b.p, b.n);
            buf_release(&b);
        }
    if (!made && (r = walk(item, part->text, out, list, e)) < 0)
        err_prefix(e, "field \"%s\"", part->text);
    for (size_t i = 0; i < out->n && r == 0; i++)
        if ((r = apply(form, part, &out->v[i], e)) < 0)
            err_prefix(e, "field \"%s\"", part->text);
    return r;
}

static int
fill_some(const struct form *form, const struct fill *f, size_t nset,
    const json_t *item, struct buf *out, struct err *e)
{
    int r = 0;

    for (size_t i = 0; i < f->n && r == 0; i++) {
        struct strings s = { 0 };
        int list = 0;

        if (!f->part[i].is_field) {
            buf_adds(out, f->part[i].text);
            continue;
        }
        r = values(form, &f->part[i], nset, item, &s, &list, e);
        if (r == 0 && list)
            r = err_set(e, EX_INPUT, "field \"%s\" is a list", f->part[i].text);
        if (r == 0)
            buf_adds(out, s.v[0]);
        strings_release(&s);
    }
    return r;
}

int
fill_text(const struct form *form, const struct fill *f, const json_t *item,
    struct buf *out, struct err *e)
{
    buf_adds(out, "");
    return fill_some(form, f, form->nset, item, out, e);
}

int
fill_list(const struct form *form, const struct fill *f, const json_t *item,
    struct strings *out, struct err *e)
{
    struct strings s = { 0 };
    struct buf b = { 0 };
    int r = 0, list = 0;

    if (f->n == 1 && f->part[0].is_field) {
        r = values(form, &f->part[0], form->nset, item, &s, &list, e);
        for (size_t i = 0; i < s.n && r == 0; i++)
            strings_add(out, s.v[i], strlen(s.v[i]));
    } else {
        r = fill_text(form, f, item, &b, e);
        if (r == 0)
            strings_add(out, b.p, b.n);
    }
    strings_release(&s);
    buf_release(&b);
    return r;
}
