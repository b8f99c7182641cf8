/* Filters of a form's fields; see task_filter.h. */
#include "task_filter.h"
#include "text/unicode.h"

#include <stdlib.h>
#include <string.h>
#include <unicode/uchar.h>
#include <unicode/ucasemap.h>

/* Arguments of a filter function, which filters the text s[n] and appends the
 * result to out. */
struct filtered {
    const struct filter_step *step;
    const struct map_word *map; /* [nmap] */
    size_t nmap;
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

/* Length in bytes of the last character of s[n], n > 0. */
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

/* Append s[n] in lower case, by the rules of the root locale. */
static int
add_lower(struct buf *out, const char *s, size_t n, struct err *e)
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
    if (add_lower(f->out, f->s, len, e) < 0)
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
    return add_lower(f->out, f->s + len, f->n - len, e);
}

/* Offset of the last word.  The word begins after the last space, and is empty
 * if the text ends with a space. */
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

/* Find the argument's first occurrence in the text; NULL and *e: none. */
static const char *
first_match(const struct filtered *f, struct err *e)
{
    const char *at = strstr(f->s, f->step->arg.v[0]);

    if (at == NULL)
        err_set(e, EX_INPUT, "there is no \"%s\" in \"%.60s\"",
            f->step->arg.v[0], f->s);
    return at;
}

static int
f_before(struct filtered *f, struct err *e)
{
    const char *at = first_match(f, e);

    if (at == NULL)
        return -1;
    buf_add(f->out, f->s, (size_t)(at - f->s));
    return 0;
}

static int
f_after(struct filtered *f, struct err *e)
{
    const char *at = first_match(f, e);

    if (at == NULL)
        return -1;
    buf_adds(f->out, at + strlen(f->step->arg.v[0]));
    return 0;
}

static int
f_replace(struct filtered *f, struct err *e)
{
    const char *const what = f->step->arg.v[0], *p = f->s, *at;

    if (*what == '\0')
        return err_set(e, EX_INPUT, "replace needs a text that it replaces");
    while ((at = strstr(p, what)) != NULL) {
        buf_add(f->out, p, (size_t)(at - p));
        buf_adds(f->out, f->step->arg.v[1]);
        p = at + strlen(what);
    }
    buf_adds(f->out, p);
    return 0;
}

/* Remove square brackets and the text between them, within a line. */
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
    for (size_t i = 0; i < f->nmap; i++) {
        const struct map_word *m = &f->map[i];

        if (strcmp(m->map, f->step->arg.v[0]) == 0 &&
            strcmp(m->from, f->s) == 0) {
            buf_adds(f->out, m->to);
            return 0;
        }
    }
    return err_set(e, EX_INPUT, "map %s has no \"%.60s\"", f->step->arg.v[0],
        f->s);
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

void
strings_add(struct strings *s, const char *p, size_t n)
{
    s->v = xgrow_pow2(s->v, s->n, sizeof(*s->v));
    s->v[s->n] = xmalloc(n + 1);
    memcpy(s->v[s->n], p, n);
    s->v[s->n++][n] = '\0';
}

void
strings_release(struct strings *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->v[i]);
    free(s->v);
    memset(s, 0, sizeof(*s));
}

int
filter_named(struct filter_step *step, const char *name, struct err *e)
{
    size_t i = 0;

    while (i < NFILTERS && strcmp(filters[i].name, name) != 0)
        i++;
    if (i == NFILTERS)
        return err_set(e, EX_INPUT, "\"%s\" is no filter", name);
    if (step->arg.n != filters[i].narg)
        return err_set(e, EX_INPUT, "%s has %zu arguments, not %zu", name,
            step->arg.n, filters[i].narg);
    step->filter = i;
    return 0;
}

int
filter_apply(const struct filter_step *step, const struct map_word *map,
    size_t nmap, char **s, struct err *e)
{
    struct buf out = { 0 };
    struct filtered f = { step, map, nmap, *s, strlen(*s), &out };

    buf_adds(&out, "");
    if (filters[step->filter].fn(&f, e) < 0) {
        buf_release(&out);
        return -1;
    }
    free(*s);
    *s = out.p;
    return 0;
}
