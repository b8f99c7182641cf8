/* Model types with the arithmetic of a family; see config_renamed.h. */
#include "model/config/config_renamed.h"

#include "base/mem.h"
#include "format/json.h"
#include "model/config/config_keys.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- keys of one type ---- */

/* Check that all blocks of a Granite 4 have attention. */
static int
check_granite_blocks(const json_t *j, struct err *e)
{
    const json_t *types = js_get(j, "layer_types");
    const double L = json_number_value(js_get(j, "num_hidden_layers"));

    types = types ? types : js_get(j, "layers_block_type");
    if (types != NULL && (double)json_array_size(types) != L)
        return err_set(e, EX_INPUT, "layer_types: is no list of %g", L);
    for (size_t i = 0; i == 0 || i < json_array_size(types); i++) {
        const char *type = json_string_value(json_array_get(types, i));

        if (type == NULL ||
            (strcmp(type, "attention") != 0 &&
                strcmp(type, "full_attention") != 0))
            return err_set(e, EX_INPUT,
                "layer_types: number %zu is %.40s: of a granitemoehybrid only "
                "blocks with attention are supported, not Mamba's",
                i, type ? type : "linear_attention (Mamba)");
    }
    return 0;
}

/* Set keys of a Granite of attention and dense MLPs alone. */
static int
granite_keys(json_t *j, struct err *e)
{
    static const char *const gone[] = { "time_step_limit", "layer_types",
        "layers_block_type", "num_experts_per_tok", "num_local_experts",
        "position_embedding_type", "shared_intermediate_size" };
    const double experts = json_number_value(js_get(j, "num_local_experts"));
    const char *position = js_text_of(j, "position_embedding_type"), *name;
    json_t *v;
    void *next;

    if (check_granite_blocks(j, e) < 0)
        return -1;
    if (experts != 0)
        return err_set(e, EX_INPUT,
            "num_local_experts: %g: a granitemoehybrid with experts is not "
            "supported (0)",
            experts);
    if (strcmp(position, "rope") != 0)
        return err_set(e, EX_INPUT,
            "position_embedding_type: \"%.40s\" is not supported (\"rope\")",
            position);
    json_object_set(j, "intermediate_size",
        json_object_get(j, "shared_intermediate_size"));
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
        json_object_del(j, gone[i]);
    json_object_foreach_safe(j, next, name, v)
    {
        if (strncmp(name, "mamba_", 6) == 0)
            json_object_del(j, name);
    }
    return 0;
}

/* In text, all sections of a head have the same position: RoPE is the usual
 * one. */
static int
qwen_vl_keys(json_t *j, struct err *e)
{
    static const char *const at[] = { "rope_parameters", "rope_scaling" };
    static const char *const kinds[] = { "type", "rope_type" };

    (void)e;
    for (size_t i = 0; i < 2; i++) {
        json_t *rope = json_object_get(j, at[i]);

        json_object_del(rope, "mrope_section");
        json_object_del(rope, "mrope_interleaved");
        for (size_t k = 0; k < 2; k++)
            if (strcmp(js_text_of(rope, kinds[k]), "mrope") == 0)
                json_object_set_new(rope, kinds[k], json_string("default"));
    }
    return 0;
}

/* Set the number of first blocks without experts from the list of blocks.  This
 * type calls qk_rope_head_dim head_dim, too. */
static int
glm_keys(json_t *j, struct err *e)
{
    const json_t *types = js_get(j, "mlp_layer_types");
    const json_t *head = js_get(j, "head_dim");
    size_t dense = 0;

    if (head != NULL && !json_equal(head, js_get(j, "qk_rope_head_dim")))
        return err_set(e, EX_INPUT, "head_dim: differs from qk_rope_head_dim");
    json_object_del(j, "head_dim");

    for (size_t i = 0; i < json_array_size(types); i++) {
        const char *type = json_string_value(json_array_get(types, i));
        const int is_dense = type != NULL && strcmp(type, "dense") == 0;

        if (!is_dense && (type == NULL || strcmp(type, "sparse") != 0))
            return err_set(e, EX_INPUT,
                "mlp_layer_types: number %zu is neither dense nor sparse", i);
        if (is_dense && dense != i)
            return err_set(e, EX_INPUT,
                "mlp_layer_types: number %zu is dense, but one before it is "
                "sparse, which is not supported",
                i);
        dense += (size_t)is_dense;
    }
    json_object_set_new(j, "first_k_dense_replace",
        json_integer(types != NULL ? (json_int_t)dense : 1));
    json_object_del(j, "mlp_layer_types");
    return 0;
}

/* Set the keys of a DeepSeek-V3 in which no block has experts. */
static int
youtu_keys(json_t *j, struct err *e)
{
    const double d = json_number_value(js_get(j, "hidden_size"));
    json_t *experts =
        json_pack("{s:O?,s:i,s:i,s:i,s:i}", "first_k_dense_replace",
            json_object_get(j, "num_hidden_layers"), "n_routed_experts", 0,
            "num_experts_per_tok", 0, "n_group", 1, "topk_group", 1);

    (void)e;
    json_object_update_new(j, experts);
    if (js_get(j, "initializer_range") == NULL)
        json_object_set_new(j, "initializer_range",
            json_real(d > 0 ? 2 / sqrt(5 * d) : 0.02));
    json_object_del(j, "embedding_initializer_range");
    return 0;
}

/* ---- all types ---- */

static const struct renamed types[] = {
    { .type = "ernie4_5", .is = "llama", .pairs = 1 },
    { .type = "granitemoehybrid",
        .is = "granite",
        .keys = granite_keys,
        .shared = 1 },
    { .type = "qwen2_5_vl_text",
        .is = "qwen2",
        .keys = qwen_vl_keys,
        .sees = 1 },
    { .type = "qwen3_vl_text", .is = "qwen3", .keys = qwen_vl_keys, .sees = 1 },
    { .type = "glm4_moe_lite", .is = "deepseek_v3", .keys = glm_keys },
    { .type = "youtu", .is = "deepseek_v3", .keys = youtu_keys },
};
enum { NTYPES = sizeof types / sizeof *types };

const struct renamed *
renamed_named(const char *type)
{
    for (size_t i = 0; i < NTYPES; i++)
        if (strcmp(types[i].type, type) == 0)
            return &types[i];
    return NULL;
}

/* The part about text has a model_type of its own; in older files it is the
 * whole, or has none. */
const struct renamed *
renamed_of(const json_t *model)
{
    const json_t *j = config_text(model);
    const char *outer = js_text_of(model, "model_type");
    const char *type = js_text_of(j, "model_type");
    const struct renamed *r = renamed_named(type);
    char named[48];

    if (r != NULL || (j != model && *type != '\0'))
        return r;
    snprintf(named, sizeof named, "%.40s_text", outer);
    return renamed_named(named);
}

/* By type, the keys of config.json that transformers reads, where they are not
 * those of the type's family:
 *   values  an object: values of missing keys that differ from the family's
 *   more    an object: keys that the family lacks, with values of missing keys
 *   less    a list: keys of the family that the type lacks
 * The Makefile makes renamed.h from config_renamed.json. */
static const char attrs_text[] =
#include "renamed.h"
    ;

static int
has_theta(const json_t *j)
{
    return js_get(j, "rope_theta") || js_get(j, "rope_parameters.rope_theta") ||
        js_get(j, "rope_scaling.rope_theta");
}

/* Set the keys that j lacks to those of `values`.  A token id that is not below
 * vocab_size becomes null: the model has no such token. */
static void
fill_from(json_t *j, json_t *values)
{
    json_t *v;
    const json_t *size = js_get(j, "vocab_size");
    const char *name;

    size = size ? size : json_object_get(values, "vocab_size");
    json_object_foreach(values, name, v)
    {
        const size_t n = strlen(name);

        if (js_get(j, name) != NULL || json_is_null(v) ||
            (strcmp(name, "rope_theta") == 0 && has_theta(j)))
            continue;
        if (n > 9 && strcmp(name + n - 9, "_token_id") == 0 &&
            json_number_value(v) >= json_number_value(size))
            json_object_set_new(j, name, json_null());
        else
            json_object_set(j, name, v);
    }
}

/* Check the keys of j that are in `more`, which the family does not read: each
 * must have the value that is assumed if it is missing. */
static int
check_more(const json_t *j, json_t *more, struct err *e)
{
    json_t *v;
    const char *name;
    int r = 0;

    json_object_foreach(more, name, v)
    {
        char *only = json_dumps(v, JSON_ENCODE_ANY);
        const json_t *is = js_get(j, name);

        if (r == 0 && is != NULL)
            r = config_check_value(is, name, only, e);
        free(only);
    }
    return r;
}

json_t *
renamed_config(const struct renamed *r, const json_t *j, struct err *e)
{
    json_t *attrs = json_loads(attrs_text, 0, NULL), *to = json_deep_copy(j);
    json_t *of_type = json_object_get(attrs, r->type);
    json_t *more = json_object_get(of_type, "more"), *name;
    size_t i;

    json_array_foreach(json_object_get(of_type, "less"), i, name)
        json_object_del(to, json_string_value(name));
    fill_from(to, json_object_get(of_type, "values"));
    fill_from(to, more);
    json_object_set_new(to, "model_type", json_string(r->is));
    if ((r->keys != NULL && r->keys(to, e) < 0) ||
        check_more(to, more, e) < 0) {
        json_decref(to);
        to = NULL;
    }
    json_decref(attrs);
    return to;
}

struct stored_rows
renamed_stored(const struct renamed *r, const struct config *c, int t)
{
    if (r != NULL && r->shared && (t == W_GATE || t == W_UP))
        return (struct stored_rows){ "shared_mlp.input_linear.weight", NULL,
            W_GATE, 2 };
    if (r != NULL && r->shared && t == W_DOWN)
        return (struct stored_rows){ "shared_mlp.output_linear.weight", NULL, t,
            1 };
    return block_stored(c, t, 0);
}
