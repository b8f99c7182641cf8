/* Texts made of values: values as Python prints them and as JSON; see
 * jinja_run.h. */
#include "gen/jinja_run.h"

#include "base/utf8.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Make room for n bytes. */
static int
reserve(struct jrun *r, size_t n)
{
    if (n > JINJA_TEXT - r->out->n)
        return jrun_fail(r,
            r->making > 0 ? "needs too much memory" : "prints too much");
    return jrun_bytes(r, n);
}

size_t
jrun_begin(struct jrun *r)
{
    r->making++;
    return r->out->n;
}

int
jrun_add(struct jrun *r, const char *p, size_t n)
{
    if (reserve(r, n) < 0)
        return -1;
    buf_add(r->out, p, n);
    return 0;
}

int
jrun_repeat(struct jrun *r, struct jtext t, size_t times)
{
    if (t.n == 0)
        return 0;
    if (times > JINJA_TEXT / t.n)
        return jrun_fail(r, "needs too much memory");
    if (reserve(r, t.n * times) < 0 || jrun_work(r, times) < 0)
        return -1;
    while (times-- > 0)
        buf_add(r->out, t.p, t.n);
    return 0;
}

int
jrun_end(struct jrun *r, size_t from, struct jval *out)
{
    const size_t n = r->out->n - from;
    char *p;

    if (jrun_bytes(r, n) < 0 || (p = jrun_alloc(r, n + 1, 1)) == NULL)
        return -1;
    if (n > 0)
        memcpy(p, r->out->p + from, n);
    r->out->n = from;
    r->making--;
    *out = jval_text(p, n);
    return 0;
}

static int
add_string(struct jrun *r, const char *s)
{
    return jrun_add(r, s, strlen(s));
}

/* s is d with 17 digits.  If one of the two numbers of 16 digits around d reads
 * as d, write that number to s and return 1.  It is not the nearer of the two,
 * which shortest has tried: powers of 2 have such numbers, as the doubles below
 * them are closer than those above. */
static int
neighbour(char s[40], double d)
{
    const long long scale = 1000000000000000; /* 10^15 */
    const char *point = strchr(s, '.'), *e = strchr(s, 'e');
    const long long first = strtoll(s, NULL, 10);
    const long long rest = strtoll(point + 1, NULL, 10) / 10;
    char t[48];

    for (long long up = 0; up <= 1; up++) {
        if (rest + up == scale)
            continue;
        snprintf(t, sizeof t, "%s%lld.%015lld%s", *s == '-' ? "-" : "",
            first < 0 ? -first : first, rest + up, e);
        if (strtod(t, NULL) == d) {
            memcpy(s, t, 40);
            return 1;
        }
    }
    return 0;
}

/* Write d to s with an exponent and the fewest digits that read as d, and
 * return their number.  If 15 digits read as d, only trailing zeros can go,
 * unless d is denormal. */
static int
shortest(char s[40], double d)
{
    const int normal = fabs(d) >= DBL_MIN;
    int digits = normal ? 15 : 1;

    do
        snprintf(s, 40, "%.*e", digits - 1, d);
    while (strtod(s, NULL) != d && ++digits <= 17);
    if (digits == 17 && neighbour(s, d))
        return 16;
    if (digits == 15 && normal) {
        const char *end = strchr(s, 'e');

        while (digits > 1 && *--end == '0')
            digits--;
        snprintf(s, 40, "%.*e", digits - 1, d);
    }
    return digits;
}

/* Append d as Python's repr has it: with an exponent below 1e-4 and from 1e16
 * on. */
static int
print_real(struct jrun *r, double d)
{
    char s[40];
    int digits, exponent;

    if (isnan(d) || isinf(d))
        return add_string(r, isnan(d) ? "nan" : d > 0 ? "inf" : "-inf");
    if (jrun_work(r, 50) < 0)
        return -1;
    digits = shortest(s, d);
    exponent = (int)strtol(strchr(s, 'e') + 1, NULL, 10);
    if (exponent >= -4 && exponent < 16)
        snprintf(s, sizeof s, "%.*f",
            digits - 1 - exponent > 1 ? digits - 1 - exponent : 1, d);
    return add_string(r, s);
}

int
jrun_print(struct jrun *r, const struct jval *v)
{
    char s[24];

    switch (v->kind) {
    case J_UNDEFINED: return 0;
    case J_NONE: return add_string(r, "None");
    case J_BOOL: return add_string(r, v->i ? "True" : "False");
    case J_INT:
        snprintf(s, sizeof s, "%" PRId64, v->i);
        return add_string(r, s);
    case J_REAL: return print_real(r, v->d);
    case J_TEXT: return jrun_add(r, v->t.p, v->t.n);
    case J_METHOD:
        return jrun_fail(r, "the method \"%.*s\" is not called",
            jtext_shown(v->t), v->t.p);
    default: return jrun_fail(r, "%s is printed: tojson can", jval_kind(v));
    }
}

int
jrun_escape(struct jrun *r, const struct jval *v)
{
    static const char special[] = "&<>\"'";
    static const char *const as[] = { "&amp;", "&lt;", "&gt;", "&#34;",
        "&#39;" };
    size_t done = 0;

    if (v->kind != J_TEXT || v->safe)
        return jrun_print(r, v);
    if (jrun_bytes(r, v->t.n) < 0)
        return -1;
    for (size_t i = 0; i < v->t.n; i++) {
        const char c = v->t.p[i], *at = c != '\0' ? strchr(special, c) : NULL;

        if (at == NULL)
            continue;
        if (jrun_add(r, v->t.p + done, i - done) < 0 ||
            add_string(r, as[at - special]) < 0)
            return -1;
        done = i + 1;
    }
    return jrun_add(r, v->t.p + done, v->t.n - done);
}

/* Write the character c as JSON escapes it to s.  Returns the bytes; 0: c is
 * not escaped. */
static int
json_character(char s[16], uint32_t c, int ascii)
{
    static const char escaped[] = "\"\\\n\r\t\b\f", letter[] = "\"\\nrtbf";
    const char *at = c != 0 && c < 128 ? strchr(escaped, (int)c) : NULL;

    if (at != NULL)
        return snprintf(s, 16, "\\%c", letter[at - escaped]);
    if (c < 32 || (ascii && c > 127 && c < 0x10000))
        return snprintf(s, 16, "\\u%04x", c);
    if (ascii && c >= 0x10000)
        return snprintf(s, 16, "\\u%04x\\u%04x", 0xd7c0 + (c >> 10),
            0xdc00 + (c & 0x3ff));
    return 0;
}

static int
quoted(struct jrun *r, struct jtext t, int ascii)
{
    const unsigned char *p = (const unsigned char *)t.p;
    size_t len, done = 0;
    char s[16];
    int n;

    if (jrun_bytes(r, t.n) < 0 || jrun_add(r, "\"", 1) < 0)
        return -1;
    for (size_t i = 0; i < t.n; i += len) {
        const uint32_t c = utf8_next(p + i, p + t.n, &len);

        if ((n = json_character(s, c, ascii)) == 0)
            continue;
        if (jrun_add(r, t.p + done, i - done) < 0 ||
            jrun_add(r, s, (size_t)n) < 0)
            return -1;
        done = i + len;
    }
    return jrun_add(r, t.p + done, t.n - done) < 0 ? -1 : jrun_add(r, "\"", 1);
}

static int json_value(struct jrun *r, const struct jval *v,
    const struct jjson *how, size_t depth);

static int
json_break(struct jrun *r, const struct jjson *how, size_t depth)
{
    if (how->indent == SIZE_MAX)
        return 0;
    return jrun_add(r, "\n", 1) < 0
        ? -1
        : jrun_repeat(r, (struct jtext){ " ", 1 }, depth * how->indent);
}

/* Append the comma and line break before member i of a list or object. */
static int
json_between(struct jrun *r, const struct jjson *how, size_t depth, size_t i)
{
    if (i > 0 && add_string(r, how->indent == SIZE_MAX ? ", " : ",") < 0)
        return -1;
    return json_break(r, how, depth);
}

static int
json_list(struct jrun *r, const struct jlist *l, const struct jjson *how,
    size_t depth)
{
    if (jrun_add(r, "[", 1) < 0)
        return -1;
    for (size_t i = 0; i < l->n; i++)
        if (json_between(r, how, depth + 1, i) < 0 ||
            json_value(r, &l->v[i], how, depth + 1) < 0)
            return -1;
    if (l->n > 0 && json_break(r, how, depth) < 0)
        return -1;
    return jrun_add(r, "]", 1);
}

static struct jkeyed *
sorted_members(struct jrun *r, const struct jdict *d)
{
    struct jkeyed *all = NULL;

    if (jrun_work(r, d->n) < 0 ||
        (all = jrun_alloc(r, d->n + 1, sizeof *all)) == NULL)
        return NULL;
    for (size_t i = 0; i < d->n; i++)
        all[i] =
            (struct jkeyed){ jval_text(d->name[i].p, d->name[i].n), d->v[i] };
    return jrun_sort(r, all, d->n, 0) < 0 ? NULL : all;
}

static int
json_dict(struct jrun *r, const struct jdict *d, const struct jjson *how,
    size_t depth)
{
    struct jkeyed *all = NULL; /* in the order of the names, if how->sort */

    if (jrun_add(r, "{", 1) < 0 ||
        (how->sort && (all = sorted_members(r, d)) == NULL))
        return -1;
    for (size_t i = 0; i < d->n; i++)
        if (json_between(r, how, depth + 1, i) < 0 ||
            quoted(r, all != NULL ? all[i].key.t : d->name[i], how->ascii) <
                0 ||
            add_string(r, ": ") < 0 ||
            json_value(r, all != NULL ? &all[i].v : &d->v[i], how, depth + 1) <
                0)
            return -1;
    if (d->n > 0 && json_break(r, how, depth) < 0)
        return -1;
    return jrun_add(r, "}", 1);
}

static int
json_value(struct jrun *r, const struct jval *v, const struct jjson *how,
    size_t depth)
{
    if (depth > JRUN_VALUES)
        return jrun_fail(r, "tojson of values that nest too deep");
    if (jrun_work(r, 1) < 0)
        return -1;
    switch (v->kind) {
    case J_NONE: return add_string(r, "null");
    case J_BOOL: return add_string(r, v->i ? "true" : "false");
    case J_INT: return jrun_print(r, v);
    case J_REAL:
        if (!isfinite(v->d))
            return add_string(r,
                isnan(v->d)    ? "NaN"
                    : v->d > 0 ? "Infinity"
                               : "-Infinity");
        return jrun_print(r, v);
    case J_TEXT: return quoted(r, v->t, how->ascii);
    case J_LIST:
    case J_TUPLE: return json_list(r, &v->list, how, depth);
    case J_DICT: return json_dict(r, v->dict, how, depth);
    default: return jrun_fail(r, "tojson of %s", jval_kind(v));
    }
}

int
jrun_json(struct jrun *r, const struct jval *v, const struct jjson *how)
{
    return json_value(r, v, how, 0);
}
