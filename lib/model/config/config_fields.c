/* The table of configuration fields; see config_fields.h. */
#include "model/config/config_fields.h"

#include "format/json.h"
#include "model/config/config_keys.h"
#include "model/config/config_rope.h"
#include "model/config/experts_config.h"
#include "model/config/gguf_rope.h"
#include "model/config/mla_config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_WIDTH (1 << 20)
#define MOST_T 2147483648.0

/* Families that share keys. */
#define QWEN (FAMILY_QWEN2 | FAMILY_QWEN3)
#define MISTRALS (FAMILY_MISTRAL | FAMILY_MINISTRAL3)
#define COHERES (FAMILY_COHERE | FAMILY_COHERE2)
#define EVEN_HEADS (FAMILY_GPT_NEOX | FAMILY_GPT2)
/* MLPs without a gate: W_down gelu(W_up x) */
#define PLAIN (EVEN_HEADS | FAMILY_STARCODER2 | FAMILY_PHI)
/* by WINDOW_EVERY */
#define WINDOWED \
    (GEMMA | FAMILY_OLMO3 | FAMILY_GPT_OSS | FAMILY_COHERE2 | FAMILY_EXAONE4)

/* config.json is written in the order of the rows. */
static const struct field rows[] = {
    { "architectures", NULL, ALL, .make = config_class_json,
        .how = WRITE_ONLY },
    { "model_type", NULL, ALL, .make = config_type_json },
    { "vocab_size", "vocab_size", ALL, SIZE(c.V, 1, 1 << 24), .turn = -2 },
    { "hidden_size", "embedding_length", BUT(FAMILY_GPT2),
        SIZE(c.d, 1, MOST_WIDTH), .need = ALL, .turn = -1 },
    { "n_embd", "embedding_length", FAMILY_GPT2, SIZE(c.d, 1, MOST_WIDTH),
        .need = ALL, .turn = -1 },
    { "intermediate_size", "feed_forward_length",
        BUT(FAMILY_GPT2 | FAMILY_QWEN3_5_MOE), SIZE(c.mlp, 1, MOST_WIDTH),
        .need = ALL },
    /* config.mlp of a qwen3_5_moe: every block's MLP is the shared expert */
    { "shared_expert_intermediate_size", "expert_shared_feed_forward_length",
        FAMILY_QWEN3_5_MOE, SIZE(c.mlp, 1, MOST_WIDTH), .how = READ_ONLY },
    { NULL, "feed_forward_length", FAMILY_QWEN3_5_MOE, KNOWN },
    { "n_inner", "feed_forward_length", FAMILY_GPT2, SIZE(c.mlp, 1, MOST_WIDTH),
        .need = ALL, .how = NULLABLE },
    { "num_hidden_layers", "block_count", BUT(FAMILY_GPT2),
        SIZE(c.L, 1, CONFIG_LAYERS), .need = ALL, .turn = -1 },
    { "n_layer", "block_count", FAMILY_GPT2, SIZE(c.L, 1, CONFIG_LAYERS),
        .need = ALL, .turn = -1 },
    { "num_attention_heads", "attention.head_count", BUT(FAMILY_GPT2),
        SIZE(c.H, 1, 4096), .need = ALL },
    { "n_head", "attention.head_count", FAMILY_GPT2, SIZE(c.H, 1, 4096),
        .need = ALL },
    { "num_key_value_heads", "attention.head_count_kv",
        BUT(FAMILY_LFM2 | EVEN_HEADS), SIZE(c.KV, 1, 4096), .how = NULLABLE },
    { NULL, "attention.head_count_kv", EVEN_HEADS, SIZE(c.KV, 1, 4096) },
    { "num_key_value_heads", NULL, FAMILY_LFM2, SIZE(c.KV, 1, 4096),
        .how = NULLABLE },
    { NULL, "attention.head_count_kv", FAMILY_LFM2, KNOWN },
    { "head_dim", "attention.key_length", BUT(EVEN_HEADS), SIZE(c.D, 1, 65536),
        .how = NULLABLE },
    { NULL, "attention.key_length", FAMILY_GPT2, SIZE(c.D, 1, 65536),
        .how = READ_ONLY },
    { "head_dim", "attention.key_length", FAMILY_GPT_NEOX, SIZE(c.D, 1, 65536),
        .how = READ_ONLY },
    { NULL, "attention.value_length", ALL, SIZE(value, 1, 65536) },
    { NULL, "rope.dimension_count", BUT(FAMILY_GPT2), SIZE(rotary, 1, 65536),
        .need = PARTIAL | DEEPSEEK },
    { "max_position_embeddings", "context_length", BUT(FAMILY_GPT2),
        SIZE(c.max_pos, 1, MOST_T), .need = ALL, .turn = -2 },
    /* llama.cpp's converter asks for it; transformers does not read it */
    { "n_ctx", NULL, FAMILY_GPT2, SIZE(c.max_pos, 1, 1 << 24),
        .how = WRITE_ONLY },
    { "n_positions", "context_length", FAMILY_GPT2, SIZE(c.max_pos, 1, 1 << 24),
        .need = ALL, .turn = -2 },

    { "hidden_activation", NULL, GEMMA, CONSTANT("\"gelu_pytorch_tanh\"") },
    { "query_pre_attn_scalar", NULL, GEMMA, SIZE(c.attn_scalar, 1, 65536) },
    { "attn_logit_softcapping", "attn_logit_softcapping", FAMILY_GEMMA2,
        CAP(c.attn_cap) },
    { "final_logit_softcapping", "final_logit_softcapping", FAMILY_GEMMA2,
        CAP(c.final_cap) },
    { "rope_local_base_freq", "rope.freq_base_swa", FAMILY_GEMMA3,
        REAL(c.theta_local, 1, 1e12), .how = BY_HAND, .turn = TURN_WINDOWS },
    { NULL, "rope.freq_base_swa", FAMILY_OLMO3, REAL(c.theta_local, 1, 1e12),
        .turn = TURN_WINDOWS },
    { "rope_parameters", NULL, FAMILY_GEMMA3, .make = rope_parameters_json },
    { "hidden_act", NULL, FAMILY_GEMMA, CONSTANT("\"gelu_pytorch_tanh\"") },
    { "hidden_act", NULL, FAMILY_APERTUS, CONSTANT("\"xielu\"") },
    { "hidden_act", NULL, PLAIN &BUT(FAMILY_GPT2), .make = config_gelu_json },
    { "activation_function", NULL, FAMILY_GPT2, .make = config_gelu_json },
    { "hidden_act", NULL, BUT(GEMMA | FAMILY_GEMMA | FAMILY_APERTUS | PLAIN),
        CONSTANT("\"silu\"") },
    { "rms_norm_eps", "attention.layer_norm_rms_epsilon",
        BUT(COHERES | PLAIN | FAMILY_LFM2), REAL(c.eps, 0, 1), .need = ALL },
    { "norm_eps", "attention.layer_norm_rms_epsilon", FAMILY_LFM2,
        REAL(c.eps, 0, 1), .need = ALL },
    { "layer_norm_eps", "attention.layer_norm_epsilon",
        COHERES | FAMILY_GPT_NEOX | FAMILY_PHI, REAL(c.eps, 0, 1),
        .need = ALL },
    { "norm_epsilon", "attention.layer_norm_epsilon", FAMILY_STARCODER2,
        REAL(c.eps, 0, 1), .need = ALL },
    { "layer_norm_epsilon", "attention.layer_norm_epsilon", FAMILY_GPT2,
        REAL(c.eps, 0, 1), .need = ALL },
    { "rotary_emb_base", "rope.freq_base", FAMILY_GPT_NEOX,
        REAL(c.theta, 1, 1e12), .how = BY_HAND },
    { "rope_theta", "rope.freq_base", BUT(EVEN_HEADS), REAL(c.theta, 1, 1e12),
        .need = FAMILY_GEMMA3 | FAMILY_OLMO3 | FAMILY_SMOLLM3 |
            FAMILY_MINISTRAL3 | FAMILY_MIXTRAL | FAMILY_GPT_OSS,
        .how = BY_HAND },
    { "rope_parameters", NULL, BUT(FAMILY_GPT2), .make = rope_parameters_json },
    { "rope_scaling", NULL, BUT(FAMILY_GPT2), .make = rope_scaling_json },
    { "original_max_position_embeddings", NULL, FAMILY_PHI3,
        .make = rope_orig_json },
    { "original_max_position_embeddings", NULL, ALL, KNOWN },
    { "partial_rotary_factor", NULL, FAMILY_PHI3 | FAMILY_PHI | GLMS,
        .make = rope_part_json },
    { "partial_rotary_factor", NULL, DELTAS, KNOWN },
    { "partial_rotary_factor", NULL, BUT(PARTIAL), .only = "1" },
    { "rotary_pct", NULL, FAMILY_GPT_NEOX, .make = rope_part_json },
    /* llama.cpp's converter asks for it; transformers does not read it */
    { "rotary_pct", NULL, FAMILY_COHERE2, CONSTANT("1.0") },
    { "no_rope_layers", NULL, FAMILY_SMOLLM3, .make = no_rope_json },
    { "no_rope_layer_interval", NULL, FAMILY_SMOLLM3,
        SIZE(rope_every, 1, CONFIG_LAYERS), .how = READ_ONLY },
    { "attention_multiplier", "attention.scale", FAMILY_GRANITE,
        FACTOR(c.attn_scale) },
    { "embedding_multiplier", "embedding_scale", FAMILY_GRANITE,
        FACTOR(c.embed_scale) },
    { "residual_multiplier", "residual_scale", FAMILY_GRANITE,
        FACTOR(c.residual_scale) },
    { "logits_scaling", "logit_scale", FAMILY_GRANITE, FACTOR(c.logit_scale) },
    { "logit_scale", "logit_scale", COHERES, FACTOR(c.logit_factor) },
    { NULL, "attention.temperature_scale", FAMILY_MINISTRAL3,
        REAL(c.rope_query, 0, 100), .need = ALL, .turn = TURN_SCALES },

    /* which blocks have a window */
    { "sliding_window", NULL,
        MISTRALS | FAMILY_MINISTRAL | QWEN | WINDOWED | FAMILY_PHI3 |
            FAMILY_MIXTRAL | FAMILY_STARCODER2,
        SIZE(window, 0, MOST_T), .how = NULLABLE },
    { "sliding_window", NULL, FAMILY_SMOLLM3 | QWEN_MOE,
        SIZE(window, 0, MOST_T), .how = NULLABLE | READ_ONLY },
    { NULL, "attention.sliding_window",
        FAMILY_GEMMA2 | FAMILY_GPT_OSS | FAMILY_COHERE2,
        SIZE(window, 1, MOST_T), .need = FAMILY_GPT_OSS | FAMILY_COHERE2,
        .turn = TURN_WINDOWS },
    { NULL, "attention.sliding_window",
        FAMILY_GEMMA3 | FAMILY_OLMO3 | FAMILY_PHI3 | FAMILY_EXAONE4,
        SIZE(window, 0, MOST_T), .turn = TURN_WINDOWS },
    { NULL, "attention.sliding_window", BUT(WINDOWED | FAMILY_PHI3),
        .only = "0" },
    { NULL, "attention.sliding_window_pattern", WINDOWED, KNOWN },
    { "sliding_window_size", NULL, GEMMA, SIZE(window_again, 0, MOST_T),
        .how = READ_ONLY },
    { "_sliding_window_pattern", NULL, FAMILY_GEMMA3,
        SIZE(every, 1, CONFIG_LAYERS), .how = READ_ONLY },
    { "sliding_window_pattern", NULL, FAMILY_GEMMA3 | FAMILY_COHERE2,
        SIZE(every, 1, CONFIG_LAYERS), .how = READ_ONLY },
    /* a number, or letters; config.c reads it */
    { "sliding_window_pattern", NULL, FAMILY_EXAONE4, KNOWN },
    { "use_sliding_window", NULL, QWEN, BOOL(windowed) },
    { "max_window_layers", NULL, QWEN, SIZE(window_from, 0, CONFIG_LAYERS),
        .how = READ_ONLY },
    { "max_window_layers", NULL, FAMILY_QWEN2_MOE, KNOWN },
    { "layer_types", NULL, QWEN | WINDOWED | FAMILY_MINISTRAL,
        .make = config_layers_json },
    { "layer_types", NULL, MISTRALS | FAMILY_QWEN2_MOE | FAMILY_SMOLLM3,
        KNOWN },

    /* experts */
    { "num_experts", "expert_count",
        QWEN_MOE | FAMILY_QWEN3_5_MOE | FAMILY_OLMOE,
        SIZE(c.router.n, 1, ROUTER_EXPERTS), .need = ALL },
    { "num_local_experts", "expert_count", FAMILY_MIXTRAL | FAMILY_GPT_OSS,
        SIZE(c.router.n, 1, ROUTER_EXPERTS), .need = ALL },
    { "n_routed_experts", "expert_count", DEEPSEEK,
        SIZE(c.router.n, 0, ROUTER_EXPERTS), .need = ALL },
    { NULL, "expert_count", BUT(MIXTURES), .only = "0" },
    { "num_experts_per_tok", "expert_used_count", DEEPSEEK,
        SIZE(c.router.k, 0, ROUTER_USED), .need = ALL },
    { "num_experts_per_tok", "expert_used_count", MIXTURES &BUT(DEEPSEEK),
        SIZE(c.router.k, 1, ROUTER_USED), .need = ALL },
    { NULL, "expert_used_count", BUT(MIXTURES), .only = "0" },
    { "moe_intermediate_size", "expert_feed_forward_length",
        QWEN_MOE | FAMILY_QWEN3_5_MOE | DEEPSEEK,
        SIZE(c.expert_mlp, 1, MOST_WIDTH) },
    { "intermediate_size", "expert_feed_forward_length",
        FAMILY_MIXTRAL | FAMILY_OLMOE | FAMILY_GPT_OSS,
        SIZE(c.expert_mlp, 1, MOST_WIDTH) },
    { "output_router_logits", NULL, MIXTURES, CONSTANT("false") },
    { "shared_expert_intermediate_size", "expert_shared_feed_forward_length",
        FAMILY_QWEN2_MOE | FAMILY_QWEN3_NEXT | FAMILY_QWEN3_5_MOE,
        SIZE(c.shared_mlp, 1, MOST_WIDTH), .need = ALL },
    { "norm_topk_prob", NULL, QWEN_MOE | FAMILY_OLMOE, BOOL(c.router.renorm) },
    { "norm_topk_prob", "expert_weights_norm", FAMILY_DEEPSEEK_V3,
        BOOL(c.router.renorm), .need = ALL, .turn = 2 },
    { "mlp_only_layers", NULL, QWEN_MOE, .make = dense_blocks_json },
    { "decoder_sparse_step", NULL, QWEN_MOE, SIZE(step, 1, CONFIG_LAYERS) },
    { "n_shared_experts", "expert_shared_count", DEEPSEEK,
        SIZE(shared, 1, ROUTER_EXPERTS), .need = ALL, .turn = 1 },
    { "first_k_dense_replace", "leading_dense_block_count", DEEPSEEK,
        SIZE(first, 0, CONFIG_LAYERS) },
    { NULL, "expert_gating_func", FAMILY_DEEPSEEK_V3, .only = "2", /* sigmoid */
        .how = PUT_ONLY, .turn = 1 },
    { NULL, "expert_gating_func", FAMILY_DEEPSEEK_V2, .only = "1", /* softmax */
        .how = PUT_ONLY, .turn = 1 },
    { NULL, "expert_gating_func", MIXTURES, .only = "1" },
    { "routed_scaling_factor", "expert_weights_scale", DEEPSEEK,
        REAL(c.router.scale, 1e-6, 1e6), .need = FAMILY_DEEPSEEK_V3,
        .turn = 1 },
    { "norm_topk_prob", NULL, FAMILY_DEEPSEEK_V2, BOOL(c.router.renorm),
        .only = "false" },
    { NULL, "expert_weights_norm", FAMILY_DEEPSEEK_V2, BOOL(c.router.renorm),
        .turn = 2 },
    { "scoring_func", NULL, FAMILY_DEEPSEEK_V2, .only = "\"softmax\"",
        .how = PUT_ONLY },
    { "scoring_func", NULL, FAMILY_DEEPSEEK_V3, .only = "\"sigmoid\"",
        .how = PUT_ONLY },
    { "topk_method", NULL, FAMILY_DEEPSEEK_V2, .make = router_method_json },
    { "topk_method", NULL, FAMILY_DEEPSEEK_V3, .only = "\"noaux_tc\"",
        .how = PUT_ONLY },
    { "n_group", "expert_group_count", FAMILY_DEEPSEEK_V3,
        SIZE(c.router.groups, 1, ROUTER_EXPERTS), .need = ALL, .turn = 2 },
    { "topk_group", "expert_group_used_count", FAMILY_DEEPSEEK_V3,
        SIZE(c.router.keep, 1, ROUTER_EXPERTS), .need = ALL, .turn = 2 },
    /* without these keys, llama.cpp has no groups in V2 */
    { "n_group", NULL, FAMILY_DEEPSEEK_V2,
        SIZE(c.router.groups, 0, ROUTER_EXPERTS) },
    { "topk_group", NULL, FAMILY_DEEPSEEK_V2,
        SIZE(c.router.keep, 0, ROUTER_EXPERTS) },
    { NULL, "expert_group_count", FAMILY_DEEPSEEK_V2,
        SIZE(c.router.groups, 1, ROUTER_EXPERTS), .how = READ_ONLY },
    { NULL, "expert_group_used_count", FAMILY_DEEPSEEK_V2,
        SIZE(c.router.keep, 1, ROUTER_EXPERTS), .how = READ_ONLY },
    { "moe_layer_freq", NULL, DEEPSEEK, .only = "1" },
    { "num_nextn_predict_layers", NULL, DEEPSEEK, CONSTANT("0") },
    { NULL, "nextn_predict_layers", DEEPSEEK, .only = "0" },

    /* the gated delta rule */
    { "linear_num_key_heads", "ssm.group_count", DELTAS,
        SIZE(c.delta.keys, 1, 4096), .need = ALL },
    { "linear_num_value_heads", "ssm.time_step_rank", DELTAS,
        SIZE(c.delta.values, 1, 4096), .need = ALL },
    { "linear_key_head_dim", "ssm.state_size", DELTAS,
        SIZE(c.delta.dk, 1, 4096), .need = ALL },
    { "linear_value_head_dim", NULL, DELTAS, SIZE(c.delta.dv, 1, 4096) },
    { NULL, "ssm.inner_size", DELTAS, SIZE(inner, 1, MOST_WIDTH), .need = ALL },
    { "linear_conv_kernel_dim", "ssm.conv_kernel", DELTAS,
        SIZE(c.conv, 1, CONV_TAPS), .need = ALL },
    { "layer_types", NULL, DELTAS, .make = config_layers_json },
    { "full_attention_interval", NULL, DELTAS, SIZE(interval, 1, CONFIG_LAYERS),
        .how = READ_ONLY },
    { NULL, "full_attention_interval", DELTAS,
        SIZE(interval, 1, CONFIG_LAYERS) },
    { NULL, "attention.recurrent_layers", DELTAS, KNOWN },
    /* in text all sections of a head have the same position */
    { NULL, "rope.dimension_sections", DELTAS, KNOWN },
    { NULL, "nextn_predict_layers", DELTAS, SIZE(next, 0, CONFIG_LAYERS),
        .how = READ_ONLY },
    { "attn_output_gate", NULL, DELTAS, .only = "true" },

    /* the short convolution; intermediate_size is written as it is */
    { "conv_L_cache", "shortconv.l_cache", FAMILY_LFM2,
        SIZE(c.conv, 1, CONV_TAPS), .need = ALL },
    { "conv_bias", NULL, FAMILY_LFM2, CONSTANT("false") },
    { "layer_types", NULL, FAMILY_LFM2, .make = config_layers_json },
    { "full_attn_idxs", NULL, FAMILY_LFM2, KNOWN },
    { "block_auto_adjust_ff_dim", NULL, FAMILY_LFM2, BOOL(adjusted) },
    { "block_ffn_dim_multiplier", NULL, FAMILY_LFM2, REAL(multiplier, 0, 1e6) },
    { "block_multiple_of", NULL, FAMILY_LFM2, SIZE(multiple, 1, MOST_WIDTH) },

    /* latent attention */
    { "q_lora_rank", "attention.q_lora_rank", DEEPSEEK,
        SIZE(c.mla.q_rank, 1, MOST_WIDTH), .how = NULLABLE, .turn = 3 },
    { "kv_lora_rank", "attention.kv_lora_rank", DEEPSEEK,
        SIZE(c.mla.kv_rank, 1, MOST_WIDTH), .need = ALL, .turn = 2 },
    { "qk_nope_head_dim", NULL, DEEPSEEK, SIZE(c.mla.nope, 1, 4096) },
    { "qk_rope_head_dim", NULL, DEEPSEEK, SIZE(c.mla.rope, 2, 4096) },
    { "qk_head_dim", NULL, DEEPSEEK, KNOWN }, /* sum of the two before */
    { "v_head_dim", NULL, DEEPSEEK, SIZE(c.mla.v, 1, 4096) },
    { "head_dim", NULL, DEEPSEEK, SIZE(c.mla.rope, 2, 4096),
        .how = WRITE_ONLY },
    { "rope_interleave", NULL, FAMILY_DEEPSEEK_V3, BOOL(pairs) },
    { NULL, "attention.key_length_mla", DEEPSEEK, SIZE(key_mla, 1, 65536),
        .how = READ_ONLY },
    { NULL, "attention.value_length_mla", DEEPSEEK, SIZE(value_mla, 1, 65536),
        .how = READ_ONLY },

    { "attention_bias", NULL, FAMILY_SEED_OSS, CONSTANT("true") },
    { "attention_bias", NULL, FAMILY_GPT_NEOX | GLMS, BOOL(c.attn_bias) },
    { "use_bias", NULL, FAMILY_STARCODER2, BOOL(c.attn_bias) },
    { "attention_bias", NULL, BUT(FAMILY_SEED_OSS | PLAIN | GLMS),
        .make = config_bias_json, .how = WRITE_ONLY },
    { "attention_dropout", NULL, BUT(FAMILY_GPT2), CONSTANT("0.0") },
    { "attn_pdrop", NULL, FAMILY_GPT2, CONSTANT("0.0") },
    { "embd_pdrop", NULL, FAMILY_GPT2, CONSTANT("0.0") },
    { "resid_pdrop", NULL, FAMILY_GPT2, CONSTANT("0.0") },
    { "mlp_bias", NULL, BUT(PLAIN), CONSTANT("false") },
    { "use_parallel_residual", "use_parallel_residual", FAMILY_GPT_NEOX,
        BOOL(c.parallel), .need = ALL },
    { "tie_word_embeddings", NULL, ALL, BOOL(c.tied) },
    { "initializer_range", NULL, ALL, REAL(c.init_range, 0, 100) },
    { "use_cache", NULL, ALL, CONSTANT("true") },
    { "bos_token_id", "tokenizer.ggml.bos_token_id", ALL, ID(c.bos) },
    { "eos_token_id", NULL, ALL, .make = config_eos_json, .how = NULLABLE },
    { NULL, "tokenizer.ggml.eos_token_id", ALL, ID(c.eos[0]) },
    { "pad_token_id", "tokenizer.ggml.padding_token_id", ALL, ID(c.pad) },
    { "retort", NULL, ALL, KNOWN },
    { "quantization_config", NULL, ALL, KNOWN },

    /* one value is implemented; models by these names have other values in
     * programs besides transformers */
    { "qk_norm", NULL, FAMILY_APERTUS, .only = "true" },
    { "post_norm", NULL, FAMILY_APERTUS, .only = "false" },
    { "lm_head_bias", NULL, FAMILY_PHI3, .only = "false" },
    { "full_attn_mod", NULL, FAMILY_PHI3, .only = "1" },
    { "interpolate_factor", NULL, FAMILY_PHI3, .only = "1" },
    { "rope_interleaved", NULL, ALL, .only = "false" },
    { "use_mrope", NULL, ALL, .only = "false" },
    { "use_bidirectional_attention", NULL, ALL, .only = "false" },
    { NULL, "attention.causal", ALL, .only = "1" },
    { NULL, "rope.scaling.yarn_ext_factor", ALL, .only = "1" },
    { NULL, "use_parallel_residual", BUT(FAMILY_GPT_NEOX), .only = "0" },

    /* RoPE in a GGUF */
    { NULL, "rope.scaling.type", ALL, KNOWN },
    { NULL, "rope.scale_linear", ALL, REAL(factor, 0, 1e6), .how = READ_ONLY },
    { NULL, "rope.scaling.factor", ALL, REAL(factor, 0, 1e6),
        .how = READ_ONLY },
    { NULL, "rope.scaling.factor", ALL, REAL(c.rope_factor, 0, 1e6),
        .kinds = KIND(LINEAR) | KIND(YARN), .how = WRITE_ONLY,
        .turn = TURN_ROPE },
    { NULL, "rope.scaling.original_context_length", ALL,
        SIZE(c.rope_orig, 1, 1e9), .kinds = KIND(YARN) | KIND(LONGROPE),
        .how = NEEDED, .turn = TURN_ROPE },
    { NULL, "rope.scaling.original_context_length",
        FAMILY_PHI3 | FAMILY_MINISTRAL3, SIZE(c.rope_orig, 1, 1e9),
        .kinds = KIND(DEFAULT) | KIND(LINEAR), .how = NO_ZERO,
        .turn = TURN_ROPE },
    { NULL, "rope.scaling.yarn_beta_fast", ALL, REAL(c.rope_high, 0, 1e6),
        .kinds = KIND(YARN), .turn = TURN_ROPE },
    { NULL, "rope.scaling.yarn_beta_slow", ALL, REAL(c.rope_low, 0, 1e6),
        .kinds = KIND(YARN), .turn = TURN_ROPE },
    { NULL, "rope.scaling.yarn_log_multiplier", FAMILY_MINISTRAL3,
        REAL(log_multiplier, 0, 100), .kinds = KIND(YARN), .how = NEEDED,
        .turn = TURN_ROPE },
    { NULL, "rope.scaling.yarn_log_multiplier", DEEPSEEK,
        REAL(log_multiplier, 0, 100), .kinds = KIND(YARN), .how = NEEDED,
        .turn = 3 },
    { NULL, "rope.scaling.yarn_log_multiplier",
        BUT(DEEPSEEK | FAMILY_MINISTRAL3), REAL(log_multiplier, 0, 100),
        .kinds = KIND(YARN), .how = READ_ONLY },
    { NULL, "rope.scaling.attn_factor", ALL, REAL(attn_factor, 0, 1e3),
        .turn = TURN_ROPE },
    { NULL, "rope.scaling.attn_factor", ALL, REAL(c.rope_scale, 1e-3, 1e3),
        .kinds = KIND(LONGROPE), .how = NEEDED | READ_ONLY },
    /* these change nothing */
    { NULL, "rope.scaling.finetuned", ALL, KNOWN },
    { NULL, "tensor_data_layout", ALL, KNOWN },
};
const struct field_table config_fields = { rows, sizeof rows / sizeof *rows };

static int
is_of(const struct field *r, const struct config *c)
{
    return (r->families & family_of(c)->bit) != 0;
}

/* Is the row of c's kind of RoPE? */
static int
is_of_kind(const struct field *r, const struct config *c)
{
    return r->kinds >> c->rope & 1;
}

/* Is the row for the family and the RoPE of c? */
static int
is_for(const struct field *r, const struct config *c)
{
    return is_of(r, c) && (r->kinds == 0 || is_of_kind(r, c));
}

void
config_file_init(struct config_file *f, const struct config *c)
{
    memset(f, 0, sizeof *f);
    f->c = *c;
    f->window_again = SIZE_MAX;
    f->every = family_of(c)->every;
    f->rope_every = 1;
    f->pairs = 1;
    f->step = 1;
    f->interval =
        (size_t)config_missing("full_attention_interval", family_of(c)->bit);
    f->multiplier =
        config_missing("block_ffn_dim_multiplier", family_of(c)->bit);
    f->multiple =
        (size_t)config_missing("block_multiple_of", family_of(c)->bit);
    f->factor = f->log_multiplier = f->attn_factor = NAN;
}

void
config_file_of(struct config_file *f, const struct config *c)
{
    config_file_init(f, c);
    f->window = c->window;
    /* in these families transformers refuses a sliding_window of null */
    if (family_of(c)->windows == WINDOW_EVERY && c->window == 0 &&
        family_of(c)->bit != FAMILY_EXAONE4)
        f->window = (size_t)config_missing("sliding_window", family_of(c)->bit);
    f->windowed = c->window > 0;
    f->rotary = config_rotary(c);
    f->value = mla_value(c);
    f->pairs = !c->mla.halves;
    f->shared = c->expert_mlp > 0 ? c->shared_mlp / c->expert_mlp : 0;
    f->first = experts_first(c);
    f->inner = c->delta.values * c->delta.dv;
    rope_file_of(f);
}

void
fields_heads(struct config *c)
{
    if (c->mlp == 0 && family_of(c)->bit == FAMILY_GPT2)
        c->mlp = 4 * c->d;
    if (c->KV == 0)
        c->KV = c->H;
    if (c->D == 0 && c->d % c->H == 0)
        c->D = c->d / c->H;
}

/* ---- config.json ---- */

static int
id_from_json(const json_t *j, const char *key, int64_t *id, struct err *e)
{
    const json_t *v = js_get(j, key);

    *id = -1;
    if (v && !json_is_integer(v))
        return err_set(e, EX_INPUT, "%s: is no token id", key);
    if (v)
        *id = json_integer_value(v);
    return 0;
}

int
fields_from_json(const struct field_table *t, struct config_file *f,
    const json_t *j, const char *at, struct err *e)
{
    for (size_t i = 0; i < t->n; i++) {
        const struct field *r = &t->row[i];
        void *to = (char *)f + r->at;
        char path[120];
        int k = 1;

        if (!r->json || !is_for(r, &f->c) || r->how & (WRITE_ONLY | BY_HAND))
            continue;
        snprintf(path, sizeof path, "%s%s%s", at, *at ? "." : "", r->json);
        switch (r->type) {
        case IS_NONE: break;
        case IS_SIZE:
            k = js_size(j, path, (size_t)r->low, (size_t)r->high, to, e);
            break;
        case IS_REAL: k = js_real(j, path, r->low, r->high, to, e); break;
        case IS_BOOL: k = js_bool(j, path, to, e); break;
        case IS_ID: k = id_from_json(j, path, to, e); break;
        }
        if (k == 0 && r->how & NEEDED)
            return err_set(e, EX_INPUT, "%s: is missing", path);
        if (k < 0)
            return -1;
    }
    return 0;
}

/* The number of a row as JSON. */
static json_t *
number_json(const struct config_file *f, const struct field *r)
{
    const void *at = (const char *)f + r->at;

    switch (r->type) {
    case IS_SIZE:
        return *(const size_t *)at == 0 && r->how & NULLABLE
            ? NULL
            : json_integer((json_int_t) * (const size_t *)at);
    case IS_REAL:
        return *(const double *)at == 0 && r->how & (NULLABLE | NO_ZERO)
            ? NULL
            : json_real(*(const double *)at);
    case IS_BOOL: return json_boolean(*(const int *)at);
    case IS_ID:
        return *(const int64_t *)at < 0 ? NULL
                                        : json_integer(*(const int64_t *)at);
    default: return NULL;
    }
}

json_t *
fields_to_json(const struct field_table *t, const struct config_file *f)
{
    json_t *j = json_object();

    for (size_t i = 0; i < t->n; i++) {
        const struct field *r = &t->row[i];
        json_t *v;

        if (!r->json || !is_for(r, &f->c) || r->how & READ_ONLY)
            continue;
        v = r->make             ? r->make(&f->c)
            : r->how & PUT_ONLY ? json_loads(r->only, JSON_DECODE_ANY, NULL)
                                : number_json(f, r);
        if (!v && r->how & NULLABLE)
            v = json_null();
        if (v)
            json_object_set_new(j, r->json, v);
    }
    return j;
}

/* ---- GGUF ---- */

const char *
arch_key(const struct config *c, const char *name)
{
    static char text[80];

    if (strncmp(name, "tokenizer.", 10) == 0)
        return name;
    snprintf(text, sizeof text, "%s.%s", family_of(c)->gguf, name);
    return text;
}

/* The first row of key `name` of a GGUF of c's family; NULL: there is none. */
static const struct field *
gguf_field(const struct config *c, const char *name)
{
    for (size_t i = 0; i < config_fields.n; i++)
        if (rows[i].gguf && is_of(&rows[i], c) &&
            strcmp(rows[i].gguf, name) == 0)
            return &rows[i];
    return NULL;
}

/* Is v, a number or bool, equal to `want`? */
static int
is_value(const struct gguf *g, const struct gguf_kv *v, double want)
{
    struct err e;
    double x;
    size_t n;
    int b;

    if (gguf_bool(g, v->key, &b, &e) > 0)
        return b == want;
    if (gguf_size(g, v->key, 0, SIZE_MAX / 2, &n, &e) > 0)
        return (double)n == want;
    return gguf_real(g, v->key, 0, 1e9, &x, &e) > 0 && x == want;
}

/* The first key that a GGUF of c's family needs and g does not have; NULL:
 * there is none. */
static const char *
missing_key(const struct config *c, const struct gguf *g)
{
    for (size_t i = 0; i < config_fields.n; i++)
        if (rows[i].gguf && is_of(&rows[i], c) &&
            rows[i].need & family_of(c)->bit &&
            !gguf_kv(g, arch_key(c, rows[i].gguf)))
            return rows[i].gguf;
    return NULL;
}

/* Check that each key of the architecture is known and that none is missing. */
static int
check_gguf_keys(const struct config *c, const struct gguf *g, struct err *e)
{
    const char *arch = family_of(c)->gguf, *missing = missing_key(c, g);
    const size_t len = strlen(arch);

    for (size_t i = 0; i < g->nkv; i++) {
        const char *name = g->kv[i].key;
        const struct field *r;

        if (strncmp(name, arch, len) != 0 || name[len] != '.')
            continue;
        if ((r = gguf_field(c, name + len + 1)) == NULL)
            return err_set(e, EX_INPUT,
                "%.80s: is not known and may change what the model computes%s%s"
                "%s",
                name, missing ? "; " : "", missing ? arch_key(c, missing) : "",
                missing ? ": is missing" : "");
        if (r->only && !is_value(g, &g->kv[i], strtod(r->only, NULL)))
            return err_set(e, EX_INPUT,
                "%s: a value other than %s is not supported", name, r->only);
    }
    if (missing)
        return err_set(e, EX_INPUT, "%s: is missing", arch_key(c, missing));
    return 0;
}

static int
id_from_gguf(const struct gguf *g, const char *key, int64_t *id, struct err *e)
{
    size_t v;
    const int k = gguf_size(g, key, 0, INT64_MAX, &v, e);

    *id = k > 0 ? (int64_t)v : -1;
    return k;
}

static int
number_from_gguf(const struct field *r, struct config_file *f,
    const struct gguf *g, struct err *e)
{
    const char *key = arch_key(&f->c, r->gguf);
    void *to = (char *)f + r->at;
    int k = 0;

    if (r->how & ASSUMED)
        *(double *)to = config_missing(r->json, family_of(&f->c)->bit);
    switch (r->type) {
    case IS_NONE: break;
    case IS_SIZE:
        k = gguf_size(g, key, (size_t)r->low, (size_t)r->high, to, e);
        break;
    case IS_REAL: k = gguf_real(g, key, r->low, r->high, to, e); break;
    case IS_BOOL: k = gguf_bool(g, key, to, e); break;
    case IS_ID: k = id_from_gguf(g, key, to, e); break;
    }
    if (k == 0 && r->how & NEEDED)
        return err_set(e, EX_INPUT, "%s: is missing", key);
    return k;
}

int
fields_from_gguf(struct config_file *f, const struct gguf *g, struct err *e)
{
    if (check_gguf_keys(&f->c, g, e) < 0)
        return -1;
    for (size_t i = 0; i < config_fields.n; i++)
        if (rows[i].gguf && is_of(&rows[i], &f->c) && rows[i].kinds == 0 &&
            number_from_gguf(&rows[i], f, g, e) < 0)
            return -1;
    return 0;
}

int
fields_of_kind(struct config_file *f, const struct gguf *g, struct err *e)
{
    for (size_t i = 0; i < config_fields.n; i++)
        if (rows[i].gguf && is_of(&rows[i], &f->c) &&
            is_of_kind(&rows[i], &f->c) && !(rows[i].how & WRITE_ONLY) &&
            number_from_gguf(&rows[i], f, g, e) < 0)
            return -1;
    return 0;
}

void
fields_to_gguf(const struct config_file *f, int turn, struct gguf_out *o)
{
    for (size_t i = 0; i < config_fields.n; i++) {
        const struct field *r = &rows[i];
        const void *at = (const char *)f + r->at;
        const char *key = r->gguf ? arch_key(&f->c, r->gguf) : NULL;

        if (!key || !is_for(r, &f->c) || r->turn != turn || r->how & READ_ONLY)
            continue;
        if (r->how & PUT_ONLY)
            gguf_out_u32(o, key, strtoul(r->only, NULL, 10));
        else if (r->type == IS_SIZE &&
            (*(const size_t *)at > 0 || !(r->how & (NULLABLE | NO_ZERO))))
            gguf_out_u32(o, key, *(const size_t *)at);
        else if (r->type == IS_REAL && !isnan(*(const double *)at) &&
            (*(const double *)at != 0 || !(r->how & (NULLABLE | NO_ZERO))))
            gguf_out_f32(o, key, *(const double *)at);
        else if (r->type == IS_BOOL)
            gguf_out_bool(o, key, *(const int *)at);
    }
}

const char *
fields_null(const struct config *c)
{
    struct config_file f;

    config_file_of(&f, c);
    for (size_t i = 0; i < config_fields.n; i++) {
        const void *at = (const char *)&f + rows[i].at;

        if (is_of(&rows[i], c) && rows[i].how & ASSUMED &&
            *(const double *)at == 0)
            return rows[i].json;
    }
    return NULL;
}
