/* Families of models by model_type: see families.h.  families.json has them and
 * the keys of config.json that matter.  Its sources are the classes of
 * transformers; scripts/oracle/plan_params.py counts their parameters. */
#include "families.h"
#include "shipped.h"
#include "base/text.h"
#include "format/json.h"
#include "model/config.h"
#include "model/family.h"

#include <stdlib.h>
#include <string.h>

/* Find a part of families.json by name:
 *   families  for each family: how many norms a block has, and its flags, as
 *             words (contents_of)
 *   switches  for each key of config.json that is true or false: the flags that
 *             true sets and false clears
 *   fixed     for each key of config.json: its supported values, as JSON
 *   harmless  keys that are accepted and not used, besides those for which
 *             config_key_idle is true */
static json_t *
table_part(const char *name)
{
    return json_object_get(shipped_json("families.json"), name);
}

/* Is the name in a list of names with blanks between them? */
static int
name_listed(const char *list, const char *name)
{
    char *all = xasprintf(" %s ", list), *one = xasprintf(" %s ", name);
    const int listed = strstr(all, one) != NULL;

    free(all);
    free(one);
    return listed;
}

/* The flags SHAPE_* whose names, in small letters, are in a list of words. */
static unsigned
contents_of(const json_t *words)
{
    static const char *const names[] = { "gated", "tied", "norm_bias",
        "qkv_bias", "out_bias", "mlp_bias", "head_bias", "positions", "pad_2",
        "embed_norm", "qk_head", "qk_all", "multi_query", "parallel", "sinks",
        "window", "window_half", "newer" };
    unsigned contents = 0;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (name_listed(json_string_value(words), names[i]))
            contents |= 1U << i;
    return contents;
}

int
shape_family(struct shape_family *f, const json_t *j)
{
    const json_t *found =
        json_object_get(table_part("families"), js_text_of(j, "model_type"));

    if (found == NULL)
        return 0;
    f->norms = (unsigned)json_integer_value(json_array_get(found, 0));
    f->contents = contents_of(json_array_get(found, 1));
    return 1;
}

void
shape_family_names(struct buf *b)
{
    const char *name;
    json_t *v;

    json_object_foreach(table_part("families"), name, v)
        buf_addf(b, "%s%s", b->n > 0 ? ", " : "", name);
}

int
shape_contents(unsigned *contents, const json_t *j, struct err *e)
{
    struct shape_family f;
    const char *key;
    json_t *words;

    *contents = shape_family(&f, j) ? f.contents : 0;
    json_object_foreach(table_part("switches"), key, words)
    {
        int on = 0;
        const int r = js_bool(j, key, &on, e);

        if (r < 0)
            return -1;
        if (r > 0)
            *contents = on ? *contents | contents_of(words)
                           : *contents & ~contents_of(words);
    }
    return 0;
}

static int
key_known(const char *name, const char *sizes)
{
    const json_t *harmless = table_part("harmless");

    for (size_t i = 0; i < json_array_size(harmless); i++)
        if (strcmp(json_string_value(json_array_get(harmless, i)), name) == 0)
            return 1;
    return json_object_get(table_part("switches"), name) != NULL ||
        json_object_get(table_part("fixed"), name) != NULL ||
        name_listed(sizes, name) || config_key_idle(name);
}

static int
check_fixed_keys(const json_t *j, struct err *e)
{
    const char *path;
    json_t *only;

    json_object_foreach(table_part("fixed"), path, only)
    {
        const json_t *v = js_get(j, path);
        char *text =
            v == NULL ? NULL : json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT);
        const int bad =
            text != NULL && strstr(json_string_value(only), text) == NULL;

        if (bad)
            err_set(e, EX_INPUT, "%s: %.40s is not supported (%s)", path, text,
                json_string_value(only));
        free(text);
        if (bad)
            return -1;
    }
    return 0;
}

int
shape_check_keys(const json_t *j, const char *sizes, struct err *e)
{
    /* in a family of lib/model, config_fill has removed unknown keys from j */
    const int known = family_named(js_text_of(j, "model_type")) != NULL;
    const char *name;
    json_t *v;

    json_object_foreach((json_t *)j, name, v)
    {
        /* null means that the key is missing; a number below 1 is no size */
        if (json_is_null(v) || (json_is_real(v) && json_real_value(v) < 1.0))
            continue;
        if (!known && !key_known(name, sizes))
            return err_set(e, EX_INPUT,
                "%s: is not known and may change the size of the model; where "
                "it does not, remove it",
                SHOWN(name));
    }
    return check_fixed_keys(j, e);
}
