/* Families of models by model_type: see families.h.  Sources are the classes of
 * transformers; scripts/oracle/plan_params.py counts their parameters. */
#include "families.h"
#include "base/text.h"
#include "format/json.h"
#include "model/config.h"

#include <stdlib.h>
#include <string.h>

enum { BIASES = SHAPE_QKV_BIAS | SHAPE_OUT_BIAS | SHAPE_MLP_BIAS };

static const struct shape_family families[] = {
    { "bloom", 2, SHAPE_GPT | SHAPE_TIED | SHAPE_EMBED_NORM },
    { "cohere", 1, SHAPE_GATED | SHAPE_TIED },
    { "deepseek_v2", 2, SHAPE_GATED },
    { "deepseek_v3", 2, SHAPE_GATED },
    { "falcon", 2,
        SHAPE_NORM_BIAS | SHAPE_TIED | SHAPE_MULTI_QUERY | SHAPE_PARALLEL },
    { "gemma", 2, SHAPE_GATED | SHAPE_TIED },
    { "gemma2", 4, SHAPE_GATED | SHAPE_TIED | SHAPE_WINDOW_HALF },
    { "gpt2", 2, SHAPE_GPT | SHAPE_TIED | SHAPE_POSITIONS },
    { "gpt_bigcode", 2,
        SHAPE_GPT | SHAPE_TIED | SHAPE_POSITIONS | SHAPE_MULTI_QUERY },
    { "gpt_neox", 2, SHAPE_GPT },
    { "gpt_oss", 2, SHAPE_GATED | BIASES | SHAPE_SINKS | SHAPE_WINDOW_HALF },
    { "gptj", 1, SHAPE_NORM_BIAS | SHAPE_MLP_BIAS | SHAPE_HEAD_BIAS },
    { "mixtral", 2, SHAPE_GATED | SHAPE_WINDOW },
    { "mpt", 2, SHAPE_TIED },
    { "nemotron", 2, SHAPE_NORM_BIAS },
    { "olmo2", 2, SHAPE_GATED | SHAPE_QK_ALL },
    { "opt", 2, SHAPE_GPT | SHAPE_TIED | SHAPE_POSITIONS | SHAPE_PAD_2 },
    { "phi", 1, SHAPE_GPT | SHAPE_HEAD_BIAS },
    { "phi3", 2, SHAPE_GATED | SHAPE_WINDOW },
    { "qwen2_moe", 2, SHAPE_GATED | SHAPE_QKV_BIAS | SHAPE_WINDOW },
    { "qwen3_moe", 2, SHAPE_GATED | SHAPE_QK_HEAD | SHAPE_WINDOW },
    { "starcoder2", 2, SHAPE_GPT | SHAPE_TIED | SHAPE_WINDOW },
    { NULL, 0, 0 },
};

/* Keys that switch tensors on or off. */
static const struct {
    const char *key;
    unsigned contents;
} switches[] = {
    { "tie_word_embeddings", SHAPE_TIED },
    { "attention_bias", SHAPE_QKV_BIAS | SHAPE_OUT_BIAS },
    { "mlp_bias", SHAPE_MLP_BIAS },
    { "qkv_bias", SHAPE_QKV_BIAS },
    { "bias", BIASES },
    { "use_bias", BIASES },
    { "enable_bias", BIASES },
    { "use_qk_norm", SHAPE_QK_ALL },
    { "multi_query", SHAPE_MULTI_QUERY },
    { "parallel_attn", SHAPE_PARALLEL },
    { "new_decoder_architecture", SHAPE_NEWER },
};

/* Keys for which only one value is supported; `only` is JSON. */
static const struct {
    const char *path, *only;
} fixed[] = {
    { "decoder_sparse_step", "1" },
    { "mlp_only_layers", "[]" },
    { "moe_layer_freq", "1" },
    { "qk_layernorm", "false" },
    { "no_bias", "true" },
    { "do_layer_norm_before", "true" },
    { "_remove_final_layer_norm", "false" },
    { "layer_norm_elementwise_affine", "true" },
    { "add_cross_attention", "false" },
    { "is_encoder_decoder", "false" },
    { "norm_type", "\"layer_norm\" \"low_precision_layernorm\"" },
    { "mlp_type", "\"default\"" },
    { "attn_config.attn_type", "\"multihead_attention\"" },
    { "attn_config.qk_ln", "false" },
};

/* Keys that change no number of parameters in any of these families.  Keys that
 * lib/model takes with any value in every family are not listed. */
static const char harmless[] =
    " about activation activation_dropout activation_function alibi "
    "apply_residual_connection_post_layernorm attention_probs_dropout_prob "
    "attention_softmax_in_fp32 attn_config attn_logit_softcapping "
    "attn_pdrop auto_map aux_loss_alpha bias_dropout_fusion "
    "classifier_dropout clip_qkv dropout emb_pdrop embedding_fraction "
    "ep_size expansion_ratio experts_per_token final_logit_softcapping "
    "gradient_checkpointing hidden_act hidden_activation "
    "hidden_dropout_prob init_config init_device init_std "
    "initial_context_length is_causal layer_norm_eps layer_norm_epsilon "
    "layer_types layerdrop learned_pos_emb logit_scale "
    "masked_softmax_fusion max_seq_len max_window_layers n_ctx "
    "norm_eps norm_epsilon norm_topk_prob num_nextn_predict_layers "
    "offset_alibi original_max_position_embeddings output_router_logits "
    "partial_rotary_factor qk_head_dim query_pre_attn_scalar "
    "reorder_and_upcast_attn resid_pdrop rope_interleave rotary rotary_dim "
    "rotary_emb_base rotary_pct routed_scaling_factor router_aux_loss_coef "
    "router_jitter_noise scale_attention_softmax_in_fp32 "
    "scale_attn_by_inverse_layer_idx scale_attn_weights scoring_func "
    "seq_aux seq_length skip_bias_add skip_bias_add_qkv slow_but_exact "
    "summary_activation summary_first_dropout summary_proj_to_labels "
    "summary_type summary_use_proj swiglu_alpha swiglu_limit "
    "topk_method use_parallel_residual use_sliding_window verbose ";

const struct shape_family *
shape_family_named(const char *type)
{
    for (const struct shape_family *f = families; f->type != NULL; f++)
        if (strcmp(f->type, type) == 0)
            return f;
    return NULL;
}

void
shape_family_names(struct buf *b)
{
    for (const struct shape_family *f = families; f->type != NULL; f++)
        buf_addf(b, "%s%s", f > families ? ", " : "", f->type);
}

int
shape_contents(unsigned *contents, const json_t *j, struct err *e)
{
    const struct shape_family *f =
        shape_family_named(js_text_of(j, "model_type"));

    *contents = f != NULL ? f->contents : 0;
    for (size_t i = 0; i < sizeof switches / sizeof *switches; i++) {
        int on = 0;
        const int r = js_bool(j, switches[i].key, &on, e);

        if (r < 0)
            return -1;
        if (r > 0)
            *contents = on ? *contents | switches[i].contents
                           : *contents & ~switches[i].contents;
    }
    return 0;
}

/* Is the name in a list in which each name stands between blanks? */
static int
name_listed(const char *list, const char *name)
{
    char *one = xasprintf(" %s ", name);
    const int listed = strstr(list, one) != NULL;

    free(one);
    return listed;
}

static int
key_known(const char *name, const char *sizes)
{
    const size_t n = sizeof switches / sizeof *switches;

    for (size_t i = 0; i < n; i++)
        if (strcmp(switches[i].key, name) == 0)
            return 1;
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (strcmp(fixed[i].path, name) == 0)
            return 1;
    return name_listed(sizes, name) || name_listed(harmless, name) ||
        config_key_idle(name);
}

static int
check_fixed_keys(const json_t *j, struct err *e)
{
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        const json_t *v = js_get(j, fixed[i].path);
        char *text =
            v == NULL ? NULL : json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT);
        const int bad = text != NULL && strstr(fixed[i].only, text) == NULL;

        if (bad)
            err_set(e, EX_INPUT, "%s: %.40s is not supported (%s)",
                fixed[i].path, text, fixed[i].only);
        free(text);
        if (bad)
            return -1;
    }
    return 0;
}

int
shape_check_keys(const json_t *j, const char *sizes, struct err *e)
{
    const char *name;
    json_t *v;

    json_object_foreach((json_t *)j, name, v)
    {
        /* null means that the key is missing; a number below 1 is no size */
        if (json_is_null(v) || (json_is_real(v) && json_real_value(v) < 1.0))
            continue;
        if (!key_known(name, sizes))
            return err_set(e, EX_INPUT,
                "%s: is not known and may change the size of the model; where "
                "it does not, remove it",
                SHOWN(name));
    }
    return check_fixed_keys(j, e);
}
