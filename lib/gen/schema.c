/* Reading a JSON schema into tables; see schema.h, schema_impl.h. */
#include "gen/schema.h"
#include "base/mem.h"
#include "format/json.h"
#include "gen/json_number.h"
#include "gen/schema_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Path to a schema from the root, for messages. */
struct spot {
    const struct spot *in; /* NULL: this is the root, or what a $ref names */
    const char *name;
};

/* A schema that a $ref names, and the place that is made of it. */
struct target {
    const json_t *schema;
    const char *ref;
    uint32_t place;
};
enum { TARGETS = 1000 }; /* at most */

struct schema_reader {
    struct schema *s;
    const json_t *root;
    struct target *target; /* [targets]; those below `done` have been read */
    size_t targets, done;
    struct err *e;
};

static void
write_spot(const struct spot *at, struct buf *b)
{
    if (at->in == NULL) {
        buf_adds(b, at->name);
        return;
    }
    write_spot(at->in, b);
    buf_addc(b, '/');
    buf_adds(b, at->name);
}

/* Set the error "#/place: why", with a place of at most 200 bytes. */
static int __attribute__((format(printf, 3, 4)))
refuse_schema(const struct schema_reader *r, const struct spot *at,
    const char *fmt, ...)
{
    struct buf b = { 0 };
    va_list ap;

    write_spot(at, &b);
    va_start(ap, fmt);
    err_format(r->e->msg, sizeof r->e->msg, fmt, ap);
    va_end(ap);
    r->e->code = EX_INPUT;
    err_prefix(r->e, "%.200s%s", b.p, b.n > 200 ? "..." : "");
    buf_release(&b);
    return -1;
}

/* ---- tables ---- */

static uint32_t
new_place(struct schema *s)
{
    s->place = xgrow_pow2(s->place, s->places, sizeof *s->place);
    s->place[s->places] = (struct schema_place){ 0 };
    return (uint32_t)s->places++;
}

static void
add_part(struct schema *s, uint32_t place, int is_place, uint32_t id)
{
    s->part = xgrow_pow2(s->part, s->parts, sizeof *s->part);
    s->part[s->parts] =
        (struct schema_part){ is_place, id, s->place[place].part };
    s->place[place].part = (uint32_t)++s->parts;
}

/* Make a kind, and add it to the place. */
static void
add_kind(struct schema *s, uint32_t place, struct schema_kind k)
{
    s->kind = xgrow_pow2(s->kind, s->kinds, sizeof *s->kind);
    s->kind[s->kinds] = k;
    add_part(s, place, 0, (uint32_t)s->kinds++);
}

/* The JSON text of v. */
static struct schema_text
add_json_text(struct schema *s, const json_t *v)
{
    struct schema_text t = { (uint32_t)s->bytes.n, 0, 0 };
    char *text = js_dumps(v, JSON_COMPACT);

    buf_adds(&s->bytes, text);
    t.n = (uint32_t)s->bytes.n - t.off;
    free(text);
    return t;
}

static void
add_literal(struct schema *s, const json_t *v)
{
    s->text = xgrow_pow2(s->text, s->texts, sizeof *s->text);
    s->text[s->texts++] = add_json_text(s, v);
}

/* Make a kind of the texts from `first` on. */
static void
end_literals(struct schema *s, uint32_t place, size_t first)
{
    if (s->texts > first)
        add_kind(s, place,
            (struct schema_kind){ .type = KIND_LITERALS,
                .first = (uint32_t)first,
                .n = (uint32_t)(s->texts - first) });
}

static void
add_null_booleans(struct schema *s, uint32_t place, int null, int booleans)
{
    const size_t first = s->texts;

    if (null)
        add_literal(s, json_null());
    if (booleans) {
        add_literal(s, json_false());
        add_literal(s, json_true());
    }
    end_literals(s, place, first);
}

enum { ANY_PLACE = 0, MAP_PLACE = 1 };

/* Make the places ANY_PLACE, of any value, and MAP_PLACE, of any object. */
static void
add_any(struct schema *s)
{
    const struct schema_kind map = { .type = KIND_MAP, .place = ANY_PLACE };

    new_place(s);
    new_place(s);
    add_kind(s, ANY_PLACE,
        (struct schema_kind){ .type = KIND_STRING, .hi = SCHEMA_NO_LIMIT });
    add_kind(s, ANY_PLACE, (struct schema_kind){ .type = KIND_NUMBER });
    add_null_booleans(s, ANY_PLACE, 1, 1);
    add_kind(s, ANY_PLACE, map);
    add_kind(s, ANY_PLACE,
        (struct schema_kind){ .type = KIND_ARRAY,
            .place = ANY_PLACE,
            .hi = SCHEMA_NO_LIMIT });
    add_part(s, MAP_PLACE, 1, ANY_PLACE);
    s->place[MAP_PLACE].part = 0;
    add_kind(s, MAP_PLACE, map);
}

/* ---- keywords ---- */

/* Kinds of schemas, by the keyword that decides which others may stand beside
 * it. */
enum form { FORM_TYPES, FORM_CONSTANTS, FORM_ANY_OF, FORM_REF, FORMS };
static const char *const form_keyword[FORMS] = { "", "enum or const", "anyOf",
    "$ref" };

#define AT(form) (1u << (form))
#define EVERYWHERE (AT(FORMS) - 1)

static const struct keyword {
    const char *name;
    unsigned forms; /* bits of the forms that it goes with */
} keywords[] = {
    { "type", AT(FORM_TYPES) | AT(FORM_CONSTANTS) },
    { "properties", AT(FORM_TYPES) },
    { "required", AT(FORM_TYPES) },
    { "additionalProperties", AT(FORM_TYPES) },
    { "items", AT(FORM_TYPES) },
    { "minItems", AT(FORM_TYPES) },
    { "maxItems", AT(FORM_TYPES) },
    { "minLength", AT(FORM_TYPES) },
    { "maxLength", AT(FORM_TYPES) },
    { "minimum", AT(FORM_TYPES) },
    { "maximum", AT(FORM_TYPES) },
    { "exclusiveMinimum", AT(FORM_TYPES) },
    { "exclusiveMaximum", AT(FORM_TYPES) },
    { "enum", AT(FORM_CONSTANTS) },
    { "const", AT(FORM_CONSTANTS) },
    { "anyOf", AT(FORM_ANY_OF) },
    { "$ref", AT(FORM_REF) },
    /* these restrict nothing by themselves */
    { "$defs", EVERYWHERE },
    { "definitions", EVERYWHERE },
    { "title", EVERYWHERE },
    { "description", EVERYWHERE },
    { "default", EVERYWHERE },
    { "examples", EVERYWHERE },
    { "deprecated", EVERYWHERE },
    { "readOnly", EVERYWHERE },
    { "writeOnly", EVERYWHERE },
    { "$comment", EVERYWHERE },
    { "$schema", EVERYWHERE },
};

static enum form
schema_form(const json_t *j)
{
    return json_object_get(j, "$ref") != NULL ? FORM_REF
        : json_object_get(j, "anyOf") != NULL ? FORM_ANY_OF
        : json_object_get(j, "enum") != NULL ||
            json_object_get(j, "const") != NULL
        ? FORM_CONSTANTS
        : FORM_TYPES;
}

static int
check_keywords(const struct schema_reader *r, const json_t *j,
    const struct spot *at, enum form form)
{
    const size_t n = sizeof keywords / sizeof *keywords;
    const char *name;
    json_t *v;

    json_object_foreach((json_t *)(uintptr_t)j, name, v)
    {
        size_t i = 0;

        while (i < n && strcmp(keywords[i].name, name) != 0)
            i++;
        if (i == n)
            return refuse_schema(r, at,
                "the keyword %.60s is not supported: leave it out", name);
        if ((keywords[i].forms & AT(form)) == 0)
            return refuse_schema(r, at,
                "%s is not supported beside %s: move it into the schemas "
                "there, or leave it out",
                name, form_keyword[form]);
    }
    return 0;
}

/* Read a limit: a whole number of items or code points, >= 0.  -1 and *e. */
static int
read_bound(const struct schema_reader *r, const json_t *j, const char *name,
    const struct spot *at, uint32_t *n)
{
    const json_t *v = json_object_get(j, name);

    if (v == NULL)
        return 0;
    if (!json_is_integer(v) || json_integer_value(v) < 0)
        return refuse_schema(r, at, "%s is no whole number from 0 on", name);
    *n = json_integer_value(v) < SCHEMA_NO_LIMIT
        ? (uint32_t)json_integer_value(v)
        : SCHEMA_NO_LIMIT;
    return 0;
}

/* Read the two bounds of a kind. */
static int
read_bounds(const struct schema_reader *r, const json_t *j, const char *least,
    const char *most, const struct spot *at, struct schema_kind *k)
{
    k->hi = SCHEMA_NO_LIMIT;
    if (read_bound(r, j, least, at, &k->lo) < 0 ||
        read_bound(r, j, most, at, &k->hi) < 0)
        return -1;
    return k->lo > k->hi || k->lo == SCHEMA_NO_LIMIT
        ? refuse_schema(r, at, "no value has %s %u and %s %u", least, k->lo,
              most, k->hi)
        : 0;
}

/* ---- types ---- */

enum {
    TYPE_NULL = 1,
    TYPE_BOOLEAN = 2,
    TYPE_INTEGER = 4,
    TYPE_NUMBER = 8,
    TYPE_STRING = 16,
    TYPE_ARRAY = 32,
    TYPE_OBJECT = 64
};
static const struct {
    const char *name;
    unsigned type;
} types[] = { { "null", TYPE_NULL }, { "boolean", TYPE_BOOLEAN },
    { "integer", TYPE_INTEGER }, { "number", TYPE_NUMBER },
    { "string", TYPE_STRING }, { "array", TYPE_ARRAY },
    { "object", TYPE_OBJECT } };

/* Return the types in the keyword `type` as bits; 0 if it is missing, -1 and *e
 * if it is wrong. */
static int
read_type(const struct schema_reader *r, const json_t *j, const struct spot *at,
    unsigned *bits)
{
    const json_t *v = json_object_get(j, "type");
    const size_t n = json_is_array(v) ? json_array_size(v) : v != NULL;

    *bits = 0;
    for (size_t i = 0; i < n; i++) {
        const char *name =
            json_string_value(json_is_array(v) ? json_array_get(v, i) : v);
        const unsigned was = *bits;

        for (size_t k = 0; name != NULL && k < sizeof types / sizeof *types;
             k++)
            *bits |= strcmp(types[k].name, name) == 0 ? types[k].type : 0;
        if (*bits == was)
            return refuse_schema(r, at,
                "type: %.60s is no type, or is given twice; types are null, "
                "boolean, integer, number, string, array, object",
                name != NULL ? name : "a value that is no text");
    }
    return v != NULL && n == 0 ? refuse_schema(r, at, "type is an empty list")
                               : 0;
}

/* Return the types that the other keywords restrict, for a schema without
 * `type`: items means an array. */
static unsigned
meant_types(const json_t *j)
{
    static const struct {
        const char *name;
        unsigned type;
    } speaks[] = { { "properties", TYPE_OBJECT }, { "required", TYPE_OBJECT },
        { "additionalProperties", TYPE_OBJECT }, { "items", TYPE_ARRAY },
        { "minItems", TYPE_ARRAY }, { "maxItems", TYPE_ARRAY },
        { "minLength", TYPE_STRING }, { "maxLength", TYPE_STRING },
        { "minimum", TYPE_NUMBER }, { "maximum", TYPE_NUMBER },
        { "exclusiveMinimum", TYPE_NUMBER },
        { "exclusiveMaximum", TYPE_NUMBER } };
    unsigned bits = 0;

    for (size_t i = 0; i < sizeof speaks / sizeof *speaks; i++)
        if (json_object_get(j, speaks[i].name) != NULL)
            bits |= speaks[i].type;
    return bits;
}

static int read_schema(struct schema_reader *r, const json_t *j,
    const struct spot *at, uint32_t place);

/* Read the schema j into a place of its own; NULL: any value. */
static int
read_inner(struct schema_reader *r, const json_t *j, const struct spot *in,
    const char *name, uint32_t *place)
{
    const struct spot at = { in, name };

    *place = ANY_PLACE;
    if (j == NULL || json_is_true(j))
        return 0;
    *place = new_place(r->s);
    return read_schema(r, j, &at, *place);
}

static int
read_array_type(struct schema_reader *r, const json_t *j, const struct spot *at,
    uint32_t place)
{
    const json_t *items = json_object_get(j, "items");
    struct schema_kind k = { .type = KIND_ARRAY };

    if (json_is_array(items))
        return refuse_schema(r, at,
            "items is a list of schemas: give one schema, for all items");
    if (read_bounds(r, j, "minItems", "maxItems", at, &k) < 0 ||
        read_inner(r, items, at, "items", &k.place) < 0)
        return -1;
    add_kind(r->s, place, k);
    return 0;
}

/* Add a property; its place stays to be read. */
static struct schema_property *
add_property(struct schema *s, const char *name)
{
    json_t *text = json_string(name);
    struct schema_property *p;

    s->property = xgrow_pow2(s->property, s->properties, sizeof *s->property);
    s->name = xgrow_pow2(s->name, s->properties, sizeof *s->name);
    s->name[s->properties] = add_json_text(s, text);
    p = &s->property[s->properties++];
    *p = (struct schema_property){ ANY_PLACE, 0, 0 };
    json_decref(text);
    return p;
}

/* Mark the n properties from `first` on that `required` names, and add those
 * that `properties` lacks, with values of place `others`. */
static int
read_required(struct schema_reader *r, const json_t *j, const struct spot *at,
    size_t first, uint32_t others)
{
    const json_t *list = json_object_get(j, "required"), *v;
    const json_t *known = json_object_get(j, "properties");
    json_t *at_name = json_object(), *no;
    const char *name;
    size_t i, n = r->s->properties - first;
    int bad = list != NULL && !json_is_array(list);

    i = 0;
    json_object_foreach((json_t *)(uintptr_t)known, name, no)
        json_object_set_new(at_name, name, json_integer((json_int_t)i++));
    json_array_foreach((json_t *)(uintptr_t)list, i, v)
    {
        if ((name = json_string_value(v)) == NULL ||
            strlen(name) != json_string_length(v)) {
            bad = 1;
            break;
        }
        if ((no = json_object_get(at_name, name)) == NULL) {
            add_property(r->s, name)->place = others;
            json_object_set_new(at_name, name, json_integer((json_int_t)n++));
            no = json_object_get(at_name, name);
        }
        r->s->property[first + (size_t)json_integer_value(no)].required = 1;
    }
    json_decref(at_name);
    return bad ? refuse_schema(r, at, "required is no list of names") : 0;
}

/* Read properties into a kind.  Their schemas are read afterwards, because the
 * properties of one object must be neighbours in the table. */
static int
read_properties(struct schema_reader *r, const json_t *j, const struct spot *at,
    uint32_t others, struct schema_kind *k)
{
    const struct spot in = { at, "properties" };
    const json_t *list = json_object_get(j, "properties");
    const char *name;
    json_t *v;
    size_t i = k->first = (uint32_t)r->s->properties;

    if (list != NULL && !json_is_object(list))
        return refuse_schema(r, at, "properties is no object of schemas");
    json_object_foreach((json_t *)(uintptr_t)list, name, v)
        add_property(r->s, name);
    if (read_required(r, j, at, k->first, others) < 0)
        return -1;
    k->n = (uint32_t)r->s->properties - k->first;
    json_object_foreach((json_t *)(uintptr_t)list, name, v)
    {
        uint32_t place;

        if (read_inner(r, v, &in, name, &place) < 0)
            return -1;
        r->s->property[i++].place = place;
    }
    return 0;
}

static int
read_object_type(struct schema_reader *r, const json_t *j,
    const struct spot *at, uint32_t place)
{
    const json_t *more = json_object_get(j, "additionalProperties");
    struct schema_kind k = { .type = KIND_OBJECT };
    uint32_t others;

    if (read_inner(r, more, at, "additionalProperties", &others) < 0 ||
        read_properties(r, j, at, others, &k) < 0)
        return -1;
    if (k.n == 0 && !json_is_false(more)) {
        k.type = KIND_MAP;
        k.place = others;
    }
    add_kind(r->s, place, k);
    return 0;
}

static int
read_types(struct schema_reader *r, const json_t *j, const struct spot *at,
    uint32_t place)
{
    unsigned bits;
    struct schema_kind k = { .type = KIND_STRING }, number = { 0 };
    const char *why = NULL;

    if (read_type(r, j, at, &bits) < 0)
        return -1;
    bits = bits != 0 ? bits : meant_types(j);
    number.type = bits & TYPE_NUMBER ? KIND_NUMBER : KIND_INTEGER;
    if (bits == 0)
        add_part(r->s, place, 1, ANY_PLACE);
    if ((bits & TYPE_STRING) &&
        read_bounds(r, j, "minLength", "maxLength", at, &k) < 0)
        return -1;
    if (bits & TYPE_STRING)
        add_kind(r->s, place, k);
    if (bits & (TYPE_NUMBER | TYPE_INTEGER)) {
        if ((why = json_number_bounds(j, &number)) != NULL)
            return refuse_schema(r, at, "%s", why);
        add_kind(r->s, place, number);
    }
    add_null_booleans(r->s, place, (bits & TYPE_NULL) != 0,
        (bits & TYPE_BOOLEAN) != 0);
    if ((bits & TYPE_OBJECT) && read_object_type(r, j, at, place) < 0)
        return -1;
    return (bits & TYPE_ARRAY) ? read_array_type(r, j, at, place) : 0;
}

/* ---- constants, anyOf, $ref ---- */

/* Is the value one of the types? */
static int
has_type(const json_t *v, unsigned bits)
{
    switch (json_typeof(v)) {
    case JSON_NULL: return (bits & TYPE_NULL) != 0;
    case JSON_TRUE:
    case JSON_FALSE: return (bits & TYPE_BOOLEAN) != 0;
    case JSON_INTEGER: return (bits & (TYPE_INTEGER | TYPE_NUMBER)) != 0;
    case JSON_REAL:
        return (bits & TYPE_NUMBER) != 0 ||
            ((bits & TYPE_INTEGER) != 0 &&
                floor(json_real_value(v)) == json_real_value(v));
    case JSON_STRING: return (bits & TYPE_STRING) != 0;
    case JSON_ARRAY: return (bits & TYPE_ARRAY) != 0;
    default: return (bits & TYPE_OBJECT) != 0;
    }
}

static int
read_constants(const struct schema_reader *r, const json_t *j,
    const struct spot *at, uint32_t place)
{
    const json_t *list = json_object_get(j, "enum"), *v;
    const json_t *one = json_object_get(j, "const");
    const size_t first = r->s->texts;
    unsigned bits;
    size_t i;

    if (read_type(r, j, at, &bits) < 0)
        return -1;
    bits = bits != 0 ? bits : ~0u;
    if (list != NULL && !json_is_array(list))
        return refuse_schema(r, at, "enum is no list");
    if (list == NULL && has_type(one, bits))
        add_literal(r->s, one);
    for (i = 0; i < json_array_size(list); i++) {
        v = json_array_get(list, i);
        if (has_type(v, bits) && (one == NULL || json_equal(one, v)))
            add_literal(r->s, v);
    }
    end_literals(r->s, place, first);
    return 0;
}

static int
read_any_of(struct schema_reader *r, const json_t *j, const struct spot *at,
    uint32_t place)
{
    const struct spot in = { at, "anyOf" };
    const json_t *list = json_object_get(j, "anyOf"), *v;
    size_t i;

    if (!json_is_array(list) || json_array_size(list) == 0)
        return refuse_schema(r, at, "anyOf is no list of schemas");
    /* the last part of a place is its first kind */
    for (i = json_array_size(list); i-- > 0;) {
        char name[24];
        uint32_t inner;

        v = json_array_get(list, i);
        snprintf(name, sizeof name, "%zu", i);
        if (read_inner(r, v, &in, name, &inner) < 0)
            return -1;
        add_part(r->s, place, 1, inner);
    }
    return 0;
}

/* The value that a JSON pointer names, RFC 6901, or NULL. */
static const json_t *
follow_pointer(const json_t *j, const char *p)
{
    struct buf name = { 0 };

    while (j != NULL && *p == '/') {
        buf_clear(&name);
        buf_adds(&name, "");
        for (p++; *p != '\0' && *p != '/'; p++) {
            const int escape = *p == '~' && (p[1] == '0' || p[1] == '1');

            buf_addc(&name, escape ? p[1] == '0' ? '~' : '/' : *p);
            p += escape;
        }
        if (json_is_array(j)) {
            char *end;
            const unsigned long long i = strtoull(name.p, &end, 10);

            j = name.n > 0 && *end == '\0' ? json_array_get(j, (size_t)i)
                                           : NULL;
        } else {
            j = json_object_get(j, name.p);
        }
    }
    buf_release(&name);
    return *p == '\0' ? j : NULL;
}

/* The place of the schema that a $ref names is read later, by read_named. */
static int
read_ref(struct schema_reader *r, const json_t *j, const struct spot *at,
    uint32_t place)
{
    const char *ref = json_string_value(json_object_get(j, "$ref"));
    const json_t *schema = NULL;
    size_t i = 0;

    if (ref == NULL || *ref != '#')
        return refuse_schema(r, at,
            "$ref may only name a place of this schema, such as #/$defs/name");
    if ((schema = follow_pointer(r->root, ref + 1)) == NULL)
        return refuse_schema(r, at, "$ref names %.100s, which is missing", ref);
    while (i < r->targets && r->target[i].schema != schema)
        i++;
    if (i == TARGETS)
        return refuse_schema(r, at, "$ref: more than %d schemas are named",
            TARGETS);
    if (i == r->targets) {
        r->target = xgrow_pow2(r->target, i, sizeof *r->target);
        r->target[r->targets++] =
            (struct target){ schema, ref, new_place(r->s) };
    }
    add_part(r->s, place, 1, r->target[i].place);
    return 0;
}

static int
check_size(const struct schema_reader *r, const struct spot *at)
{
    const struct schema *s = r->s;

    return s->places > SCHEMA_PLACES || s->kinds > SCHEMA_PLACES ||
            s->texts > SCHEMA_PLACES || s->properties > SCHEMA_PLACES ||
            s->bytes.n > SCHEMA_BYTES
        ? refuse_schema(r, at,
              "the schema is too large: it may have %d values "
              "and %d bytes of names and constants",
              SCHEMA_PLACES, SCHEMA_BYTES)
        : 0;
}

static int
read_schema(struct schema_reader *r, const json_t *j, const struct spot *at,
    uint32_t place)
{
    static int (*const read[FORMS])(struct schema_reader *, const json_t *,
        const struct spot *,
        uint32_t) = { read_types, NULL, read_any_of, read_ref };
    enum form form;

    if (json_is_boolean(j)) {
        if (json_is_true(j))
            add_part(r->s, place, 1, ANY_PLACE);
        return 0;
    }
    if (!json_is_object(j))
        return refuse_schema(r, at, "is no schema: it must be an object");
    form = schema_form(j);
    if (check_size(r, at) < 0 || check_keywords(r, j, at, form) < 0)
        return -1;
    return form == FORM_CONSTANTS ? read_constants(r, j, at, place)
                                  : read[form](r, j, at, place);
}

/* Read the schemas that $ref points to, and those that these point to. */
static int
read_named(struct schema_reader *r)
{
    while (r->done < r->targets) {
        const struct target t = r->target[r->done++];
        const struct spot at = { NULL, t.ref };

        if (read_schema(r, t.schema, &at, t.place) < 0)
            return -1;
    }
    return 0;
}

/* ---- schemas ---- */

struct schema *
schema_read(const json_t *j, struct err *e)
{
    const struct spot at = { NULL, "#" };
    struct err unread;
    struct schema_reader r = { .s = xcalloc(1, sizeof *r.s),
        .root = j,
        .e = e != NULL ? e : &unread };
    int bad;

    add_any(r.s);
    r.s->root = new_place(r.s);
    r.target = xgrow_pow2(NULL, 0, sizeof *r.target);
    r.target[r.targets++] = (struct target){ j, at.name, r.s->root };
    bad = read_named(&r) < 0 || check_size(&r, &at) < 0 ||
        schema_link(r.s, e) < 0;
    free(r.target);
    if (!bad)
        return r.s;
    schema_free(r.s);
    return NULL;
}

struct schema *
schema_object(void)
{
    struct schema *s = xcalloc(1, sizeof *s);

    add_any(s);
    s->root = MAP_PLACE;
    (void)schema_link(s, NULL);
    return s;
}

void
schema_free(struct schema *s)
{
    if (s == NULL)
        return;
    free(s->place);
    free(s->kind);
    free(s->choice);
    free(s->text);
    free(s->property);
    free(s->name);
    free(s->part);
    buf_release(&s->bytes);
    free(s);
}

size_t
schema_bytes(const struct schema *s)
{
    return sizeof *s + 2 * s->places * sizeof *s->place +
        2 * s->kinds * sizeof *s->kind + 2 * s->choices * sizeof *s->choice +
        2 * s->texts * sizeof *s->text +
        2 * s->properties * (sizeof *s->property + sizeof *s->name) +
        s->bytes.cap;
}
