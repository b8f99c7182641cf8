/* The keys of config.json in three lists: keys that are read, keys that change
 * nothing in the arithmetic, and keys of which one value is implemented.  Any
 * other key is refused by name: it might make transformers compute something
 * else, and nobody would notice. */
#include "model/config_keys.h"
#include "model/config.h"
#include "format/json.h"
#include "model/family.h"

#include <stdlib.h>
#include <string.h>

struct key {
    const char *name;
    unsigned families; /* FAMILY_*; 0: all */
    const char *only;  /* JSON text of the one value allowed; NULL: any */
};

enum {
    QWEN = FAMILY_QWEN2 | FAMILY_QWEN3,
    GEMMA = FAMILY_GEMMA2 | FAMILY_GEMMA3,
    QWEN_MOE = FAMILY_QWEN2_MOE | FAMILY_QWEN3_MOE,
    DEEPSEEK = FAMILY_DEEPSEEK_V2 | FAMILY_DEEPSEEK_V3,
    MIXTURES =
        FAMILY_MIXTRAL | QWEN_MOE | FAMILY_OLMOE | FAMILY_GPT_OSS | DEEPSEEK
};

static const struct key keys[] = {
    /* read, or about layers that are left out */
    { "model_type", 0, NULL },
    { "vocab_size", 0, NULL },
    { "hidden_size", 0, NULL },
    { "intermediate_size", 0, NULL },
    { "num_hidden_layers", 0, NULL },
    { "num_attention_heads", 0, NULL },
    { "num_key_value_heads", 0, NULL },
    { "head_dim", 0, NULL },
    { "max_position_embeddings", 0, NULL },
    { "rms_norm_eps", 0, NULL },
    { "initializer_range", 0, NULL },
    { "tie_word_embeddings", 0, NULL },
    { "rope_theta", 0, NULL },
    { "rope_scaling", 0, NULL },
    { "rope_parameters", 0, NULL },
    { "bos_token_id", 0, NULL },
    { "eos_token_id", 0, NULL },
    { "pad_token_id", 0, NULL },
    { "sliding_window",
        FAMILY_MISTRAL | QWEN | GEMMA | FAMILY_OLMO3 | FAMILY_PHI3 |
            FAMILY_MINISTRAL3 | FAMILY_SMOLLM3 | FAMILY_GPT_OSS,
        NULL },
    { "sliding_window_pattern", FAMILY_GEMMA3, NULL },
    { "_sliding_window_pattern", FAMILY_GEMMA3, NULL },
    { "query_pre_attn_scalar", GEMMA, NULL },
    { "attn_logit_softcapping", FAMILY_GEMMA2, NULL },
    { "final_logit_softcapping", FAMILY_GEMMA2, NULL },
    { "attention_multiplier", FAMILY_GRANITE, NULL },
    { "embedding_multiplier", FAMILY_GRANITE, NULL },
    { "residual_multiplier", FAMILY_GRANITE, NULL },
    { "logits_scaling", FAMILY_GRANITE, NULL },
    { "original_max_position_embeddings", FAMILY_PHI3, NULL },
    { "partial_rotary_factor", FAMILY_PHI3, NULL },
    { "no_rope_layers", FAMILY_SMOLLM3, NULL },
    { "no_rope_layer_interval", FAMILY_SMOLLM3, NULL },
    { "rope_local_base_freq", FAMILY_GEMMA3, NULL },
    { "use_sliding_window", QWEN, NULL },
    { "max_window_layers", QWEN, NULL },
    { "layer_types",
        QWEN | QWEN_MOE | GEMMA | FAMILY_OLMO3 | FAMILY_SMOLLM3 |
            FAMILY_GPT_OSS,
        NULL },
    { "sliding_window", FAMILY_MIXTRAL | QWEN_MOE, NULL },
    { "num_experts", MIXTURES, NULL },
    { "num_local_experts", MIXTURES, NULL },
    { "num_experts_per_tok", MIXTURES, NULL },
    { "moe_intermediate_size", QWEN_MOE, NULL },
    { "shared_expert_intermediate_size", FAMILY_QWEN2_MOE, NULL },
    { "norm_topk_prob", QWEN_MOE | FAMILY_OLMOE, NULL },
    { "mlp_only_layers", QWEN_MOE, NULL },
    { "decoder_sparse_step", QWEN_MOE, NULL },
    { "layer_types", FAMILY_QWEN3_5, NULL },
    { "full_attention_interval", FAMILY_QWEN3_5, NULL },
    { "linear_conv_kernel_dim", FAMILY_QWEN3_5, NULL },
    { "linear_key_head_dim", FAMILY_QWEN3_5, NULL },
    { "linear_value_head_dim", FAMILY_QWEN3_5, NULL },
    { "linear_num_key_heads", FAMILY_QWEN3_5, NULL },
    { "linear_num_value_heads", FAMILY_QWEN3_5, NULL },
    { "partial_rotary_factor", FAMILY_QWEN3_5, NULL },
    { "attn_output_gate", FAMILY_QWEN3_5, "true" },
    { "mlp_only_layers", FAMILY_QWEN3_5, "[]" },
    { "mtp_num_hidden_layers", FAMILY_QWEN3_5, NULL }, /* layers that predict
                                                        * further tokens */
    { "mtp_use_dedicated_embeddings", FAMILY_QWEN3_5, NULL },
    { "mamba_ssm_dtype", FAMILY_QWEN3_5, NULL }, /* the state is fp32 */
    { "q_lora_rank", DEEPSEEK, NULL },
    { "kv_lora_rank", DEEPSEEK, NULL },
    { "qk_nope_head_dim", DEEPSEEK, NULL },
    { "qk_rope_head_dim", DEEPSEEK, NULL },
    { "qk_head_dim", DEEPSEEK, NULL }, /* sum of the two before */
    { "v_head_dim", DEEPSEEK, NULL },
    { "rope_interleave", FAMILY_DEEPSEEK_V3, NULL },
    { "n_routed_experts", DEEPSEEK, NULL },
    { "n_shared_experts", DEEPSEEK, NULL },
    { "moe_intermediate_size", DEEPSEEK, NULL },
    { "first_k_dense_replace", DEEPSEEK, NULL },
    { "routed_scaling_factor", DEEPSEEK, NULL },
    { "n_group", DEEPSEEK, NULL },
    { "topk_group", DEEPSEEK, NULL },
    { "norm_topk_prob", FAMILY_DEEPSEEK_V3, NULL },
    { "topk_method", FAMILY_DEEPSEEK_V2, NULL },
    { "num_nextn_predict_layers", DEEPSEEK, NULL }, /* layers that predict
                                                     * further tokens */
    { "num_mtp_layers", DEEPSEEK, NULL },
    { "retort", 0, NULL },
    { "quantization_config", 0, NULL },

    /* one value is implemented */
    { "hidden_act", ~(unsigned)GEMMA, "\"silu\"" },
    { "hidden_act", FAMILY_GEMMA2, "\"gelu_pytorch_tanh\"" },
    { "hidden_activation", GEMMA, "\"gelu_pytorch_tanh\"" },
    { "use_sliding_window", FAMILY_SMOLLM3, "false" },
    { "lm_head_bias", FAMILY_PHI3, "false" },
    { "full_attn_mod", FAMILY_PHI3, "1" },
    { "interpolate_factor", FAMILY_PHI3, "1" },
    { "is_causal", 0, "true" },
    { "attention_bias", ~(unsigned)FAMILY_GPT_OSS, "false" },
    { "attention_bias", FAMILY_GPT_OSS, "true" },
    { "norm_topk_prob", FAMILY_DEEPSEEK_V2, "false" },
    { "topk_method", FAMILY_DEEPSEEK_V3, "\"noaux_tc\"" },
    { "scoring_func", FAMILY_DEEPSEEK_V2, "\"softmax\"" },
    { "scoring_func", FAMILY_DEEPSEEK_V3, "\"sigmoid\"" },
    { "moe_layer_freq", DEEPSEEK, "1" },
    { "swiglu_alpha", FAMILY_GPT_OSS, "1.702" },
    { "swiglu_limit", FAMILY_GPT_OSS, "7" },
    { "mlp_bias", 0, "false" },
    { "qkv_bias", FAMILY_QWEN2_MOE, "true" },
    { "qkv_bias", ~FAMILY_QWEN2_MOE, "false" },
    { "use_sliding_window", QWEN_MOE, "false" },
    { "use_qk_norm", 0, "false" },
    { "rope_interleaved", 0, "false" },
    { "partial_rotary_factor", ~(unsigned)(FAMILY_PHI3 | FAMILY_QWEN3_5), "1" },
    { "use_bidirectional_attention", 0, "false" },
    { "is_encoder_decoder", 0, "false" },
    { "pruned_heads", 0, "{}" },
    { "add_cross_attention", 0, "false" },
    { "tie_encoder_decoder", 0, "false" },

    /* switches that transformers ignores in these families */
    { "use_sliding_window", FAMILY_LLAMA | FAMILY_MISTRAL, NULL },
    { "max_window_layers", FAMILY_SMOLLM3 | QWEN_MOE, NULL },
    { "auto_map", FAMILY_PHI3 | DEEPSEEK,
        NULL }, /* transformers has the class itself */
    { "experts_per_token", FAMILY_GPT_OSS, NULL },
    { "initial_context_length", FAMILY_GPT_OSS, NULL },
    { "is_decoder", 0, NULL },
    { "is_llama_config", 0, NULL },
    { "pretraining_tp", 0, NULL }, /* only splits a sum */
    { "chunk_size_feed_forward", 0, NULL },

    /* about training, storage and output */
    { "output_router_logits", MIXTURES, NULL },
    { "router_aux_loss_coef", MIXTURES, NULL },
    { "router_jitter_noise", MIXTURES, NULL },
    { "aux_loss_alpha", DEEPSEEK, NULL },
    { "seq_aux", DEEPSEEK, NULL },
    { "ep_size", DEEPSEEK, NULL },
    { "architectures", 0, NULL },
    { "dtype", 0, NULL },
    { "torch_dtype", 0, NULL },
    { "transformers_version", 0, NULL },
    { "_name_or_path", 0, NULL },
    { "_model_name_or_path", 0, NULL },
    { "_commit_hash", 0, NULL },
    { "_attn_implementation", 0, NULL },
    { "attn_implementation", 0, NULL },
    { "_attn_implementation_autoset", 0, NULL },
    { "_flash_attn_2_enabled", 0, NULL },
    { "attention_dropout", 0, NULL },
    { "hidden_dropout", 0, NULL },
    { "embd_pdrop", 0, NULL },
    { "resid_pdrop", 0, NULL },
    { "embedding_dropout", 0, NULL },
    { "residual_dropout", 0, NULL },
    { "use_cache", 0, NULL },
    { "cache_implementation", 0, NULL },
    { "output_attentions", 0, NULL },
    { "output_hidden_states", 0, NULL },
    { "return_dict", 0, NULL },
    { "torchscript", 0, NULL },
    { "use_bfloat16", 0, NULL },
    { "tf_legacy_loss", 0, NULL },
    { "problem_type", 0, NULL },
    { "id2label", 0, NULL },
    { "label2id", 0, NULL },
    { "num_labels", 0, NULL },
    { "finetuning_task", 0, NULL },
    { "task_specific_params", 0, NULL },
    { "tokenizer_class", 0, NULL },
    { "model_max_length", 0, NULL },
    { "prefix", 0, NULL },
    { "sep_token_id", 0, NULL },
    { "unk_token_id", 0, NULL },
    { "decoder_start_token_id", 0, NULL },
    { "cross_attention_hidden_size", 0, NULL },
    { "transformers.js_config", 0, NULL },
    { "unsloth_fixed", 0, NULL },
    { "unsloth_version", 0, NULL },

    /* about generation: older versions of transformers kept these here */
    { "max_length", 0, NULL },
    { "min_length", 0, NULL },
    { "do_sample", 0, NULL },
    { "early_stopping", 0, NULL },
    { "num_beams", 0, NULL },
    { "num_beam_groups", 0, NULL },
    { "diversity_penalty", 0, NULL },
    { "temperature", 0, NULL },
    { "top_k", 0, NULL },
    { "top_p", 0, NULL },
    { "typical_p", 0, NULL },
    { "repetition_penalty", 0, NULL },
    { "length_penalty", 0, NULL },
    { "no_repeat_ngram_size", 0, NULL },
    { "encoder_no_repeat_ngram_size", 0, NULL },
    { "bad_words_ids", 0, NULL },
    { "num_return_sequences", 0, NULL },
    { "output_scores", 0, NULL },
    { "return_dict_in_generate", 0, NULL },
    { "forced_bos_token_id", 0, NULL },
    { "forced_eos_token_id", 0, NULL },
    { "remove_invalid_values", 0, NULL },
    { "exponential_decay_length_penalty", 0, NULL },
    { "suppress_tokens", 0, NULL },
    { "begin_suppress_tokens", 0, NULL },
};

int
config_key_idle(const char *name)
{
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(keys[i].name, name) == 0 && keys[i].families == 0 &&
            keys[i].only == NULL)
            return 1;
    return 0;
}

/* Keys of rope_parameters and rope_scaling; config_rope.c checks their type. */
static const struct key rope_keys[] = {
    { "rope_theta", 0, NULL },
    { "rope_type", 0, NULL },
    { "type", 0, NULL },
    { "factor", 0, NULL },
    { "low_freq_factor", 0, NULL },
    { "high_freq_factor", 0, NULL },
    { "original_max_position_embeddings", 0, NULL },
    { "attention_factor", 0, NULL },
    { "beta_fast", 0, NULL },
    { "beta_slow", 0, NULL },
    { "mscale", 0, NULL },
    { "mscale_all_dim", 0, NULL },
    { "truncate", ~(unsigned)FAMILY_OLMO3, NULL },
    { "truncate", FAMILY_OLMO3, "true" }, /* transformers looks elsewhere */
    { "short_factor", 0, NULL },
    { "long_factor", 0, NULL },
    { "llama_4_scaling_beta", FAMILY_MINISTRAL3, NULL },
    { "max_position_embeddings", FAMILY_MINISTRAL3, NULL },
    { "partial_rotary_factor", FAMILY_PHI3 | FAMILY_QWEN3_5, NULL },
    { "partial_rotary_factor", ~(unsigned)(FAMILY_PHI3 | FAMILY_QWEN3_5), "1" },
    /* in text all sections of a head have the same position */
    { "mrope_section", FAMILY_QWEN3_5, NULL },
    { "mrope_interleaved", FAMILY_QWEN3_5, NULL },
    { "full_attention", FAMILY_GEMMA3 | FAMILY_OLMO3, NULL },
    { "sliding_attention", FAMILY_GEMMA3 | FAMILY_OLMO3, NULL },
};

/* Keys of quantization_config; see compressed.h. */
static const struct key stored_keys[] = {
    { "quant_method", ~(unsigned)FAMILY_GPT_OSS, "\"compressed-tensors\"" },
    { "quant_method", FAMILY_GPT_OSS, "\"mxfp4\"" },
    { "modules_to_not_convert", FAMILY_GPT_OSS, NULL },
    { "version", 0, NULL },
    { "sparsity_config", 0, NULL },
    { "transform_config", 0, "{}" },
};
static const struct key sparsity_keys[] = {
    { "format", 0, "\"sparse-24-bitmask\"" },
    { "sparsity_structure", 0, "\"2:4\"" },
    { "targets", 0, NULL },
    { "ignore", 0, NULL },
    { "global_sparsity", 0, NULL },
    { "registry_requires_subclass", 0, NULL },
};

/* Do two values mean the same?  1 and 1.0 do. */
static int
equal_default(const json_t *a, const json_t *b)
{
    if (json_is_number(a) && json_is_number(b))
        return json_number_value(a) == json_number_value(b);
    return json_equal(a, b);
}

static int
check_value(const json_t *v, const char *at, const struct key *k, struct err *e)
{
    json_t *only = json_loads(k->only, JSON_DECODE_ANY, NULL);
    char *text = NULL;
    int r = 0;

    if (!equal_default(v, only)) {
        text = json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT);
        r = err_set(e, EX_INPUT, "%s%s: %.40s is not supported (%s)", at,
            k->name, text ? text : "?", k->only);
    }
    free(text);
    json_decref(only);
    return r;
}

static int
check_object(const json_t *j, const char *at, const struct key *k, size_t n,
    unsigned family, struct err *e)
{
    const char *name;
    json_t *v;

    json_object_foreach((json_t *)j, name, v)
    {
        size_t i = 0;

        if (json_is_null(v)) /* as if the key were missing */
            continue;
        while (i < n &&
            (strcmp(k[i].name, name) != 0 ||
                (k[i].families && !(k[i].families & family))))
            i++;
        if (i == n)
            return err_set(e, EX_INPUT,
                "%s%.80s: is not known and may "
                "change what the model computes; where it does not, remove "
                "it",
                at, name);
        if (k[i].only && check_value(v, at, &k[i], e) < 0)
            return -1;
    }
    return 0;
}

int
config_check_keys(const json_t *j, unsigned family, struct err *e)
{
#define ROPE rope_keys, sizeof rope_keys / sizeof *rope_keys
    static const struct {
        const char *at;
        const struct key *keys;
        size_t n;
    } part[] = {
        { "rope_parameters", ROPE },
        { "rope_scaling", ROPE },
        { "rope_parameters.full_attention", ROPE },
        { "rope_parameters.sliding_attention", ROPE },
        { "quantization_config", stored_keys,
            sizeof stored_keys / sizeof *stored_keys },
        { "quantization_config.sparsity_config", sparsity_keys,
            sizeof sparsity_keys / sizeof *sparsity_keys },
    };

    if (check_object(j, "", keys, sizeof keys / sizeof *keys, family, e) < 0)
        return -1;
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        const json_t *v = js_get(j, part[i].at);
        char at[40];

        snprintf(at, sizeof at, "%s.", part[i].at);
        if (v && check_object(v, at, part[i].keys, part[i].n, family, e) < 0)
            return -1;
    }
    return 0;
}
