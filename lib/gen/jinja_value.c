/* Values of templates; see jinja_value.h. */
#include "gen/jinja_value.h"

#include "text/unicode.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK ((size_t)32 << 10) /* bytes of a chunk, if no block is larger */

struct jmem_chunk {
    struct jmem_chunk *before;
    size_t size;
    alignas(max_align_t) unsigned char p[];
};

void *
jmem_alloc(struct jmem *m, size_t n, size_t size)
{
    const size_t unit = alignof(max_align_t);
    size_t all;
    void *p;

    if (size_mul(n, size, &all) < 0 || all > m->most)
        return NULL;
    all = (all + unit - 1) / unit * unit;
    if (all > m->room) {
        const size_t room = all > CHUNK ? all : CHUNK;
        struct jmem_chunk *c;

        if (room > m->most - m->used)
            return NULL;
        c = xmalloc(sizeof *c + room);
        c->before = m->last;
        c->size = room;
        m->last = c;
        m->room = room;
        m->used += room;
    }
    p = m->last->p + (m->last->size - m->room);
    m->room -= all;
    return memset(p, 0, all);
}

void
jmem_release(struct jmem *m)
{
    while (m->last != NULL) {
        struct jmem_chunk *c = m->last;

        m->last = c->before;
        free(c);
    }
    m->room = m->used = 0;
}

struct jval
jval_int(int64_t i)
{
    return (struct jval){ .kind = J_INT, .i = i };
}

struct jval
jval_bool(int is)
{
    return (struct jval){ .kind = J_BOOL, .i = is != 0 };
}

struct jval
jval_text(const char *p, size_t n)
{
    return (struct jval){ .kind = J_TEXT, .t = { p, n } };
}

int
jtext_is(struct jtext t, const char *want)
{
    return strncmp(want, t.n > 0 ? t.p : "", t.n) == 0 && want[t.n] == '\0';
}

int
jtext_equal(struct jtext a, struct jtext b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

int
jtext_shown(struct jtext t)
{
    return (int)(t.n < 80 ? t.n : 80);
}

size_t
jtext_length(struct jtext t)
{
    size_t n = 0;

    for (size_t i = 0; i < t.n; i++)
        n += ((unsigned char)t.p[i] & 0xc0) != 0x80;
    return n;
}

size_t
jtext_at(struct jtext t, size_t i)
{
    size_t at = 0;

    while (at < t.n) {
        if (((unsigned char)t.p[at] & 0xc0) != 0x80 && i-- == 0)
            return at;
        at++;
    }
    return t.n;
}

size_t
jtext_leading(struct jtext t)
{
    const unsigned char *p = (const unsigned char *)t.p;
    size_t at = 0, len;

    while (at < t.n && uni_python_space(utf8_next(p + at, p + t.n, &len)))
        at += len;
    return at;
}

size_t
jtext_trailing(struct jtext t)
{
    const unsigned char *p = (const unsigned char *)t.p;
    size_t end = t.n, len;

    while (end > 0) {
        size_t at = end - 1;

        while (at > 0 && (p[at] & 0xc0) == 0x80)
            at--;
        if (!uni_python_space(utf8_next(p + at, p + end, &len)))
            break;
        end = at;
    }
    return t.n - end;
}

const char *
jval_kind(const struct jval *v)
{
    static const char *const name[J_KINDS] = { "an undefined value", "none",
        "a bool", "a whole number", "a number", "a text", "a list", "a tuple",
        "an object", "a namespace", "a loop", "a macro", "a caller",
        "a function", "a method" };

    return name[v->kind];
}

int
jval_true(const struct jval *v)
{
    switch (v->kind) {
    case J_UNDEFINED:
    case J_NONE: return 0;
    case J_BOOL:
    case J_INT: return v->i != 0;
    case J_REAL: return v->d != 0.0;
    case J_TEXT: return v->t.n > 0;
    case J_LIST: return v->lazy || v->list.n > 0;
    case J_TUPLE: return v->list.n > 0;
    case J_DICT: return v->dict->n > 0;
    default: return 1;
    }
}

int
jval_is_number(const struct jval *v)
{
    return v->kind == J_BOOL || v->kind == J_INT || v->kind == J_REAL;
}

double
jval_real(const struct jval *v)
{
    return v->kind == J_REAL ? v->d : (double)v->i;
}

static int
json_array_value(struct jmem *m, const json_t *j, struct jval *out)
{
    *out = (struct jval){ .kind = J_LIST };
    out->list.n = json_array_size(j);
    out->list.v = jmem_alloc(m, out->list.n + 1, sizeof *out->list.v);
    if (out->list.v == NULL)
        return -1;
    for (size_t i = 0; i < out->list.n; i++)
        if (jval_of_json(m, json_array_get(j, i), &out->list.v[i]) < 0)
            return -1;
    return 0;
}

/* Names are not compared: an object of jansson has each of its names once. */
static int
json_object_value(struct jmem *m, const json_t *j, struct jval *out)
{
    const size_t cap = json_object_size(j) + 1;
    struct jdict *d = jmem_alloc(m, 1, sizeof *d);
    const char *name;
    json_t *v;

    if (d == NULL || (d->name = jmem_alloc(m, cap, sizeof *d->name)) == NULL ||
        (d->v = jmem_alloc(m, cap, sizeof *d->v)) == NULL)
        return -1;
    d->cap = cap;
    json_object_foreach((json_t *)(uintptr_t)j, name, v)
    {
        d->name[d->n] = (struct jtext){ name, strlen(name) };
        if (jval_of_json(m, v, &d->v[d->n++]) < 0)
            return -1;
    }
    *out = (struct jval){ .kind = J_DICT, .dict = d };
    return 0;
}

int
jval_of_json(struct jmem *m, const json_t *j, struct jval *out)
{
    switch (json_typeof(j)) {
    case JSON_OBJECT: return json_object_value(m, j, out);
    case JSON_ARRAY: return json_array_value(m, j, out);
    case JSON_STRING:
        *out = jval_text(json_string_value(j), json_string_length(j));
        return 0;
    case JSON_INTEGER: *out = jval_int(json_integer_value(j)); return 0;
    case JSON_REAL:
        *out = (struct jval){ .kind = J_REAL, .d = json_real_value(j) };
        return 0;
    case JSON_TRUE: *out = jval_bool(1); return 0;
    case JSON_FALSE: *out = jval_bool(0); return 0;
    default: *out = (struct jval){ .kind = J_NONE }; return 0;
    }
}
