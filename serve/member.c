/* Checked members of a request's JSON object; see request.h. */
#include "request.h"
#include "base/text.h"
#include "format/json.h"
#include "text/unicode.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int
refuse(struct refusal *r, int status, const char *param, const char *code,
    const char *fmt, ...)
{
    char text[sizeof r->message];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    /* text and param need not be UTF-8, and may be cut inside a character */
    text_show(r->message, sizeof r->message, text);
    text_show(r->param, sizeof r->param, param != NULL ? param : "");
    r->status = status;
    r->code = code;
    return -1;
}

json_t *
request_parse(const char *body, size_t n, struct refusal *why)
{
    struct err e;
    json_t *j = js_parse(body, n, &e);

    if (j == NULL) {
        refuse(why, 400, NULL, NULL, "the body is not JSON: %s", e.msg);
        return NULL;
    }
    if (json_is_object(j))
        return j;
    json_decref(j);
    refuse(why, 400, NULL, NULL, "the body is not a JSON object");
    return NULL;
}

static const char *
kind_name(const json_t *v)
{
    switch (json_typeof(v)) {
    case JSON_OBJECT: return "an object";
    case JSON_ARRAY: return "a list";
    case JSON_STRING: return "a string";
    case JSON_INTEGER:
    case JSON_REAL: return "a number";
    case JSON_TRUE:
    case JSON_FALSE: return "true or false";
    default: return "null";
    }
}

static int
wrong_kind(struct refusal *why, const char *name, const json_t *v,
    const char *want)
{
    return refuse(why, 400, name, NULL, "%s must be %s, not %s", name, want,
        kind_name(v));
}

/* Find a member; NULL: it is missing or null. */
static const json_t *
present_member(const json_t *j, const char *name)
{
    const json_t *v = json_object_get(j, name);

    return json_is_null(v) ? NULL : v;
}

int
member_real(const json_t *j, const char *name, double lo, double hi, double *r,
    struct refusal *why)
{
    const json_t *v = present_member(j, name);
    double x;

    if (v == NULL)
        return 0;
    if (!json_is_number(v))
        return wrong_kind(why, name, v, "a number");
    x = json_number_value(v);
    if (!(x >= lo && x <= hi))
        return refuse(why, 400, name, NULL, "%s must be from %g to %g, not %g",
            name, lo, hi, x);
    *r = x;
    return 1;
}

int
member_size(const json_t *j, const char *name, size_t lo, size_t hi, size_t *r,
    struct refusal *why)
{
    const json_t *v = present_member(j, name);
    json_int_t x;

    if (v == NULL)
        return 0;
    if (!json_is_integer(v))
        return wrong_kind(why, name, v, "a whole number");
    x = json_integer_value(v);
    if (x < 0 || (size_t)x < lo || (size_t)x > hi)
        return refuse(why, 400, name, NULL,
            "%s must be from %zu to %zu, not %lld", name, lo, hi, (long long)x);
    *r = (size_t)x;
    return 1;
}

int
member_bool(const json_t *j, const char *name, int *r, struct refusal *why)
{
    const json_t *v = present_member(j, name);

    if (v == NULL)
        return 0;
    if (!json_is_boolean(v))
        return wrong_kind(why, name, v, "true or false");
    *r = json_is_true(v);
    return 1;
}

int
member_text(const json_t *j, const char *name, const char **r,
    struct refusal *why)
{
    const json_t *v = present_member(j, name);

    if (v == NULL)
        return 0;
    if (!json_is_string(v))
        return wrong_kind(why, name, v, "a string");
    *r = json_string_value(v);
    return 1;
}

int
member_ids(const json_t *list, const char *name, size_t V, struct tok_ids *ids,
    struct refusal *why)
{
    const json_t *v;
    size_t i;

    if (!json_is_array(list))
        return wrong_kind(why, name, list, "a list of token ids");
    json_array_foreach((json_t *)list, i, v)
    {
        if (!json_is_integer(v))
            return wrong_kind(why, name, v, "a list of token ids");
        if (json_integer_value(v) < 0 || (size_t)json_integer_value(v) >= V)
            return refuse(why, 400, name, NULL,
                "%s has the id %lld, but the model's ids are 0 to %zu", name,
                (long long)json_integer_value(v), V - 1);
        tok_ids_push(ids, (uint32_t)json_integer_value(v));
    }
    return 1;
}
