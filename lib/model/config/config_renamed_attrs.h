/* The keys of config.json that transformers reads in a model type of
 * config_renamed.c, where they are not those of the type's family:
 *   values  an object: values of missing keys that differ from the family's
 *   more    an object: keys that the family lacks, with values of missing keys
 *   less    a list: keys of the family that the type lacks
 * Made by scripts/oracle/config_attrs.py --renamed with transformers 5.24.0: do
 * not edit.  Private to config_renamed.c. */
#ifndef MODEL_CONFIG_RENAMED_ATTRS_H
#define MODEL_CONFIG_RENAMED_ATTRS_H

/* clang-format off */
static const struct renamed_attrs {
    const char *type, *values, *more, *less;
} renamed_attrs[] = {
    { "ernie4_5"
        , "{\"head_dim\": 128, \"hidden_size\": 1024, "
        "\"intermediate_size\": 3072, \"max_position_embeddings\": "
        "131072, \"num_attention_heads\": 16, \"num_hidden_layers\": "
        "18, \"num_key_value_heads\": 2, \"pad_token_id\": 0, "
        "\"rms_norm_eps\": 1e-05, \"rope_theta\": 500000.0, "
        "\"tie_word_embeddings\": true, \"vocab_size\": 103424}"
        , "{\"use_bias\": false}"
        , "[\"attention_bias\", \"attention_dropout\", \"mlp_bias\", "
        "\"pretraining_tp\"]"
    },
    { "granitemoehybrid"
        , "{}"
        , "{\"layer_types\": null, \"mamba_chunk_size\": 256, "
        "\"mamba_conv_bias\": true, \"mamba_d_conv\": 4, "
        "\"mamba_d_head\": \"auto\", \"mamba_d_state\": 256, "
        "\"mamba_expand\": 2, \"mamba_n_groups\": 1, \"mamba_n_heads\":"
        " 128, \"mamba_proj_bias\": false, \"num_experts_per_tok\": "
        "2, \"num_local_experts\": 8, \"output_router_logits\": "
        "false, \"position_embedding_type\": null, "
        "\"router_aux_loss_coef\": 0.001, "
        "\"shared_intermediate_size\": 1024, \"time_step_limit\": "
        "[0.0, null]}"
        , "[\"mlp_bias\"]"
    },
    { "qwen2_5_vl_text"
        , "{\"bos_token_id\": 151643, \"eos_token_id\": 151645, "
        "\"hidden_size\": 8192, \"intermediate_size\": 29568, "
        "\"max_window_layers\": 80, \"num_attention_heads\": 64, "
        "\"num_hidden_layers\": 80, \"num_key_value_heads\": 8, "
        "\"rms_norm_eps\": 1e-05, \"rope_theta\": 1000000.0, "
        "\"vocab_size\": 152064}"
        , "{}"
        , "[]"
    },
    { "qwen3_vl_text"
        , "{\"max_position_embeddings\": 128000, \"rope_theta\": "
        "500000.0}"
        , "{}"
        , "[\"max_window_layers\", \"sliding_window\", "
        "\"use_sliding_window\"]"
    },
    { "glm4_moe_lite"
        , "{\"hidden_size\": 2048, \"intermediate_size\": 10240, "
        "\"max_position_embeddings\": 202752, "
        "\"moe_intermediate_size\": 1536, \"n_group\": 1, "
        "\"n_routed_experts\": 64, \"num_attention_heads\": 20, "
        "\"num_experts_per_tok\": 4, \"num_hidden_layers\": 47, "
        "\"num_key_value_heads\": 20, \"q_lora_rank\": 768, "
        "\"qk_head_dim\": 256, \"qk_nope_head_dim\": 192, "
        "\"rms_norm_eps\": 1e-05, \"routed_scaling_factor\": 1.8, "
        "\"topk_group\": 1, \"v_head_dim\": 256, \"vocab_size\": "
        "154880}"
        , "{\"mlp_layer_types\": null}"
        , "[\"first_k_dense_replace\", \"num_mtp_layers\", "
        "\"num_nextn_predict_layers\"]"
    },
    { "youtu"
        , "{\"bos_token_id\": 128000, \"eos_token_id\": 128001, "
        "\"hidden_size\": 2048, \"initializer_range\": null, "
        "\"intermediate_size\": 6144, \"max_position_embeddings\": "
        "131072, \"num_attention_heads\": 16, \"num_hidden_layers\": "
        "32, \"num_key_value_heads\": 16, \"tie_word_embeddings\": "
        "true, \"vocab_size\": 128256}"
        , "{\"embedding_initializer_range\": null}"
        , "[\"first_k_dense_replace\", \"moe_intermediate_size\", "
        "\"n_group\", \"n_routed_experts\", \"n_shared_experts\", "
        "\"norm_topk_prob\", \"num_experts_per_tok\", "
        "\"num_local_experts\", \"num_mtp_layers\", "
        "\"num_nextn_predict_layers\", \"output_router_logits\", "
        "\"pretraining_tp\", \"routed_scaling_factor\", \"topk_group\"]"
    },
};
/* clang-format on */

#endif
