/* JSON from outside, with limits; see json.h. */
#include "format/json.h"

#include "base/io.h"
#include "base/mem.h"
#include "base/utf8.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Refuse nesting deeper than JS_DEPTH before jansson, which recurses, parses
 * it. */
static int
check_depth(const char *s, size_t n, struct err *e)
{
    size_t depth = 0;
    int quoted = 0;

    for (size_t i = 0; i < n; i++) {
        if (quoted) {
            if (s[i] == '\\')
                i++;
            else if (s[i] == '"')
                quoted = 0;
        } else if (s[i] == '"') {
            quoted = 1;
        } else if (s[i] == '{' || s[i] == '[') {
            if (++depth > JS_DEPTH)
                return err_set(e, EX_INPUT, "offset %zu: nested deeper than %d",
                    i, JS_DEPTH);
        } else if (depth > 0 && (s[i] == '}' || s[i] == ']')) {
            depth--;
        }
    }
    return 0;
}

static int
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Turn whole numbers of 19 digits and more into reals in place: their last two
 * digits become "e2", so that offsets stay the same. */
static void
reals_of_huge(char *s, size_t n)
{
    int quoted = 0;

    for (size_t i = 0, k; i < n; i++) {
        if (s[i] == '\\' && quoted) {
            i++;
        } else if (s[i] == '"') {
            quoted = !quoted;
        } else if (!quoted && is_digit(s[i])) {
            for (k = i; k < n && is_digit(s[k]); k++)
                ;
            if (k - i >= 19 && (k == n || !strchr(".eE", s[k])) &&
                (i == 0 || !strchr(".eE+", s[i - 1])))
                memcpy(s + k - 2, "e2", 2);
            i = k - 1;
        }
    }
}

/* transformers writes "no limit" as 1e30 in digits.  If jansson refuses such a
 * number as too large, the text is parsed again with huge numbers as reals. */
json_t *
js_parse(const char *text, size_t n, struct err *e)
{
    const size_t mark = utf8_mark(text, n);
    json_error_t je;
    json_t *j;

    text += mark;
    n -= mark;
    if (check_depth(text, n, e) < 0)
        return NULL;
    j = json_loadb(text, n, JSON_REJECT_DUPLICATES, &je);
    if (!j && json_error_code(&je) == json_error_numeric_overflow) {
        char *s = xmalloc(n);

        memcpy(s, text, n);
        reals_of_huge(s, n);
        j = json_loadb(s, n, JSON_REJECT_DUPLICATES, &je);
        free(s);
    }
    if (!j)
        err_set(e, EX_INPUT, "offset %d: %s", je.position, je.text);
    return j;
}

json_t *
js_load(const char *path, size_t max, struct err *e)
{
    char *text;
    size_t n;
    json_t *j;

    if (io_slurp(path, max, &text, &n, e) < 0)
        return NULL;
    if ((j = js_parse(text, n, e)) == NULL)
        err_prefix(e, "%s", path);
    free(text);
    return j;
}

char *
js_dumps(const json_t *j, size_t flags)
{
    static const size_t digits[] = { 6, 9, 12, 15, 17 };

    for (size_t i = 0;; i++) {
        char *s = json_dumps(j,
            flags | JSON_ENCODE_ANY | JSON_REAL_PRECISION(digits[i]));
        json_t *back;
        int same;

        if (!s || i + 1 == sizeof digits / sizeof *digits)
            return s;
        back = json_loads(s, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        same = json_equal(back, j);
        json_decref(back);
        if (same)
            return s;
        free(s);
    }
}

void
js_quote(struct buf *b, const char *s)
{
    buf_addc(b, '"');
    for (; *s; s++) {
        const unsigned char ch = (unsigned char)*s;

        if (ch == '"' || ch == '\\')
            buf_addc(b, '\\');
        if (ch < 0x20)
            buf_addf(b, "\\u%04x", ch);
        else
            buf_addc(b, ch);
    }
    buf_addc(b, '"');
}

int
js_save(const json_t *j, const char *path, struct err *e)
{
    char *text = js_dumps(j, JSON_INDENT(2));
    struct buf b = { 0 };
    int r;

    if (!text)
        return err_set(e, EX_SYS, "%s: cannot be written as JSON", path);
    buf_adds(&b, text);
    buf_addc(&b, '\n');
    free(text);
    r = io_put_file(path, b.p, b.n, e);
    buf_release(&b);
    return r;
}

const json_t *
js_get(const json_t *j, const char *path)
{
    char name[80];

    while (j) {
        const size_t n = strcspn(path, ".");

        if (n >= sizeof name)
            return NULL;
        memcpy(name, path, n);
        name[n] = '\0';
        j = json_object_get(j, name);
        if (path[n] == '\0')
            break;
        path += n + 1;
    }
    return json_is_null(j) ? NULL : j;
}

const char *
js_text_of(const json_t *j, const char *key)
{
    const char *s = json_string_value(json_object_get(j, key));

    return s ? s : "";
}

static int
wrong_member(const json_t *j, const char *path, const char *need, struct err *e)
{
    static const char *const name[] = {
        [JSON_OBJECT] = "an object",
        [JSON_ARRAY] = "a list",
        [JSON_STRING] = "a string",
        [JSON_INTEGER] = "a whole number",
        [JSON_REAL] = "a real number",
        [JSON_TRUE] = "true",
        [JSON_FALSE] = "false",
        [JSON_NULL] = "null",
    };

    return err_set(e, EX_INPUT, "%s: is %s, not %s", path, name[json_typeof(j)],
        need);
}

int
js_size(const json_t *j, const char *path, size_t lo, size_t hi, size_t *r,
    struct err *e)
{
    const json_t *v = js_get(j, path);
    json_int_t k;

    if (!v)
        return 0;
    if (!json_is_integer(v))
        return wrong_member(v, path, "a whole number", e);
    k = json_integer_value(v);
    if (k < 0 || (size_t)k < lo || (size_t)k > hi)
        return err_set(e, EX_INPUT, "%s: %lld is outside %zu to %zu", path,
            (long long)k, lo, hi);
    *r = (size_t)k;
    return 1;
}

int
js_real(const json_t *j, const char *path, double lo, double hi, double *r,
    struct err *e)
{
    const json_t *v = js_get(j, path);
    double k;

    if (!v)
        return 0;
    if (!json_is_number(v))
        return wrong_member(v, path, "a number", e);
    k = json_number_value(v);
    if (!isfinite(k) || k < lo || k > hi)
        return err_set(e, EX_INPUT, "%s: %g is outside %g to %g", path, k, lo,
            hi);
    *r = k;
    return 1;
}

int
js_bool(const json_t *j, const char *path, int *r, struct err *e)
{
    const json_t *v = js_get(j, path);

    if (!v)
        return 0;
    if (!json_is_boolean(v))
        return wrong_member(v, path, "true or false", e);
    *r = json_is_true(v);
    return 1;
}

int
js_str(const json_t *j, const char *path, const char **r, struct err *e)
{
    const json_t *v = js_get(j, path);

    if (!v)
        return 0;
    if (!json_is_string(v))
        return wrong_member(v, path, "a string", e);
    *r = json_string_value(v);
    return 1;
}
