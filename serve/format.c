/* The member response_format; see format.h. */
#include "format.h"

#include <stdio.h>
#include <string.h>

static const char param[] = "response_format";

/* Check that j has no members but those in the list, which ends with NULL. */
static int
check_format_names(const json_t *j, const char *const *names,
    struct refusal *why)
{
    const char *name;
    json_t *v;

    json_object_foreach((json_t *)(uintptr_t)j, name, v)
    {
        size_t i = 0;

        while (names[i] != NULL && strcmp(names[i], name) != 0)
            i++;
        if (names[i] == NULL && !json_is_null(v))
            return refuse(why, 400, param, NULL,
                "%s has the member %.60s, which is not supported: leave it out",
                param, name);
    }
    return 0;
}

/* The schema in the object `json_schema`; NULL and *why. */
static struct schema *
read_json_schema(const json_t *format, struct refusal *why)
{
    static const char *const names[] = { "name", "description", "schema",
        "strict", NULL };
    const json_t *j = json_object_get(format, "json_schema");
    const json_t *schema = json_object_get(j, "schema");
    struct schema *s;
    struct err e;

    if (!json_is_object(j) || schema == NULL) {
        refuse(why, 400, param, NULL,
            "%s of type json_schema needs \"json_schema\": {\"name\": ..., "
            "\"schema\": {...}}",
            param);
        return NULL;
    }
    if (check_format_names(j, names, why) < 0)
        return NULL;
    if ((s = schema_read(schema, &e)) == NULL)
        refuse(why, 400, param, NULL, "%s: %s", param, e.msg);
    return s;
}

/* Check that the request's texts can be bound by its schema. */
static int
check_bound(const struct request *q, const struct request_bounds *b,
    struct refusal *why)
{
    struct err e;

    if (b->vocab == NULL)
        return refuse(why, 400, param, NULL, "%s: %s", param, b->no_vocab);
    if (mask_check_schema(b->vocab, q->schema, &e) < 0)
        return refuse(why, 400, param, NULL, "%s: %s", param, e.msg);
    if (q->echo)
        return refuse(why, 400, "echo", NULL,
            "echo does not go with %s: the prompt is no part of a document",
            param);
    if (mask_check_params(&q->params, &e) == 0)
        return 0;
    refuse(why, 400, NULL, NULL, "%s", e.msg);
    snprintf(why->param, sizeof why->param, "%.*s", (int)strcspn(e.msg, ":"),
        e.msg);
    return -1;
}

int
format_read(struct request *q, const json_t *j, const struct request_bounds *b,
    struct refusal *why)
{
    static const char *const names[] = { "type", "json_schema", NULL };
    const json_t *f = json_object_get(j, param);
    const char *type = json_string_value(json_object_get(f, "type"));

    if (f == NULL || json_is_null(f))
        return 0;
    if (type == NULL)
        return refuse(why, 400, param, NULL, "%s must be an object with a type",
            param);
    if (check_format_names(f, names, why) < 0)
        return -1;
    if (strcmp(type, "text") == 0)
        return 0;
    if (strcmp(type, "json_object") == 0)
        q->schema = schema_object();
    else if (strcmp(type, "json_schema") != 0)
        return refuse(why, 400, param, NULL,
            "%s has the type %.60s: give text, json_object or json_schema",
            param, type);
    else if ((q->schema = read_json_schema(f, why)) == NULL)
        return -1;
    return check_bound(q, b, why);
}
