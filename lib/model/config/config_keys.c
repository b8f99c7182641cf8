/* The keys of config.json.  A key is looked up in this order:
 *   config_fields keys that are read, and keys of which one value is
 *                 implemented (config_fields.c)
 *   idle          keys whose values change no number
 *   config_attrs  the other keys that transformers reads in the family: only
 *                 the value that transformers assumes for a missing key is
 *                 accepted
 * Transformers ignores all other keys, and so does retort, with a note at
 * -v. */
#include "model/config/config_keys.h"
#include "base/mem.h"
#include "base/note.h"
#include "format/json.h"
#include "model/config/config_fields.h"

#include <stdlib.h>
#include <string.h>

/* The keys of config.json that transformers reads in each family, with its
 * values where a key is missing, as JSON.  families: FAMILY_*; 0: all.  The
 * Makefile makes attrs.h from config_attrs.txt. */
static const struct config_attr {
    const char *name;
    uint64_t families;
    const char *value;
} config_attrs[] = {
#include "attrs.h"
};

/* Other names of the same keys.  wins: the value of this one is taken. */
static const struct config_alias {
    const char *name;
    uint64_t families;
    const char *is;
    int wins;
} config_aliases[] = {
#include "aliases.h"
};

/* Keys that change no number, whatever the family. */
static const char *const idle[] = {
    /* switches */
    "is_decoder", "is_llama_config", "chunk_size_feed_forward",
    "pretraining_tp", /* only splits a sum */
    "auto_map",       /* transformers has the class itself */
    /* layers that predict further tokens */
    "num_nextn_predict_layers", "num_mtp_layers", "mtp_num_hidden_layers",
    "mtp_use_dedicated_embeddings",
    /* training, storage and output */
    "mamba_ssm_dtype", "output_router_logits", "router_aux_loss_coef",
    "router_jitter_noise", "aux_loss_alpha", "seq_aux", "ep_size",
    "architectures", "dtype", "torch_dtype", "transformers_version",
    "_name_or_path", "name_or_path", "_model_name_or_path", "_commit_hash",
    "_attn_implementation", "attn_implementation", "experts_implementation",
    "_attn_implementation_autoset", "_flash_attn_2_enabled",
    "attention_dropout", "hidden_dropout", "embd_pdrop", "resid_pdrop",
    "attn_pdrop", "summary_type", "summary_use_proj", "summary_activation",
    "summary_proj_to_labels", "summary_first_dropout", "embedding_dropout",
    "residual_dropout", "classifier_dropout", "use_cache",
    "cache_implementation", "output_attentions", "output_hidden_states",
    "return_dict", "torchscript", "use_bfloat16", "tf_legacy_loss",
    "problem_type", "id2label", "label2id", "num_labels", "finetuning_task",
    "task_specific_params", "tokenizer_class", "model_max_length", "prefix",
    "sep_token_id", "unk_token_id", "decoder_start_token_id",
    "cross_attention_hidden_size", "transformers.js_config", "unsloth_fixed",
    "unsloth_version",
    /* generation: older versions of transformers kept these here */
    "max_length", "min_length", "do_sample", "early_stopping", "num_beams",
    "num_beam_groups", "diversity_penalty", "temperature", "top_k", "top_p",
    "typical_p", "repetition_penalty", "length_penalty", "no_repeat_ngram_size",
    "encoder_no_repeat_ngram_size", "bad_words_ids", "num_return_sequences",
    "output_scores", "return_dict_in_generate", "forced_bos_token_id",
    "forced_eos_token_id", "remove_invalid_values",
    "exponential_decay_length_penalty", "suppress_tokens",
    "begin_suppress_tokens"
};

/* Is r the row of key `name` for one of the families? */
static int
is_row_of(const struct field *r, const char *name, uint64_t families)
{
    return r->json && strcmp(r->json, name) == 0 && r->families & families &&
        !(r->how & WRITE_ONLY);
}

static int
is_idle(const char *name)
{
    size_t n = sizeof idle / sizeof *idle;

    while (n > 0 && strcmp(idle[n - 1], name) != 0)
        n--;
    return n > 0;
}

/* Keys of quantization_config; see compressed.h. */
static const struct field stored_rows[] = {
    { "quant_method", NULL, ALL, KNOWN },
    { "modules_to_not_convert", NULL, FAMILY_GPT_OSS, KNOWN },
    { "version", NULL, ALL, KNOWN },
    { "sparsity_config", NULL, ALL, KNOWN },
    { "transform_config", NULL, ALL, .only = "{}" },
};
/* The same, of weights in F8_E4M3.  Activations are not quantised. */
static const struct field f8_rows[] = {
    { "quant_method", NULL, ALL, KNOWN },
    { "activation_scheme", NULL, ALL, KNOWN },
    { "fmt", NULL, ALL, .only = "\"e4m3\"" },
    { "weight_block_size", NULL, ALL, KNOWN }, /* open.c */
    { "modules_to_not_convert", NULL, ALL, KNOWN },
    { "ignored_layers", NULL, ALL, KNOWN },
    { "modules_to_convert", NULL, ALL, KNOWN },
    { "scale_fmt", NULL, ALL, KNOWN },
    { "expert_dtype", NULL, ALL, .only = "\"fp8\"" },
    { "dequantize", NULL, ALL, KNOWN },
    { "quant_algo", NULL, ALL, .only = "\"FP8\"" }, /* of modelopt */
    { "config_groups", NULL, ALL, KNOWN },
    { "ignore", NULL, ALL, KNOWN },
    { "kv_cache_scheme", NULL, ALL, KNOWN },
    { "kv_cache_quant_algo", NULL, ALL, KNOWN },
    { "producer", NULL, ALL, KNOWN },
};
static const struct field sparsity_rows[] = {
    { "format", NULL, ALL, .only = "\"sparse-24-bitmask\"" },
    { "sparsity_structure", NULL, ALL, .only = "\"2:4\"" },
    { "targets", NULL, ALL, KNOWN },
    { "ignore", NULL, ALL, KNOWN },
    { "global_sparsity", NULL, ALL, KNOWN },
    { "registry_requires_subclass", NULL, ALL, KNOWN },
};

/* Is the bit `family` in the mask `families`, in which 0 means all? */
static int
has_family(uint64_t families, uint64_t family)
{
    return families == 0 || (families & family);
}

/* The first row of key `name` in t, or of the key that it is another name for;
 * NULL: there is none. */
static const struct field *
find_key(const struct field_table *t, const char *name, uint64_t family)
{
    const size_t n = sizeof config_aliases / sizeof *config_aliases;

    for (size_t i = 0; i < t->n; i++)
        if (is_row_of(&t->row[i], name, family))
            return &t->row[i];
    for (size_t i = 0; t == &config_fields && i < n; i++)
        if (strcmp(config_aliases[i].name, name) == 0 &&
            has_family(config_aliases[i].families, family))
            return find_key(t, config_aliases[i].is, family);
    return NULL;
}

static const struct config_attr *
find_attr(const char *name, uint64_t family)
{
    for (size_t i = 0; i < sizeof config_attrs / sizeof *config_attrs; i++)
        if (strcmp(config_attrs[i].name, name) == 0 &&
            has_family(config_attrs[i].families, family))
            return &config_attrs[i];
    return NULL;
}

static const struct field_table stored_keys = { stored_rows,
    sizeof stored_rows / sizeof *stored_rows };
static const struct field_table f8_keys = { f8_rows,
    sizeof f8_rows / sizeof *f8_rows };
static const struct field_table sparsity_keys = { sparsity_rows,
    sizeof sparsity_rows / sizeof *sparsity_rows };

/* The objects in config.json, by their paths.  strict: a key that is not in the
 * table is refused; 0: such a key is ignored. */
static const struct {
    const char *at;
    const struct field_table *table;
    int strict;
} inner_keys[] = {
    { "rope_parameters", &rope_fields, 0 },
    { "rope_scaling", &rope_fields, 0 },
    { "rope_parameters.full_attention", &rope_fields, 0 },
    { "rope_parameters.sliding_attention", &rope_fields, 0 },
    { "quantization_config", &stored_keys, 1 },
    { "quantization_config.sparsity_config", &sparsity_keys, 1 },
};
enum { NINNER = sizeof inner_keys / sizeof *inner_keys };

/* Does the quantization_config v mean weights in F8_E4M3?  Older files of
 * modelopt do not say quant_method. */
static int
is_f8(const json_t *v)
{
    const char *method = js_text_of(v, "quant_method");

    return strcmp(method, "fp8") == 0 || strcmp(method, "modelopt") == 0 ||
        (*method == '\0' && js_get(v, "quant_algo") != NULL);
}

/* The table of the object j of inner_keys[i]. */
static const struct field_table *
inner_table(size_t i, const json_t *j)
{
    return inner_keys[i].table == &stored_keys && is_f8(j)
        ? &f8_keys
        : inner_keys[i].table;
}

/* Check how quantization_config v says that weights are stored. */
static int
check_method(const json_t *v, uint64_t family, struct err *e)
{
    const char *method = js_text_of(v, "quant_method");
    const int oss = family == FAMILY_GPT_OSS;

    if (*method == '\0' ||
        strcmp(method, oss ? "mxfp4" : "compressed-tensors") == 0 ||
        (!oss && is_f8(v)))
        return 0;
    return err_set(e, EX_INPUT,
        "quantization_config.quant_method: \"%.40s\" is not supported (%s)",
        method,
        oss ? "mxfp4"
            : "compressed-tensors that is 2:4, fp8, modelopt with quant_algo "
              "FP8");
}

/* ---- values of missing keys ---- */

double
config_missing(const char *name, uint64_t family)
{
    const struct config_attr *a = find_attr(name, family);

    return a ? strtod(a->value, NULL) : 0;
}

/* Set each key that config_aliases has another name for to the value that the
 * other name has in j. */
static int
rename_keys(json_t *j, uint64_t family, struct err *e)
{
    const size_t n = sizeof config_aliases / sizeof *config_aliases;

    for (size_t i = 0; i < n; i++) {
        const struct config_alias *a = &config_aliases[i];
        json_t *v = json_object_get(j, a->name);
        const json_t *is = js_get(j, a->is);

        if (!has_family(a->families, family) || v == NULL || json_is_null(v))
            continue;
        if (is && !a->wins && !json_equal(is, v))
            return err_set(e, EX_INPUT, "%s: differs from %s", a->name, a->is);
        json_object_set(j, a->is, v);
    }
    return 0;
}

/* Does null mean something else than a missing key does? */
static int
null_is_value(const char *name)
{
    for (size_t i = 0; i < config_fields.n; i++)
        if (is_row_of(&config_fields.row[i], name, ALL) &&
            config_fields.row[i].how & NULLABLE)
            return 1;
    return 0;
}

/* Should fill_missing set the key `name` of j to v?  The id of a token is set
 * only if it, or the last one of a list, is below vocab_size, rope_parameters
 * only if j has no rope_scaling.  rope_theta is not set: config_rope.c finds it
 * in several keys. */
static int
is_filled(const json_t *j, const char *name, const json_t *v, uint64_t family)
{
    const json_t *size = js_get(j, "vocab_size");
    const json_t *id =
        json_is_array(v) ? json_array_get(v, json_array_size(v) - 1) : v;
    const size_t n = strlen(name);

    if (strcmp(name, "rope_parameters") == 0)
        return js_get(j, "rope_scaling") == NULL;
    if (n > 9 && strcmp(name + n - 9, "_token_id") == 0)
        return json_number_value(id) <
            (size ? json_number_value(size)
                  : config_missing("vocab_size", family));
    return strcmp(name, "rope_theta") != 0;
}

/* Set the missing keys of j to the values that transformers assumes. */
static void
fill_missing(json_t *j, uint64_t family)
{
    const size_t n = sizeof config_attrs / sizeof *config_attrs;

    for (size_t i = 0; i < n; i++) {
        const struct config_attr *a = &config_attrs[i];
        const json_t *is = json_object_get(j, a->name);
        json_t *v;

        if (!has_family(a->families, family) ||
            (is && (!json_is_null(is) || null_is_value(a->name))))
            continue;
        v = json_loads(a->value, JSON_DECODE_ANY, NULL);
        if (!json_is_null(v) && is_filled(j, a->name, v, family))
            json_object_set(j, a->name, v);
        json_decref(v);
    }
}

/* Remove the keys of j that the family does not read.  t: the table of j. */
static void
drop_ignored(json_t *j, const struct field_table *t, uint64_t family)
{
    const char *name;
    json_t *v;
    void *next;

    json_object_foreach_safe(j, next, name, v)
    {
        if (!find_key(t, name, family) &&
            (t != &config_fields || !find_attr(name, family)))
            json_object_del(j, name);
    }
}

json_t *
config_fill(const json_t *text, const json_t *model, uint64_t family,
    struct err *e)
{
    static const char *const outer[] = { "tie_word_embeddings", "bos_token_id",
        "eos_token_id", "pad_token_id" };
    json_t *j = json_deep_copy(text);

    drop_ignored(j, &config_fields, family);
    for (size_t i = 0; i < NINNER; i++)
        drop_ignored((json_t *)js_get(j, inner_keys[i].at),
            inner_table(i, js_get(j, inner_keys[i].at)), family);
    for (size_t i = 0; i < sizeof outer / sizeof *outer; i++)
        if (js_get(model, outer[i]))
            json_object_set(j, outer[i], json_object_get(model, outer[i]));
    if (json_object_size(js_get(j, "rope_scaling")) == 0)
        json_object_del(j, "rope_scaling");
    if (rename_keys(j, family, e) < 0) {
        json_decref(j);
        return NULL;
    }
    fill_missing(j, family);
    return j;
}

/* ---- checks ---- */

/* Does value a mean the same as the default b?  The numbers 1 and 1.0 are the
 * same; false, an empty list and an empty object are the same as a default of
 * null. */
static int
equal_default(const json_t *a, const json_t *b)
{
    if (json_is_number(a) && json_is_number(b))
        return json_number_value(a) == json_number_value(b);
    if (json_is_null(b))
        return json_is_false(a) ||
            (json_is_array(a) && json_array_size(a) == 0) ||
            (json_is_object(a) && json_object_size(a) == 0);
    return json_equal(a, b);
}

/* Check that the value v of key `name` of the object whose path is `at` is the
 * one whose JSON text is `only`. */
static int
check_value(const json_t *v, const char *at, const char *name, const char *only,
    struct err *e)
{
    json_t *want = json_loads(only, JSON_DECODE_ANY, NULL);
    char *text = NULL;
    int r = 0;

    if (!equal_default(v, want)) {
        text = json_dumps(v,
            JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15));
        r = err_set(e, EX_INPUT, "%s%s: %.40s is not supported (%s)", at, name,
            text ? text : "?", only);
    }
    free(text);
    json_decref(want);
    return r;
}

/* Check keys of which only one value is implemented.  Unknown keys are checked
 * later, because an error about a value tells the user more. */
static int
check_values(const json_t *j, const char *at, const struct field_table *t,
    uint64_t family, struct err *e)
{
    for (size_t i = 0; i < t->n; i++) {
        const struct field *k = &t->row[i];
        const json_t *v = k->json ? js_get(j, k->json) : NULL;

        if (v && k->only && is_row_of(k, k->json, family) &&
            check_value(v, at, k->json, k->only, e) < 0)
            return -1;
    }
    return 0;
}

/* Check the keys of object j, whose path is `at`: "" or with a dot at the end.
 * strict: a key that is not in the table is refused; 0: a note names it. */
static int
check_object(const json_t *j, const char *at, const struct field_table *t,
    int strict, uint64_t family, struct err *e)
{
    struct buf ignored = { 0 };
    const char *name;
    json_t *v;
    int r = check_values(j, at, t, family, e);

    if (r < 0)
        return -1;
    json_object_foreach((json_t *)j, name, v)
    {
        const struct field *k = find_key(t, name, family);
        const struct config_attr *a =
            t == &config_fields && k == NULL ? find_attr(name, family) : NULL;

        if (json_is_null(v) || (t == &config_fields && is_idle(name)))
            continue;
        if (a != NULL)
            r = check_value(v, at, name, a->value, e);
        else if (k == NULL && strict)
            r = err_set(e, EX_INPUT,
                "%s%.80s: is not known and may change what the model computes; "
                "where it does not, remove it",
                at, name);
        else if (k == NULL)
            buf_addf(&ignored, "%s%s%.80s", ignored.n > 0 ? ", " : "", at,
                name);
        if (r < 0)
            break;
    }
    if (r == 0 && ignored.n > 0)
        vnote("config.json: ignored, as by transformers: %s", ignored.p);
    buf_release(&ignored);
    return r;
}

int
config_check_value(const json_t *v, const char *name, const char *only,
    struct err *e)
{
    return is_idle(name) ? 0 : check_value(v, "", name, only, e);
}

int
config_check_keys(const json_t *j, uint64_t family, struct err *e)
{
    if (check_object(j, "", &config_fields, 0, family, e) < 0)
        return -1;
    for (size_t i = 0; i < NINNER; i++) {
        const json_t *v = js_get(j, inner_keys[i].at);
        char at[40];

        if (v && !json_is_object(v))
            return err_set(e, EX_INPUT, "%s: is no object", inner_keys[i].at);
        snprintf(at, sizeof at, "%s.", inner_keys[i].at);
        if (v && inner_keys[i].table == &stored_keys &&
            check_method(v, family, e) < 0)
            return -1;
        if (v &&
            check_object(v, at, inner_table(i, v), inner_keys[i].strict, family,
                e) < 0)
            return -1;
    }
    return 0;
}
