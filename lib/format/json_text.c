/* Large members of a JSON as text; see json.h. */
#include "format/json.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

static const char *
skip_space(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
        p++;
    return p;
}

/* Behind the string at p, or NULL. */
static const char *
skip_string(const char *p, const char *end)
{
    for (p++; p < end && *p != '"'; p++)
        p += *p == '\\';
    return p < end ? p + 1 : NULL;
}

/* Behind the value at p, or NULL; *count: its members. */
static const char *
skip_value(const char *p, const char *end, size_t *count)
{
    const char *const first = skip_space(p + 1, end);
    size_t depth = 0;

    *count = first < end && *first != ']' && *first != '}';
    for (; p < end; p++) {
        if (*p == '"') {
            p = skip_string(p, end);
            if (!p || depth == 0)
                return p;
            p--;
        } else if (*p == '{' || *p == '[') {
            depth++;
        } else if (*p == '}' || *p == ']') {
            if (depth <= 1)
                return depth ? p + 1 : p;
            depth--;
        } else if (*p == ',') {
            if (depth == 0)
                return p;
            *count += depth == 1;
        }
    }
    return p;
}

/* What follows in the path of a part behind `under`, unless that is NULL, and
 * name[n], as they stand in the text: '.', '\0', or -1: it is not of them. */
static int
leads(const struct js_part *part, const char *under, const char *name, size_t n)
{
    const size_t skip = under ? strlen(under) + 1 : 0;
    const char *at = part->path;

    if (under && (strncmp(at, under, skip - 1) != 0 || at[skip - 1] != '.'))
        return -1;
    at += skip;
    return strlen(at) >= n && memcmp(at, name, n) == 0 &&
            (at[n] == '.' || at[n] == '\0')
        ? at[n]
        : -1;
}

/* Find the parts in the object at p, which is member `under`, or the whole:
 * behind it, or NULL when it is not plain. */
static const char *
find(const char *p, const char *end, const char *under, struct js_part *part,
    size_t nparts)
{
    for (p++; (p = skip_space(p, end)) < end && *p == '"';
         p = skip_space(p, end) + 1) {
        const char *const name = p + 1, *to = skip_string(p, end);
        const size_t n = to ? (size_t)(to - 1 - name) : 0;
        size_t count = 0;
        int below = 0;

        if (!to || (p = skip_space(to, end)) == end || *p != ':' ||
            (p = skip_space(p + 1, end)) == end)
            return NULL;
        for (size_t i = 0; i < nparts; i++)
            below |=
                !under && *p == '{' && leads(&part[i], under, name, n) == '.';
        if (below) {
            char *const key = xasprintf("%.*s", (int)n, name);

            to = find(p, end, key, part, nparts);
            free(key);
        } else {
            to = skip_value(p, end, &count);
        }
        if (!to)
            return NULL;
        for (size_t i = 0; i < nparts; i++)
            if (leads(&part[i], under, name, n) == '\0') {
                if (part[i].n > 0)
                    return NULL; /* twice */
                if (*p != part[i].open)
                    continue;
                part[i].p = p;
                part[i].n = (size_t)(to - p);
                part[i].count = count;
            }
        p = skip_space(to, end);
        if (p == end || *p != ',')
            break;
    }
    return p < end && *p == '}' ? p + 1 : NULL;
}

json_t *
js_parse_parts(const char *text, size_t n, struct js_part *part, size_t nparts,
    struct err *e)
{
    const char *const end = text + n, *p = skip_space(text, end);
    struct buf rest = { 0 };
    json_t *j = NULL;
    struct err other;
    size_t found = 0;

    for (size_t i = 0; i < nparts; i++)
        part[i].n = 0;
    if (p < end && *p == '{' && find(p, end, NULL, part, nparts))
        for (size_t i = 0; i < nparts; i++)
            found += part[i].n > 0;
    if (found > 0) {
        for (p = text; p < end;) {
            const struct js_part *next = NULL;

            for (size_t i = 0; i < nparts; i++)
                if (part[i].n > 0 && part[i].p >= p &&
                    (!next || part[i].p < next->p))
                    next = &part[i];
            buf_add(&rest, p, (size_t)((next ? next->p : end) - p));
            p = next ? next->p + next->n : end;
            if (next)
                buf_adds(&rest, next->open == '{' ? "{}" : "[]");
        }
        j = js_parse(rest.p, rest.n, &other);
        buf_release(&rest);
    }
    if (j)
        return j;
    for (size_t i = 0; i < nparts; i++)
        part[i].n = 0;
    return js_parse(text, n, e);
}

void
js_in_begin(struct js_in *in, const struct js_part *part)
{
    *in = (struct js_in){ part->p, part->p + part->n, NULL, 0, part->n };
}

void
js_in_end(struct js_in *in)
{
    free(in->text);
}

int
js_in_mark(struct js_in *in, char c)
{
    in->p = skip_space(in->p, in->end);
    if (in->p == in->end || *in->p != c)
        return 0;
    in->p++;
    return 1;
}

int
js_in_done(struct js_in *in)
{
    return skip_space(in->p, in->end) == in->end ? 0 : -1;
}

int
js_in_number(struct js_in *in, uint64_t *v)
{
    const char *p = skip_space(in->p, in->end);
    const char *const from = p;

    for (*v = 0; p < in->end && *p >= '0' && *p <= '9'; p++)
        if (p - from == 15)
            return -1;
        else
            *v = *v * 10 + (uint64_t)(*p - '0');
    in->p = p;
    return p == from || (*from == '0' && p - from > 1) ? -1 : 0;
}

/* Length of the character at p, of two bytes or more; 0: there is none. */
static size_t
character(const char *s, const char *end)
{
    const unsigned char *p = (const unsigned char *)s;
    const size_t n = *p >= 0xf0 ? 4 : *p >= 0xe0 ? 3 : 2;

    if (*p < 0xc2 || *p > 0xf4 || (size_t)(end - s) < n ||
        (*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] > 0x9f) ||
        (*p == 0xf0 && p[1] < 0x90) || (*p == 0xf4 && p[1] > 0x8f))
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

/* Four hexadecimal digits, or -1. */
static int32_t
hex4(const char *p, const char *end)
{
    int32_t v = 0;

    if (end - p < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        const int c = p[i], low = c | 0x20;

        if (c >= '0' && c <= '9')
            v = v << 4 | (c - '0');
        else if (low >= 'a' && low <= 'f')
            v = v << 4 | (low - 'a' + 10);
        else
            return -1;
    }
    return v;
}

/* The character of \uXXXX, p at its u, and how long it is, that of a pair of
 * surrogates included; -1: half a pair, or no digits. */
static int32_t
escaped_character(const char *p, const char *end, size_t *len)
{
    const int32_t high = hex4(p + 1, end);
    int32_t low;

    *len = 5;
    if (high < 0xd800 || high > 0xdfff)
        return high;
    if (high > 0xdbff || end - p < 11 || p[5] != '\\' || p[6] != 'u')
        return -1;
    low = hex4(p + 7, end);
    *len = 11;
    return low < 0xdc00 || low > 0xdfff
        ? -1
        : 0x10000 + ((high - 0xd800) << 10 | (low - 0xdc00));
}

size_t
js_escape(const char *p, const char *end, char *to, size_t *len)
{
    static const char from[] = "\"\\/bfnrt", mean[] = "\"\\/\b\f\n\r\t";
    const char *at;
    int32_t c;

    *len = 1;
    if (p == end)
        return 0;
    if (*p == 'u')
        return (c = escaped_character(p, end, len)) < 0
            ? 0
            : utf8_set(to, (uint32_t)c);
    if (*p == '\0' || (at = strchr(from, *p)) == NULL)
        return 0;
    *to = mean[at - from];
    return 1;
}

/* No string is longer after unescaping, so all fit in a text of that size. */
static int
escaped(struct js_in *in, const char *p, const char **s, size_t *n)
{
    char *to;
    size_t k, len;

    if (!in->text)
        in->text = xmalloc(in->size);
    *s = to = in->text + in->used;
    while (p < in->end && *p != '"') {
        if ((unsigned char)*p < 0x20)
            return -1;
        if (*p == '\\') {
            k = js_escape(p + 1, in->end, to, &len);
            if (k == 0 || *to == '\0')
                return -1;
            to += k;
            p += 1 + len;
            continue;
        }
        k = (unsigned char)*p < 0x80 ? 1 : character(p, in->end);
        if (k == 0)
            return -1;
        memcpy(to, p, k);
        to += k;
        p += k;
    }
    if (p == in->end)
        return -1;
    *n = (size_t)(to - *s);
    in->used += *n;
    in->p = p + 1;
    return 0;
}

int
js_in_text(struct js_in *in, const char **s, size_t *n)
{
    const char *p;
    size_t k;

    if (!js_in_mark(in, '"'))
        return -1;
    for (p = in->p; p < in->end && *p != '"'; p += k) {
        if (*p == '\\')
            return escaped(in, in->p, s, n);
        if ((unsigned char)*p < 0x20)
            return -1;
        k = (unsigned char)*p < 0x80 ? 1 : character(p, in->end);
        if (k == 0)
            return -1;
    }
    if (p == in->end)
        return -1;
    *s = in->p;
    *n = (size_t)(p - in->p);
    in->p = p + 1;
    return 0;
}
