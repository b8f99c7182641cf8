/* The keys of config.json that transformers reads in each family, with its
 * values where a key is missing, as JSON.  families: FAMILY_*; 0: all.
 * Made by scripts/oracle/config_attrs.py with transformers 5.24.0: do not edit.
 * Private to config_keys.c. */
#ifndef MODEL_CONFIG_ATTRS_H
#define MODEL_CONFIG_ATTRS_H

#include "model/config/family.h"

/* clang-format off */
static const struct config_attr {
    const char *name;
    uint64_t families;
    const char *value;
} config_attrs[] = {
    { "_commit_hash", 0, "null" },
    { "activation_function", FAMILY_GPT2, "\"gelu_new\"" },
    { "add_cross_attention", 0, "false" },
    { "architectures", 0, "null" },
    { "attention_bias", ~(FAMILY_MISTRAL | FAMILY_QWEN2 | FAMILY_PHI3 |
        FAMILY_MINISTRAL3 | FAMILY_SEED_OSS | FAMILY_MINISTRAL | FAMILY_MIXTRAL
        | FAMILY_QWEN2_MOE | FAMILY_GPT_OSS | FAMILY_LFM2 | FAMILY_GPT_NEOX |
        FAMILY_GPT2 | FAMILY_STARCODER2 | FAMILY_PHI | FAMILY_GLM4 | FAMILY_GLM
        | FAMILY_EXAONE4), "false" },
    { "attention_bias", FAMILY_SEED_OSS | FAMILY_GPT_OSS | FAMILY_GPT_NEOX |
        FAMILY_GLM4 | FAMILY_GLM, "true" },
    { "attention_dropout", ~(FAMILY_SEED_OSS | FAMILY_LFM2 | FAMILY_GPT2), "0.0"
        },
    { "attention_dropout", FAMILY_SEED_OSS, "0.1" },
    { "attention_multiplier", FAMILY_GRANITE, "1.0" },
    { "attention_out_bias", FAMILY_SEED_OSS, "false" },
    { "attn_implementation", 0, "null" },
    { "attn_logit_softcapping", FAMILY_GEMMA2, "50.0" },
    { "attn_logit_softcapping", FAMILY_GEMMA3, "null" },
    { "attn_pdrop", FAMILY_GPT2, "0.1" },
    { "block_auto_adjust_ff_dim", FAMILY_LFM2, "true" },
    { "block_ffn_dim_multiplier", FAMILY_LFM2, "1.0" },
    { "block_multiple_of", FAMILY_LFM2, "256" },
    { "bos_token_id", FAMILY_SEED_OSS | FAMILY_DEEPSEEK_V3 | FAMILY_GPT_NEOX |
        FAMILY_EXAONE4, "0" },
    { "bos_token_id", FAMILY_LLAMA | FAMILY_MISTRAL | FAMILY_GRANITE |
        FAMILY_PHI3 | FAMILY_MINISTRAL3 | FAMILY_MINISTRAL | FAMILY_MIXTRAL |
        FAMILY_DEEPSEEK_V2 | FAMILY_LFM2 | FAMILY_APERTUS | FAMILY_PHI, "1" },
    { "bos_token_id", FAMILY_SMOLLM3, "128000" },
    { "bos_token_id", FAMILY_GEMMA3 | FAMILY_GEMMA2 | FAMILY_GEMMA, "2" },
    { "bos_token_id", FAMILY_COHERE | FAMILY_COHERE2, "5" },
    { "bos_token_id", FAMILY_GPT2 | FAMILY_STARCODER2, "50256" },
    { "bos_token_id", FAMILY_QWEN2 | FAMILY_QWEN3 | FAMILY_OLMO2 | FAMILY_OLMO3
        | FAMILY_QWEN2_MOE | FAMILY_QWEN3_MOE | FAMILY_OLMOE | FAMILY_QWEN3_5 |
        FAMILY_GPT_OSS | FAMILY_GLM4 | FAMILY_GLM | FAMILY_QWEN3_NEXT |
        FAMILY_QWEN3_5_MOE, "null" },
    { "chunk_size_feed_forward", 0, "0" },
    { "classifier_dropout", FAMILY_GPT_NEOX, "0.1" },
    { "clip_qkv", FAMILY_OLMOE, "null" },
    { "conv_L_cache", FAMILY_LFM2, "3" },
    { "conv_bias", FAMILY_LFM2, "false" },
    { "decoder_sparse_step", FAMILY_QWEN2_MOE | FAMILY_QWEN3_MOE |
        FAMILY_QWEN3_NEXT, "1" },
    { "dtype", 0, "null" },
    { "embd_pdrop", FAMILY_PHI3 | FAMILY_PHI, "0.0" },
    { "embd_pdrop", FAMILY_GPT2, "0.1" },
    { "embedding_dropout", FAMILY_STARCODER2, "0.0" },
    { "embedding_multiplier", FAMILY_GRANITE, "1.0" },
    { "eos_token_id", FAMILY_GEMMA3 | FAMILY_GEMMA2 | FAMILY_GEMMA |
        FAMILY_DEEPSEEK_V3, "1" },
    { "eos_token_id", FAMILY_SMOLLM3, "128001" },
    { "eos_token_id", FAMILY_LLAMA | FAMILY_MISTRAL | FAMILY_GRANITE |
        FAMILY_MINISTRAL3 | FAMILY_SEED_OSS | FAMILY_MINISTRAL | FAMILY_MIXTRAL
        | FAMILY_DEEPSEEK_V2 | FAMILY_LFM2 | FAMILY_APERTUS | FAMILY_GPT_NEOX |
        FAMILY_PHI | FAMILY_EXAONE4, "2" },
    { "eos_token_id", FAMILY_COHERE | FAMILY_COHERE2, "255001" },
    { "eos_token_id", FAMILY_PHI3, "32000" },
    { "eos_token_id", FAMILY_GPT2 | FAMILY_STARCODER2, "50256" },
    { "eos_token_id", FAMILY_OLMO2 | FAMILY_OLMO3 | FAMILY_OLMOE, "50279" },
    { "eos_token_id", FAMILY_GLM4 | FAMILY_GLM,
        "[151329, 151336, 151338]" },
    { "eos_token_id", FAMILY_QWEN2 | FAMILY_QWEN3 | FAMILY_QWEN2_MOE |
        FAMILY_QWEN3_MOE | FAMILY_QWEN3_5 | FAMILY_GPT_OSS | FAMILY_QWEN3_NEXT |
        FAMILY_QWEN3_5_MOE, "null" },
    { "experts_implementation", 0, "null" },
    { "final_logit_softcapping", FAMILY_GEMMA2, "30.0" },
    { "final_logit_softcapping", FAMILY_GEMMA3, "null" },
    { "first_k_dense_replace", FAMILY_DEEPSEEK_V2, "0" },
    { "first_k_dense_replace", FAMILY_DEEPSEEK_V3, "3" },
    { "full_attention_interval", FAMILY_QWEN3_5 | FAMILY_QWEN3_NEXT |
        FAMILY_QWEN3_5_MOE, "4" },
    { "full_attn_idxs", FAMILY_LFM2, "null" },
    { "head_dim", FAMILY_QWEN3 | FAMILY_MINISTRAL3 | FAMILY_SEED_OSS |
        FAMILY_GLM4 | FAMILY_GLM, "128" },
    { "head_dim", FAMILY_GEMMA3 | FAMILY_GEMMA2 | FAMILY_GEMMA | FAMILY_QWEN3_5
        | FAMILY_QWEN3_NEXT | FAMILY_QWEN3_5_MOE, "256" },
    { "head_dim", FAMILY_GPT_OSS | FAMILY_DEEPSEEK_V3, "64" },
    { "head_dim", ~(FAMILY_QWEN3 | FAMILY_GEMMA3 | FAMILY_GEMMA2 | FAMILY_GEMMA
        | FAMILY_MINISTRAL3 | FAMILY_SEED_OSS | FAMILY_QWEN3_5 | FAMILY_GPT_OSS
        | FAMILY_DEEPSEEK_V3 | FAMILY_GPT2 | FAMILY_GLM4 | FAMILY_GLM |
        FAMILY_QWEN3_NEXT | FAMILY_QWEN3_5_MOE), "null" },
    { "hidden_act", FAMILY_GPT_NEOX, "\"gelu\"" },
    { "hidden_act", FAMILY_PHI, "\"gelu_new\"" },
    { "hidden_act", FAMILY_GEMMA | FAMILY_STARCODER2, "\"gelu_pytorch_tanh\"" },
    { "hidden_act", ~(FAMILY_GEMMA3 | FAMILY_GEMMA2 | FAMILY_GEMMA | FAMILY_LFM2
        | FAMILY_APERTUS | FAMILY_GPT_NEOX | FAMILY_GPT2 | FAMILY_STARCODER2 |
        FAMILY_PHI), "\"silu\"" },
    { "hidden_act", FAMILY_APERTUS, "\"xielu\"" },
    { "hidden_activation", FAMILY_GEMMA3 | FAMILY_GEMMA2,
        "\"gelu_pytorch_tanh\"" },
    { "hidden_dropout", FAMILY_GPT_NEOX, "0.0" },
    { "hidden_size", FAMILY_SMOLLM3 | FAMILY_QWEN2_MOE | FAMILY_QWEN3_MOE |
        FAMILY_OLMOE | FAMILY_PHI | FAMILY_QWEN3_NEXT | FAMILY_QWEN3_5_MOE,
        "2048" },
    { "hidden_size", FAMILY_GEMMA3 | FAMILY_GEMMA2, "2304" },
    { "hidden_size", FAMILY_LFM2, "2560" },
    { "hidden_size", FAMILY_GPT_OSS, "2880" },
    { "hidden_size", FAMILY_GEMMA | FAMILY_PHI3 | FAMILY_STARCODER2, "3072" },
    { "hidden_size", FAMILY_LLAMA | FAMILY_MISTRAL | FAMILY_QWEN2 | FAMILY_QWEN3
        | FAMILY_OLMO2 | FAMILY_OLMO3 | FAMILY_GRANITE | FAMILY_MINISTRAL3 |
        FAMILY_SEED_OSS | FAMILY_MINISTRAL | FAMILY_MIXTRAL | FAMILY_QWEN3_5 |
        FAMILY_DEEPSEEK_V2 | FAMILY_APERTUS | FAMILY_GLM4 | FAMILY_GLM |
        FAMILY_EXAONE4, "4096" },
    { "hidden_size", FAMILY_GPT_NEOX, "6144" },
    { "hidden_size", FAMILY_DEEPSEEK_V3, "7168" },
    { "hidden_size", FAMILY_COHERE | FAMILY_COHERE2, "8192" },
    { "id2label", 0, "null" },
    { "initializer_range", FAMILY_STARCODER2, "0.018042" },
    { "initializer_range", ~(FAMILY_STARCODER2), "0.02" },
    { "intermediate_size", FAMILY_LLAMA | FAMILY_OLMO2 | FAMILY_OLMO3 |
        FAMILY_SMOLLM3 | FAMILY_GRANITE | FAMILY_DEEPSEEK_V2, "11008" },
    { "intermediate_size", FAMILY_QWEN3_5 | FAMILY_LFM2 | FAMILY_STARCODER2,
        "12288" },
    { "intermediate_size", FAMILY_GLM4 | FAMILY_GLM, "13696" },
    { "intermediate_size", FAMILY_MISTRAL | FAMILY_MINISTRAL3 | FAMILY_MINISTRAL
        | FAMILY_MIXTRAL | FAMILY_APERTUS, "14336" },
    { "intermediate_size", FAMILY_EXAONE4, "16384" },
    { "intermediate_size", FAMILY_DEEPSEEK_V3, "18432" },
    { "intermediate_size", FAMILY_OLMOE, "2048" },
    { "intermediate_size", FAMILY_QWEN2 | FAMILY_QWEN3, "22016" },
    { "intermediate_size", FAMILY_COHERE | FAMILY_COHERE2, "22528" },
    { "intermediate_size", FAMILY_GEMMA | FAMILY_GPT_NEOX, "24576" },
    { "intermediate_size", FAMILY_SEED_OSS, "27648" },
    { "intermediate_size", FAMILY_GPT_OSS, "2880" },
    { "intermediate_size", FAMILY_QWEN2_MOE | FAMILY_QWEN3_NEXT, "5632" },
    { "intermediate_size", FAMILY_QWEN3_MOE, "6144" },
    { "intermediate_size", FAMILY_PHI3 | FAMILY_PHI, "8192" },
    { "intermediate_size", FAMILY_GEMMA3 | FAMILY_GEMMA2, "9216" },
    { "is_causal", 0, "true" },
    { "is_decoder", FAMILY_GPT_NEOX, "false" },
    { "is_encoder_decoder", 0, "false" },
    { "kv_lora_rank", FAMILY_DEEPSEEK_V2 | FAMILY_DEEPSEEK_V3, "512" },
    { "label2id", 0, "null" },
    { "layer_norm_eps", FAMILY_COHERE | FAMILY_COHERE2 | FAMILY_GPT_NEOX |
        FAMILY_PHI, "1e-05" },
    { "layer_norm_epsilon", FAMILY_GPT2, "1e-05" },
    { "layer_types", FAMILY_MISTRAL | FAMILY_QWEN2 | FAMILY_QWEN3 |
        FAMILY_GEMMA3 | FAMILY_GEMMA2 | FAMILY_OLMO3 | FAMILY_SMOLLM3 |
        FAMILY_MINISTRAL3 | FAMILY_MINISTRAL | FAMILY_QWEN2_MOE | FAMILY_QWEN3_5
        | FAMILY_GPT_OSS | FAMILY_COHERE2 | FAMILY_LFM2 | FAMILY_EXAONE4 |
        FAMILY_QWEN3_NEXT | FAMILY_QWEN3_5_MOE, "null" },
    { "linear_conv_kernel_dim", FAMILY_QWEN3_5 | FAMILY_QWEN3_NEXT |
        FAMILY_QWEN3_5_MOE, "4" },
    { "linear_key_head_dim", FAMILY_QWEN3_5 | FAMILY_QWEN3_NEXT |
        FAMILY_QWEN3_5_MOE, "128" },
    { "linear_num_key_heads", FAMILY_QWEN3_5 | FAMILY_QWEN3_NEXT |
        FAMILY_QWEN3_5_MOE, "16" },
    { "linear_num_value_heads", FAMILY_QWEN3_5 | FAMILY_QWEN3_NEXT |
        FAMILY_QWEN3_5_MOE, "32" },
    { "linear_value_head_dim", FAMILY_QWEN3_5 | FAMILY_QWEN3_NEXT |
        FAMILY_QWEN3_5_MOE, "128" },
    { "logit_scale", FAMILY_COHERE | FAMILY_COHERE2, "0.0625" },
    { "logits_scaling", FAMILY_GRANITE, "1.0" },
    { "max_position_embeddings", FAMILY_LFM2, "128000" },
    { "max_position_embeddings", FAMILY_MISTRAL | FAMILY_GEMMA3 |
        FAMILY_MINISTRAL | FAMILY_MIXTRAL | FAMILY_GPT_OSS | FAMILY_GLM4 |
        FAMILY_GLM, "131072" },
    { "max_position_embeddings", FAMILY_LLAMA | FAMILY_OLMO2 | FAMILY_OLMO3 |
        FAMILY_GRANITE | FAMILY_DEEPSEEK_V2 | FAMILY_GPT_NEOX | FAMILY_PHI |
        FAMILY_EXAONE4, "2048" },
    { "max_position_embeddings", FAMILY_MINISTRAL3, "262144" },
    { "max_position_embeddings", FAMILY_QWEN2 | FAMILY_QWEN3 | FAMILY_SMOLLM3 |
        FAMILY_QWEN2_MOE | FAMILY_QWEN3_MOE | FAMILY_QWEN3_5 | FAMILY_QWEN3_NEXT
        | FAMILY_QWEN3_5_MOE, "32768" },
    { "max_position_embeddings", FAMILY_PHI3 | FAMILY_OLMOE | FAMILY_DEEPSEEK_V3
        | FAMILY_STARCODER2, "4096" },
    { "max_position_embeddings", FAMILY_SEED_OSS, "524288" },
    { "max_position_embeddings", FAMILY_APERTUS, "65536" },
    { "max_position_embeddings", FAMILY_GEMMA2 | FAMILY_GEMMA | FAMILY_COHERE |
        FAMILY_COHERE2, "8192" },
    { "max_window_layers", FAMILY_QWEN2 | FAMILY_QWEN3 | FAMILY_QWEN2_MOE, "28"
        },
    { "mlp_bias", FAMILY_LLAMA | FAMILY_SMOLLM3 | FAMILY_GRANITE |
        FAMILY_SEED_OSS | FAMILY_DEEPSEEK_V2, "false" },
    { "mlp_only_layers", FAMILY_QWEN2_MOE | FAMILY_QWEN3_MOE |
        FAMILY_QWEN3_NEXT, "null" },
    { "moe_intermediate_size", FAMILY_DEEPSEEK_V2, "1407" },
    { "moe_intermediate_size", FAMILY_QWEN2_MOE, "1408" },
    { "moe_intermediate_size", FAMILY_DEEPSEEK_V3, "2048" },
    { "moe_intermediate_size", FAMILY_QWEN3_NEXT | FAMILY_QWEN3_5_MOE, "512" },
    { "moe_intermediate_size", FAMILY_QWEN3_MOE, "768" },
    { "n_embd", FAMILY_GPT2, "768" },
    { "n_group", FAMILY_DEEPSEEK_V3, "8" },
    { "n_group", FAMILY_DEEPSEEK_V2, "null" },
    { "n_head", FAMILY_GPT2, "12" },
    { "n_inner", FAMILY_GPT2, "null" },
    { "n_layer", FAMILY_GPT2, "12" },
    { "n_positions", FAMILY_GPT2, "1024" },
    { "n_routed_experts", FAMILY_DEEPSEEK_V3, "256" },
    { "n_routed_experts", FAMILY_DEEPSEEK_V2, "64" },
    { "n_shared_experts", FAMILY_DEEPSEEK_V3, "1" },
    { "n_shared_experts", FAMILY_DEEPSEEK_V2, "2" },
    { "name_or_path", 0, "\"\"" },
    { "no_rope_layer_interval", FAMILY_SMOLLM3, "4" },
    { "no_rope_layers", FAMILY_SMOLLM3, "null" },
    { "norm_eps", FAMILY_LFM2, "1e-05" },
    { "norm_epsilon", FAMILY_STARCODER2, "1e-05" },
    { "norm_topk_prob", FAMILY_QWEN2_MOE | FAMILY_QWEN3_MOE | FAMILY_OLMOE |
        FAMILY_DEEPSEEK_V2, "false" },
    { "norm_topk_prob", FAMILY_DEEPSEEK_V3 | FAMILY_QWEN3_NEXT, "true" },
    { "num_attention_heads", FAMILY_DEEPSEEK_V3, "128" },
    { "num_attention_heads", FAMILY_GEMMA | FAMILY_SMOLLM3 | FAMILY_QWEN2_MOE |
        FAMILY_OLMOE | FAMILY_QWEN3_5 | FAMILY_QWEN3_NEXT | FAMILY_QWEN3_5_MOE,
        "16" },
    { "num_attention_heads", FAMILY_STARCODER2, "24" },
    { "num_attention_heads", ~(FAMILY_GEMMA3 | FAMILY_GEMMA2 | FAMILY_GEMMA |
        FAMILY_SMOLLM3 | FAMILY_SEED_OSS | FAMILY_QWEN2_MOE | FAMILY_OLMOE |
        FAMILY_QWEN3_5 | FAMILY_GPT_OSS | FAMILY_DEEPSEEK_V3 | FAMILY_COHERE |
        FAMILY_COHERE2 | FAMILY_GPT_NEOX | FAMILY_GPT2 | FAMILY_STARCODER2 |
        FAMILY_QWEN3_NEXT | FAMILY_QWEN3_5_MOE), "32" },
    { "num_attention_heads", FAMILY_GPT_OSS | FAMILY_COHERE | FAMILY_COHERE2 |
        FAMILY_GPT_NEOX, "64" },
    { "num_attention_heads", FAMILY_GEMMA3 | FAMILY_GEMMA2, "8" },
    { "num_attention_heads", FAMILY_SEED_OSS, "80" },
    { "num_experts", FAMILY_QWEN3_MOE, "128" },
    { "num_experts", FAMILY_QWEN3_5_MOE, "256" },
    { "num_experts", FAMILY_QWEN3_NEXT, "512" },
    { "num_experts", FAMILY_QWEN2_MOE, "60" },
    { "num_experts", FAMILY_OLMOE, "64" },
    { "num_experts_per_tok", FAMILY_QWEN3_NEXT, "10" },
    { "num_experts_per_tok", FAMILY_MIXTRAL, "2" },
    { "num_experts_per_tok", FAMILY_QWEN2_MOE | FAMILY_GPT_OSS, "4" },
    { "num_experts_per_tok", FAMILY_QWEN3_MOE | FAMILY_OLMOE |
        FAMILY_DEEPSEEK_V3 | FAMILY_QWEN3_5_MOE, "8" },
    { "num_experts_per_tok", FAMILY_DEEPSEEK_V2, "null" },
    { "num_hidden_layers", FAMILY_OLMOE, "16" },
    { "num_hidden_layers", FAMILY_QWEN2_MOE | FAMILY_QWEN3_MOE | FAMILY_PHI,
        "24" },
    { "num_hidden_layers", FAMILY_GEMMA3 | FAMILY_GEMMA2, "26" },
    { "num_hidden_layers", FAMILY_GEMMA, "28" },
    { "num_hidden_layers", FAMILY_STARCODER2, "30" },
    { "num_hidden_layers", FAMILY_LLAMA | FAMILY_MISTRAL | FAMILY_QWEN2 |
        FAMILY_QWEN3 | FAMILY_OLMO2 | FAMILY_OLMO3 | FAMILY_GRANITE |
        FAMILY_PHI3 | FAMILY_MINISTRAL | FAMILY_MIXTRAL | FAMILY_QWEN3_5 |
        FAMILY_DEEPSEEK_V2 | FAMILY_LFM2 | FAMILY_APERTUS | FAMILY_EXAONE4, "32"
        },
    { "num_hidden_layers", FAMILY_MINISTRAL3, "34" },
    { "num_hidden_layers", FAMILY_SMOLLM3 | FAMILY_GPT_OSS, "36" },
    { "num_hidden_layers", FAMILY_COHERE | FAMILY_COHERE2 | FAMILY_GLM4 |
        FAMILY_GLM | FAMILY_QWEN3_5_MOE, "40" },
    { "num_hidden_layers", FAMILY_GPT_NEOX, "44" },
    { "num_hidden_layers", FAMILY_QWEN3_NEXT, "48" },
    { "num_hidden_layers", FAMILY_DEEPSEEK_V3, "61" },
    { "num_hidden_layers", FAMILY_SEED_OSS, "64" },
    { "num_key_value_heads", FAMILY_DEEPSEEK_V3, "128" },
    { "num_key_value_heads", FAMILY_GEMMA | FAMILY_QWEN2_MOE, "16" },
    { "num_key_value_heads", FAMILY_STARCODER2 | FAMILY_GLM4 | FAMILY_GLM |
        FAMILY_QWEN3_NEXT | FAMILY_QWEN3_5_MOE, "2" },
    { "num_key_value_heads", FAMILY_QWEN2 | FAMILY_QWEN3 | FAMILY_EXAONE4, "32"
        },
    { "num_key_value_heads", FAMILY_GEMMA3 | FAMILY_GEMMA2 | FAMILY_SMOLLM3 |
        FAMILY_QWEN3_MOE | FAMILY_QWEN3_5, "4" },
    { "num_key_value_heads", FAMILY_MISTRAL | FAMILY_MINISTRAL3 |
        FAMILY_SEED_OSS | FAMILY_MINISTRAL | FAMILY_MIXTRAL | FAMILY_GPT_OSS |
        FAMILY_LFM2, "8" },
    { "num_key_value_heads", FAMILY_LLAMA | FAMILY_OLMO2 | FAMILY_OLMO3 |
        FAMILY_GRANITE | FAMILY_PHI3 | FAMILY_OLMOE | FAMILY_DEEPSEEK_V2 |
        FAMILY_COHERE | FAMILY_COHERE2 | FAMILY_APERTUS | FAMILY_PHI, "null" },
    { "num_labels", 0, "null" },
    { "num_local_experts", FAMILY_GPT_OSS, "128" },
    { "num_local_experts", FAMILY_MIXTRAL, "8" },
    { "num_mtp_layers", FAMILY_DEEPSEEK_V3, "1" },
    { "original_max_position_embeddings", FAMILY_PHI3, "4096" },
    { "original_max_position_embeddings", ~(FAMILY_PHI3), "null" },
    { "output_attentions", 0, "false" },
    { "output_hidden_states", 0, "false" },
    { "output_router_logits", FAMILY_MIXTRAL | FAMILY_QWEN2_MOE |
        FAMILY_QWEN3_MOE | FAMILY_OLMOE | FAMILY_GPT_OSS | FAMILY_DEEPSEEK_V2 |
        FAMILY_DEEPSEEK_V3 | FAMILY_QWEN3_NEXT | FAMILY_QWEN3_5_MOE, "false" },
    { "pad_token_id", FAMILY_GEMMA3 | FAMILY_GEMMA2 | FAMILY_GEMMA |
        FAMILY_COHERE | FAMILY_COHERE2 | FAMILY_LFM2, "0" },
    { "pad_token_id", FAMILY_OLMO2 | FAMILY_OLMO3 | FAMILY_SEED_OSS |
        FAMILY_OLMOE, "1" },
    { "pad_token_id", FAMILY_MINISTRAL3, "11" },
    { "pad_token_id", FAMILY_SMOLLM3, "128004" },
    { "pad_token_id", FAMILY_GLM4 | FAMILY_GLM, "151329" },
    { "pad_token_id", FAMILY_APERTUS, "3" },
    { "pad_token_id", FAMILY_PHI3, "32000" },
    { "pad_token_id", ~(FAMILY_GEMMA3 | FAMILY_GEMMA2 | FAMILY_GEMMA |
        FAMILY_OLMO2 | FAMILY_OLMO3 | FAMILY_SMOLLM3 | FAMILY_PHI3 |
        FAMILY_MINISTRAL3 | FAMILY_SEED_OSS | FAMILY_OLMOE | FAMILY_COHERE |
        FAMILY_COHERE2 | FAMILY_LFM2 | FAMILY_APERTUS | FAMILY_GLM4 |
        FAMILY_GLM), "null" },
    { "partial_rotary_factor", FAMILY_QWEN3_5 | FAMILY_QWEN3_NEXT |
        FAMILY_QWEN3_5_MOE, "0.25" },
    { "partial_rotary_factor", FAMILY_PHI | FAMILY_GLM4 | FAMILY_GLM, "0.5" },
    { "partial_rotary_factor", FAMILY_PHI3, "1.0" },
    { "partial_rotary_factor", ~(FAMILY_PHI3 | FAMILY_QWEN3_5 | FAMILY_PHI |
        FAMILY_GLM4 | FAMILY_GLM | FAMILY_QWEN3_NEXT | FAMILY_QWEN3_5_MOE),
        "null" },
    { "per_layer_config", 0, "null" },
    { "pretraining_tp", FAMILY_LLAMA | FAMILY_SEED_OSS | FAMILY_DEEPSEEK_V2 |
        FAMILY_DEEPSEEK_V3, "1" },
    { "problem_type", 0, "null" },
    { "pruned_heads", 0, "{}" },
    { "q_lora_rank", FAMILY_DEEPSEEK_V2 | FAMILY_DEEPSEEK_V3, "1536" },
    { "qk_head_dim", FAMILY_DEEPSEEK_V2 | FAMILY_DEEPSEEK_V3, "192" },
    { "qk_layernorm", FAMILY_PHI, "false" },
    { "qk_nope_head_dim", FAMILY_DEEPSEEK_V2 | FAMILY_DEEPSEEK_V3, "128" },
    { "qk_rope_head_dim", FAMILY_DEEPSEEK_V2 | FAMILY_DEEPSEEK_V3, "64" },
    { "qkv_bias", FAMILY_QWEN2_MOE, "true" },
    { "query_pre_attn_scalar", FAMILY_GEMMA3 | FAMILY_GEMMA2, "256" },
    { "reorder_and_upcast_attn", FAMILY_GPT2, "false" },
    { "resid_pdrop", FAMILY_PHI3 | FAMILY_PHI, "0.0" },
    { "resid_pdrop", FAMILY_GPT2, "0.1" },
    { "residual_dropout", FAMILY_STARCODER2, "0.0" },
    { "residual_dropout", FAMILY_SEED_OSS, "0.1" },
    { "residual_multiplier", FAMILY_GRANITE, "1.0" },
    { "return_dict", 0, "true" },
    { "rms_norm_eps", FAMILY_GLM4 | FAMILY_GLM, "1.5625e-07" },
    { "rms_norm_eps", FAMILY_OLMO2 | FAMILY_OLMO3 | FAMILY_PHI3 |
        FAMILY_MINISTRAL3 | FAMILY_MIXTRAL | FAMILY_OLMOE | FAMILY_GPT_OSS |
        FAMILY_APERTUS | FAMILY_EXAONE4, "1e-05" },
    { "rms_norm_eps", FAMILY_LLAMA | FAMILY_MISTRAL | FAMILY_QWEN2 |
        FAMILY_QWEN3 | FAMILY_GEMMA3 | FAMILY_GEMMA2 | FAMILY_GEMMA |
        FAMILY_SMOLLM3 | FAMILY_GRANITE | FAMILY_SEED_OSS | FAMILY_MINISTRAL |
        FAMILY_QWEN2_MOE | FAMILY_QWEN3_MOE | FAMILY_QWEN3_5 |
        FAMILY_DEEPSEEK_V2 | FAMILY_DEEPSEEK_V3 | FAMILY_QWEN3_NEXT |
        FAMILY_QWEN3_5_MOE, "1e-06" },
    { "rope_interleave", FAMILY_DEEPSEEK_V3, "true" },
    { "rope_local_base_freq", FAMILY_GEMMA3, "null" },
    { "rope_parameters", ~(FAMILY_MINISTRAL3 | FAMILY_GPT_OSS | FAMILY_APERTUS),
        "null" },
    { "rope_parameters", FAMILY_APERTUS,
        "{\"rope_type\": \"llama3\", \"rope_theta\": 12000000.0, "
        "\"factor\": 8.0, \"original_max_position_embeddings\": 8192,"
        " \"low_freq_factor\": 1.0, \"high_freq_factor\": 4.0}" },
    { "rope_parameters", FAMILY_GPT_OSS,
        "{\"rope_type\": \"yarn\", \"factor\": 32.0, \"beta_fast\": 32.0,"
        " \"beta_slow\": 1.0, \"truncate\": false, "
        "\"original_max_position_embeddings\": 4096}" },
    { "rope_parameters", FAMILY_MINISTRAL3,
        "{\"type\": \"yarn\", \"rope_theta\": 1000000.0, \"factor\": "
        "16.0, \"original_max_position_embeddings\": 16384, "
        "\"max_position_embeddings\": 262144, \"beta_fast\": 32.0, "
        "\"beta_slow\": 1.0, \"mscale_all_dim\": 1.0, \"mscale\": 1.0, "
        "\"llama_4_scaling_beta\": 0.1, \"rope_type\": \"yarn\"}" },
    { "rope_scaling", 0, "null" },
    { "rope_theta", ~(FAMILY_GEMMA3 | FAMILY_OLMO3 | FAMILY_SMOLLM3 |
        FAMILY_MIXTRAL | FAMILY_GPT_OSS | FAMILY_COHERE | FAMILY_LFM2 |
        FAMILY_APERTUS), "10000.0" },
    { "rope_theta", FAMILY_GEMMA3 | FAMILY_MIXTRAL | FAMILY_LFM2, "1000000.0" },
    { "rope_theta", FAMILY_APERTUS, "12000000.0" },
    { "rope_theta", FAMILY_GPT_OSS, "150000.0" },
    { "rope_theta", FAMILY_SMOLLM3, "2000000.0" },
    { "rope_theta", FAMILY_OLMO3 | FAMILY_COHERE, "500000.0" },
    { "rotary_pct", FAMILY_GPT_NEOX, "0.25" },
    { "routed_scaling_factor", FAMILY_DEEPSEEK_V2, "1.0" },
    { "routed_scaling_factor", FAMILY_DEEPSEEK_V3, "2.5" },
    { "router_aux_loss_coef", FAMILY_MIXTRAL | FAMILY_QWEN2_MOE |
        FAMILY_QWEN3_MOE | FAMILY_GPT_OSS | FAMILY_QWEN3_NEXT |
        FAMILY_QWEN3_5_MOE, "0.001" },
    { "router_aux_loss_coef", FAMILY_OLMOE, "0.01" },
    { "router_jitter_noise", FAMILY_MIXTRAL, "0.0" },
    { "scale_attn_by_inverse_layer_idx", FAMILY_GPT2, "false" },
    { "scale_attn_weights", FAMILY_GPT2, "true" },
    { "shared_expert_intermediate_size", FAMILY_QWEN3_NEXT | FAMILY_QWEN3_5_MOE,
        "512" },
    { "shared_expert_intermediate_size", FAMILY_QWEN2_MOE, "5632" },
    { "sliding_window", FAMILY_GPT_OSS, "128" },
    { "sliding_window", FAMILY_MISTRAL | FAMILY_QWEN2 | FAMILY_QWEN3 |
        FAMILY_GEMMA3 | FAMILY_GEMMA2 | FAMILY_OLMO3 | FAMILY_MINISTRAL |
        FAMILY_QWEN2_MOE | FAMILY_QWEN3_MOE | FAMILY_COHERE2 | FAMILY_EXAONE4,
        "4096" },
    { "sliding_window", FAMILY_SMOLLM3 | FAMILY_PHI3 | FAMILY_MINISTRAL3 |
        FAMILY_MIXTRAL | FAMILY_OLMOE | FAMILY_STARCODER2, "null" },
    { "sliding_window_pattern", FAMILY_COHERE2 | FAMILY_EXAONE4, "4" },
    { "sliding_window_pattern", FAMILY_GEMMA3, "6" },
    { "summary_activation", FAMILY_GPT2, "null" },
    { "summary_first_dropout", FAMILY_GPT2, "0.1" },
    { "summary_proj_to_labels", FAMILY_GPT2, "true" },
    { "summary_type", FAMILY_GPT2, "\"cls_index\"" },
    { "summary_use_proj", FAMILY_GPT2, "true" },
    { "swiglu_alpha", FAMILY_GPT_OSS, "1.702" },
    { "swiglu_limit", FAMILY_GPT_OSS, "7.0" },
    { "tie_encoder_decoder", 0, "false" },
    { "tie_word_embeddings", ~(FAMILY_GEMMA3 | FAMILY_GEMMA2 | FAMILY_GEMMA |
        FAMILY_SMOLLM3 | FAMILY_COHERE | FAMILY_COHERE2 | FAMILY_LFM2 |
        FAMILY_GPT2 | FAMILY_STARCODER2), "false" },
    { "tie_word_embeddings", FAMILY_GEMMA3 | FAMILY_GEMMA2 | FAMILY_GEMMA |
        FAMILY_SMOLLM3 | FAMILY_COHERE | FAMILY_COHERE2 | FAMILY_LFM2 |
        FAMILY_GPT2 | FAMILY_STARCODER2, "true" },
    { "topk_group", FAMILY_DEEPSEEK_V3, "4" },
    { "topk_group", FAMILY_DEEPSEEK_V2, "null" },
    { "topk_method", FAMILY_DEEPSEEK_V2, "\"greedy\"" },
    { "torch_dtype", 0, "null" },
    { "transformers_version", 0, "null" },
    { "use_bias", FAMILY_STARCODER2, "true" },
    { "use_bidirectional_attention", FAMILY_GEMMA3, "false" },
    { "use_bidirectional_attention", FAMILY_GEMMA2 | FAMILY_GEMMA, "null" },
    { "use_cache", 0, "true" },
    { "use_parallel_residual", FAMILY_GPT_NEOX, "true" },
    { "use_qk_norm", FAMILY_COHERE, "false" },
    { "use_sliding_window", FAMILY_QWEN2 | FAMILY_QWEN3 | FAMILY_SMOLLM3 |
        FAMILY_QWEN2_MOE | FAMILY_QWEN3_MOE, "false" },
    { "v_head_dim", FAMILY_DEEPSEEK_V2 | FAMILY_DEEPSEEK_V3, "128" },
    { "vocab_size", FAMILY_DEEPSEEK_V2 | FAMILY_EXAONE4, "102400" },
    { "vocab_size", FAMILY_SMOLLM3, "128256" },
    { "vocab_size", FAMILY_DEEPSEEK_V3, "129280" },
    { "vocab_size", FAMILY_MINISTRAL3 | FAMILY_APERTUS, "131072" },
    { "vocab_size", FAMILY_GLM4 | FAMILY_GLM, "151552" },
    { "vocab_size", FAMILY_QWEN2 | FAMILY_QWEN3 | FAMILY_QWEN2_MOE |
        FAMILY_QWEN3_MOE | FAMILY_QWEN3_NEXT, "151936" },
    { "vocab_size", FAMILY_SEED_OSS, "155136" },
    { "vocab_size", FAMILY_GPT_OSS, "201088" },
    { "vocab_size", FAMILY_QWEN3_5 | FAMILY_QWEN3_5_MOE, "248320" },
    { "vocab_size", FAMILY_GEMMA2 | FAMILY_GEMMA | FAMILY_COHERE |
        FAMILY_COHERE2, "256000" },
    { "vocab_size", FAMILY_GEMMA3, "262208" },
    { "vocab_size", FAMILY_LLAMA | FAMILY_MISTRAL | FAMILY_GRANITE |
        FAMILY_MINISTRAL | FAMILY_MIXTRAL, "32000" },
    { "vocab_size", FAMILY_PHI3, "32064" },
    { "vocab_size", FAMILY_STARCODER2, "49152" },
    { "vocab_size", FAMILY_GPT2, "50257" },
    { "vocab_size", FAMILY_OLMO2 | FAMILY_OLMO3 | FAMILY_OLMOE, "50304" },
    { "vocab_size", FAMILY_GPT_NEOX, "50432" },
    { "vocab_size", FAMILY_PHI, "51200" },
    { "vocab_size", FAMILY_LFM2, "65536" },
};

/* Other names of the same keys.  wins: the value of this one is taken. */
static const struct config_alias {
    const char *name, *is;
    uint64_t families;
    int wins;
} config_aliases[] = {
    { "block_ff_dim", "intermediate_size", FAMILY_LFM2, 1 },
    { "hidden_size", "n_embd", FAMILY_GPT2, 0 },
    { "max_position_embeddings", "n_positions", FAMILY_GPT2, 0 },
    { "num_attention_heads", "n_head", FAMILY_GPT2, 0 },
    { "num_experts", "n_routed_experts", FAMILY_DEEPSEEK_V2, 0 },
    { "num_experts", "num_local_experts", FAMILY_MIXTRAL | FAMILY_GPT_OSS, 0 },
    { "num_hidden_layers", "n_layer", FAMILY_GPT2, 0 },
    { "num_local_experts", "n_routed_experts", FAMILY_DEEPSEEK_V3, 0 },
    { "num_local_experts", "num_experts", FAMILY_QWEN3_MOE | FAMILY_OLMOE, 0 },
    { "num_nextn_predict_layers", "num_mtp_layers", FAMILY_DEEPSEEK_V3, 0 },
    { "tie_embedding", "tie_word_embeddings", FAMILY_LFM2, 1 },
};
/* clang-format on */

#endif
