/* Values as Python prints them and as JSON; see jinja_value.h. */
#include "gen/jinja_value.h"

#include "base/utf8.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Append d as Python's repr has it: the fewest digits that give d back, with an
 * exponent below 1e-4 and from 1e16 on. */
static void
print_real(struct buf *out, double d)
{
    char s[40];
    int digits = 1, exponent;

    if (isnan(d) || isinf(d)) {
        buf_adds(out, isnan(d) ? "nan" : d > 0 ? "inf" : "-inf");
        return;
    }
    do
        snprintf(s, sizeof s, "%.*e", digits - 1, d);
    while (strtod(s, NULL) != d && ++digits <= 17);
    exponent = (int)strtol(strchr(s, 'e') + 1, NULL, 10);
    if (exponent < -4 || exponent >= 16) {
        buf_adds(out, s);
        return;
    }
    snprintf(s, sizeof s, "%.*f",
        digits - 1 - exponent > 1 ? digits - 1 - exponent : 1, d);
    buf_adds(out, s);
}

int
jval_print(const struct jval *v, struct buf *out)
{
    switch (v->kind) {
    case J_UNDEFINED: return 0;
    case J_NONE: buf_adds(out, "None"); return 0;
    case J_BOOL: buf_adds(out, v->i ? "True" : "False"); return 0;
    case J_INT: buf_addf(out, "%" PRId64, v->i); return 0;
    case J_REAL: print_real(out, v->d); return 0;
    case J_TEXT: buf_add(out, v->t.p, v->t.n); return 0;
    default: return -1;
    }
}

static void
json_character(struct buf *out, uint32_t c, const char *p, size_t len,
    int ascii)
{
    static const char escaped[] = "\"\\\n\r\t\b\f", letter[] = "\"\\nrtbf";
    const char *at = c != 0 && c < 128 ? strchr(escaped, (int)c) : NULL;

    if (at != NULL) {
        buf_addc(out, '\\');
        buf_addc(out, letter[at - escaped]);
    } else if (c < 32 || (ascii && c > 126 && c < 0x10000)) {
        buf_addf(out, "\\u%04x", c);
    } else if (ascii && c >= 0x10000) {
        buf_addf(out, "\\u%04x\\u%04x", 0xd7c0 + (c >> 10),
            0xdc00 + (c & 0x3ff));
    } else {
        buf_add(out, p, len);
    }
}

static void
write_json_text(struct buf *out, struct jtext t, int ascii)
{
    const unsigned char *p = (const unsigned char *)t.p;
    size_t len;

    buf_addc(out, '"');
    for (size_t i = 0; i < t.n; i += len) {
        const uint32_t c = utf8_next(p + i, p + t.n, &len);

        json_character(out, c, t.p + i, len, ascii && c != 127);
    }
    buf_addc(out, '"');
}

static void
json_break(struct buf *out, const struct jjson *how, size_t depth)
{
    if (how->indent == SIZE_MAX)
        return;
    buf_addc(out, '\n');
    for (size_t i = 0; i < depth * how->indent; i++)
        buf_addc(out, ' ');
}

static int json_value(const struct jval *v, const struct jjson *how,
    size_t depth, size_t most, struct buf *out);

static int
json_list(const struct jlist *l, const struct jjson *how, size_t depth,
    size_t most, struct buf *out)
{
    buf_addc(out, '[');
    for (size_t i = 0; i < l->n; i++) {
        if (i > 0)
            buf_adds(out, how->indent == SIZE_MAX ? ", " : ",");
        json_break(out, how, depth + 1);
        if (json_value(&l->v[i], how, depth + 1, most, out) < 0)
            return -1;
    }
    if (l->n > 0)
        json_break(out, how, depth);
    buf_addc(out, ']');
    return 0;
}

/* Index of the name that follows name number `last` in sorted order; last
 * SIZE_MAX: of the first name. */
static size_t
next_name(const struct jdict *d, size_t last)
{
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < d->n; i++) {
        const struct jval v = { .kind = J_TEXT, .t = d->name[i] };

        if (last != SIZE_MAX &&
            jval_order(&v,
                &(struct jval){ .kind = J_TEXT, .t = d->name[last] }) <= 0)
            continue;
        if (best == SIZE_MAX ||
            jval_order(&v,
                &(struct jval){ .kind = J_TEXT, .t = d->name[best] }) < 0)
            best = i;
    }
    return best;
}

static int
json_dict(const struct jdict *d, const struct jjson *how, size_t depth,
    size_t most, struct buf *out)
{
    size_t at = SIZE_MAX;

    buf_addc(out, '{');
    for (size_t i = 0; i < d->n; i++) {
        at = how->sort ? next_name(d, at) : i;
        if (i > 0)
            buf_adds(out, how->indent == SIZE_MAX ? ", " : ",");
        json_break(out, how, depth + 1);
        write_json_text(out, d->name[at], how->ascii);
        buf_adds(out, ": ");
        if (json_value(&d->v[at], how, depth + 1, most, out) < 0)
            return -1;
    }
    if (d->n > 0)
        json_break(out, how, depth);
    buf_addc(out, '}');
    return 0;
}

static int
json_value(const struct jval *v, const struct jjson *how, size_t depth,
    size_t most, struct buf *out)
{
    if (out->n > most || depth > JVAL_DEPTH)
        return -1;
    switch (v->kind) {
    case J_NONE: buf_adds(out, "null"); return 0;
    case J_BOOL: buf_adds(out, v->i ? "true" : "false"); return 0;
    case J_INT: return jval_print(v, out);
    case J_REAL: return isfinite(v->d) ? jval_print(v, out) : -1;
    case J_TEXT: write_json_text(out, v->t, how->ascii); return 0;
    case J_LIST:
    case J_TUPLE: return json_list(&v->list, how, depth, most, out);
    case J_DICT: return json_dict(v->dict, how, depth, most, out);
    default: return -1;
    }
}

int
jval_json(const struct jval *v, const struct jjson *how, size_t most,
    struct buf *out)
{
    return json_value(v, how, 0, most, out);
}
