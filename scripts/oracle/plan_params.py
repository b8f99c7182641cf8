#!/usr/bin/env python3
"""Write the config.json of published models and their parameter counts.

Run by hand: scripts/oracle/plan_params.py tests/golden/plan
transformers builds each model on the device "meta", which holds no numbers, and
counts its parameters.  The sizes are those of the published config.json.  The
file params.tsv has a row for each: name, parameters by transformers, the
published number (- if only a name that is not rounded tells it), its source.
"""
import json, sys
import torch, transformers
from transformers import AutoConfig, AutoModelForCausalLM

BLOOM = dict(model_type='bloom', vocab_size=250880, apply_residual_connection_post_layernorm=False,
    attention_softmax_in_fp32=True, hidden_dropout=0.0, pretraining_tp=4, bias_dropout_fusion=True,
    masked_softmax_fusion=True, skip_bias_add=True, skip_bias_add_qkv=False, slow_but_exact=False,
    layer_norm_epsilon=1e-5, offset_alibi=100, seq_length=2048, use_cache=True)
GPT2 = dict(model_type='gpt2', activation_function='gelu_new', attn_pdrop=0.1, embd_pdrop=0.1,
    resid_pdrop=0.1, layer_norm_epsilon=1e-5, n_ctx=1024, n_positions=1024, vocab_size=50257,
    summary_activation=None, summary_first_dropout=0.1, summary_proj_to_labels=True,
    summary_type='cls_index', summary_use_proj=True,
    task_specific_params={'text-generation': {'do_sample': True}})
OPT = dict(model_type='opt', activation_dropout=0.0, activation_function='relu', attention_dropout=0.0,
    do_layer_norm_before=True, dropout=0.1, _remove_final_layer_norm=False, init_std=0.006, layerdrop=0.0,
    max_position_embeddings=2048, vocab_size=50272, prefix='</s>')
NEOX = dict(model_type='gpt_neox', hidden_act='gelu', rotary_pct=0.25, rotary_emb_base=10000,
    max_position_embeddings=2048, use_parallel_residual=True, layer_norm_eps=1e-5,
    tie_word_embeddings=False)
FALCON = dict(model_type='falcon', vocab_size=65024, alibi=False, bias=False, parallel_attn=True,
    attention_dropout=0.0, hidden_dropout=0.0, layer_norm_epsilon=1e-5)
MPT = dict(model_type='mpt', expansion_ratio=4, max_seq_len=2048, no_bias=True, vocab_size=50432,
    norm_type='low_precision_layernorm', resid_pdrop=0, emb_pdrop=0, learned_pos_emb=True,
    logit_scale=None, embedding_fraction=1.0, init_device='cpu', verbose=0, use_cache=False,
    attn_config=dict(alibi=True, alibi_bias_max=8, attn_impl='torch', attn_pdrop=0,
        attn_type='multihead_attention', attn_uses_sequence_id=False, clip_qkv=None,
        prefix_lm=False, qk_ln=False, softmax_scale=None))
DEEPSEEK = dict(hidden_act='silu', attention_bias=False, first_k_dense_replace=1, kv_lora_rank=512,
    moe_layer_freq=1, norm_topk_prob=False, qk_nope_head_dim=128, qk_rope_head_dim=64, v_head_dim=128,
    vocab_size=102400, max_position_embeddings=163840, rms_norm_eps=1e-6, aux_loss_alpha=0.001,
    seq_aux=True, pretraining_tp=1, rope_theta=10000, tie_word_embeddings=False)
QWEN_MOE = dict(hidden_act='silu', vocab_size=151936, decoder_sparse_step=1, mlp_only_layers=[],
    norm_topk_prob=True, output_router_logits=False, router_aux_loss_coef=0.001, rms_norm_eps=1e-6,
    use_sliding_window=False, max_position_embeddings=40960, tie_word_embeddings=False)
OSS = dict(model_type='gpt_oss', vocab_size=201088, hidden_size=2880, intermediate_size=2880,
    num_attention_heads=64, num_key_value_heads=8, head_dim=64, attention_bias=True,
    experts_per_token=4, num_experts_per_tok=4, sliding_window=128, swiglu_limit=7.0,
    output_router_logits=False, router_aux_loss_coef=0.9, hidden_act='silu',
    max_position_embeddings=131072, initial_context_length=4096, tie_word_embeddings=False)

# name: configuration, what was published, where
MODELS = {
    'gpt2': (dict(GPT2, n_embd=768, n_head=12, n_layer=12), '124M', 'openai/gpt-2 README'),
    'gpt2-xl': (dict(GPT2, n_embd=1600, n_head=25, n_layer=48), '1558M', 'openai/gpt-2 README'),
    'bloom-560m': (dict(BLOOM, n_layer=24, hidden_size=1024, n_head=16), '559214592', 'model card'),
    'bloom-7b1': (dict(BLOOM, n_layer=30, n_embed=4096, hidden_size=4096, num_attention_heads=32),
        '7069016064', 'model card'),
    'bloom': (dict(BLOOM, n_layer=70, n_embed=14336, num_attention_heads=112), '176247271424',
        'model card'),
    'opt-125m': (dict(OPT, hidden_size=768, word_embed_proj_dim=768, ffn_dim=3072,
        num_attention_heads=12, num_hidden_layers=12), '125M', 'arXiv:2205.01068, table 1'),
    'opt-175b': (dict(OPT, hidden_size=12288, word_embed_proj_dim=12288, ffn_dim=49152,
        num_attention_heads=96, num_hidden_layers=96), '175B', 'arXiv:2205.01068, table 1'),
    'gpt-neox-20b': (dict(NEOX, vocab_size=50432, hidden_size=6144, intermediate_size=24576,
        num_attention_heads=64, num_hidden_layers=44), '20554567680', 'model card'),
    'pythia-12b': (dict(NEOX, vocab_size=50688, hidden_size=5120, intermediate_size=20480,
        num_attention_heads=40, num_hidden_layers=36), '11846072320', 'model card'),
    'gpt-j-6b': (dict(model_type='gptj', activation_function='gelu_new', attn_pdrop=0.0, embd_pdrop=0.0,
        resid_pdrop=0.0, layer_norm_epsilon=1e-5, n_embd=4096, n_head=16, n_inner=None, n_layer=28,
        n_positions=2048, rotary=True, rotary_dim=64, scale_attn_weights=True, vocab_size=50400,
        tie_word_embeddings=False), '6B', 'model card'),
    'starcoderbase-1b': (dict(model_type='gpt_bigcode', activation_function='gelu_pytorch_tanh',
        attn_pdrop=0.1, embd_pdrop=0.1, resid_pdrop=0.1, multi_query=True, n_embd=2048, n_head=16,
        n_inner=8192, n_layer=24, n_positions=8192, layer_norm_epsilon=1e-5, scale_attn_weights=True,
        attention_softmax_in_fp32=True, scale_attention_softmax_in_fp32=True, vocab_size=49152),
        '1.1B', 'model card'),
    'falcon-7b': (dict(FALCON, hidden_size=4544, num_attention_heads=71, num_hidden_layers=32,
        multi_query=True, new_decoder_architecture=False), '7B', 'model card'),
    'falcon-40b': (dict(FALCON, hidden_size=8192, num_attention_heads=128, num_hidden_layers=60,
        num_kv_heads=8, multi_query=True, new_decoder_architecture=True), '-', 'called 40B'),
    'mpt-7b': (dict(MPT, d_model=4096, n_heads=32, n_layers=32), '6.7B', 'model card'),
    'phi-2': (dict(model_type='phi', hidden_act='gelu_new', hidden_size=2560, intermediate_size=10240,
        num_attention_heads=32, num_hidden_layers=32, vocab_size=51200, partial_rotary_factor=0.4,
        embd_pdrop=0.0, resid_pdrop=0.1, layer_norm_eps=1e-5, qk_layernorm=False,
        max_position_embeddings=2048, tie_word_embeddings=False), '-', 'called 2.7B'),
    'starcoder2-15b': (dict(model_type='starcoder2', hidden_act='gelu_pytorch_tanh', hidden_size=6144,
        intermediate_size=24576, num_attention_heads=48, num_key_value_heads=4, num_hidden_layers=40,
        vocab_size=49152, use_bias=True, norm_epsilon=1e-5, norm_type='layer_norm',
        mlp_type='default', residual_dropout=0.1, embedding_dropout=0.1, sliding_window=4096,
        max_position_embeddings=16384, tie_word_embeddings=False), '-', 'called 15B'),
    'nemotron-4-15b': (dict(model_type='nemotron', hidden_act='relu2', hidden_size=6144,
        intermediate_size=24576, num_attention_heads=48, num_key_value_heads=8, num_hidden_layers=32,
        vocab_size=256000, attention_bias=False, mlp_bias=False, norm_eps=1e-5,
        partial_rotary_factor=0.5, max_position_embeddings=4096, tie_word_embeddings=False),
        '15.7B', 'arXiv:2402.16819, table 1: 3.2B in embeddings and 12.5B'),
    'nemotron-4-340b': (dict(model_type='nemotron', hidden_act='relu2', hidden_size=18432,
        intermediate_size=73728, num_attention_heads=96, num_key_value_heads=8, num_hidden_layers=96,
        vocab_size=256000, attention_bias=False, mlp_bias=False, norm_eps=1e-5,
        partial_rotary_factor=0.5, max_position_embeddings=4096, tie_word_embeddings=False),
        '341.0B', 'arXiv:2406.11704, table 1: 9.4B in embeddings and 331.6B'),
    'gemma-7b': (dict(model_type='gemma', hidden_act='gelu_pytorch_tanh', hidden_size=3072,
        intermediate_size=24576, num_attention_heads=16, num_key_value_heads=16, head_dim=256,
        num_hidden_layers=28, vocab_size=256000, attention_bias=False, rms_norm_eps=1e-6),
        '8.54B', 'arXiv:2403.08295, table 2 (0.79B and 7.75B)'),
    'gemma-2-27b': (dict(model_type='gemma2', hidden_activation='gelu_pytorch_tanh', hidden_size=4608,
        intermediate_size=36864, num_attention_heads=32, num_key_value_heads=16, head_dim=128,
        num_hidden_layers=46, vocab_size=256000, attention_bias=False, sliding_window=4096,
        query_pre_attn_scalar=144, attn_logit_softcapping=50.0, final_logit_softcapping=30.0),
        '27.2B', 'arXiv:2408.00118, table 2 (1.18B and 26.05B)'),
    'phi-3-mini': (dict(model_type='phi3', hidden_act='silu', hidden_size=3072, intermediate_size=8192,
        num_attention_heads=32, num_key_value_heads=32, num_hidden_layers=32, vocab_size=32064,
        embd_pdrop=0.0, resid_pdrop=0.0, rms_norm_eps=1e-5, sliding_window=2047,
        original_max_position_embeddings=4096, max_position_embeddings=4096, attention_bias=False,
        tie_word_embeddings=False), '3.8B', 'arXiv:2404.14219'),
    'command-r': (dict(model_type='cohere', hidden_act='silu', hidden_size=8192, intermediate_size=22528,
        num_attention_heads=64, num_key_value_heads=64, num_hidden_layers=40, vocab_size=256000,
        layer_norm_eps=1e-5, logit_scale=0.0625, use_qk_norm=False), '35B', 'model card'),
    'olmo-2-7b': (dict(model_type='olmo2', hidden_act='silu', hidden_size=4096, intermediate_size=11008,
        num_attention_heads=32, num_key_value_heads=32, num_hidden_layers=32, vocab_size=100352,
        attention_bias=False, rms_norm_eps=1e-6, tie_word_embeddings=False), '7.3B', 'model card'),
    'mixtral-8x7b': (dict(model_type='mixtral', hidden_act='silu', hidden_size=4096,
        intermediate_size=14336, num_attention_heads=32, num_key_value_heads=8, num_hidden_layers=32,
        num_local_experts=8, num_experts_per_tok=2, vocab_size=32000, sliding_window=None,
        output_router_logits=False, router_aux_loss_coef=0.02, rms_norm_eps=1e-5,
        tie_word_embeddings=False), '46.7B', 'arXiv:2401.04088'),
    'qwen1.5-moe-a2.7b': (dict(QWEN_MOE, model_type='qwen2_moe', hidden_size=2048,
        intermediate_size=5632, moe_intermediate_size=1408, shared_expert_intermediate_size=5632,
        num_attention_heads=16, num_key_value_heads=16, num_hidden_layers=24, num_experts=60,
        num_experts_per_tok=4, sliding_window=32768, max_window_layers=21), '14.3B', 'model card'),
    'qwen3-30b-a3b': (dict(QWEN_MOE, model_type='qwen3_moe', hidden_size=2048, intermediate_size=6144,
        moe_intermediate_size=768, num_attention_heads=32, num_key_value_heads=4, head_dim=128,
        num_hidden_layers=48, num_experts=128, num_experts_per_tok=8, attention_bias=False,
        sliding_window=None, max_window_layers=48), '30.5B', 'model card'),
    'qwen3-coder-480b': (dict(QWEN_MOE, model_type='qwen3_moe', hidden_size=6144, intermediate_size=8192,
        moe_intermediate_size=2560, num_attention_heads=96, num_key_value_heads=8, head_dim=128,
        num_hidden_layers=62, num_experts=160, num_experts_per_tok=8, max_window_layers=62,
        qkv_bias=False, use_qk_norm=True, shared_expert_intermediate_size=0), '480B', 'model card'),
    'r1-distill-qwen-1.5b': (dict(model_type='qwen2', hidden_size=1536, intermediate_size=8960,
        num_attention_heads=12, num_key_value_heads=2, num_hidden_layers=28, vocab_size=151936,
        hidden_act='silu', max_window_layers=21, rope_theta=10000, rms_norm_eps=1e-6, sliding_window=4096,
        use_mrope=False, use_sliding_window=False, tie_word_embeddings=False), '-', 'model card'),
    'gemma-2-9b': (dict(model_type='gemma2', hidden_act='gelu_pytorch_tanh',
        hidden_activation='gelu_pytorch_tanh', hidden_size=3584, intermediate_size=14336,
        num_attention_heads=16, num_key_value_heads=8, head_dim=256, num_hidden_layers=42,
        vocab_size=256000, sliding_window=4096, sliding_window_size=4096, cache_implementation='hybrid',
        query_pre_attn_scalar=256), '9.24B', 'arXiv:2408.00118, table 2 (0.92B and 8.32B)'),
    'deepseek-v2': (dict(DEEPSEEK, model_type='deepseek_v2', hidden_size=5120, intermediate_size=12288,
        moe_intermediate_size=1536, q_lora_rank=1536, num_attention_heads=128, num_key_value_heads=128,
        num_hidden_layers=60, n_routed_experts=160, n_shared_experts=2, num_experts_per_tok=6,
        n_group=8, topk_group=3, topk_method='group_limited_greedy', routed_scaling_factor=16.0,
        ep_size=1, scoring_func='softmax'), '236B', 'arXiv:2405.04434'),
    'deepseek-v2-lite': (dict(DEEPSEEK, model_type='deepseek_v2', hidden_size=2048,
        intermediate_size=10944, moe_intermediate_size=1408, q_lora_rank=None, num_attention_heads=16,
        num_key_value_heads=16, num_hidden_layers=27, n_routed_experts=64, n_shared_experts=2,
        num_experts_per_tok=6, n_group=1, topk_group=1, topk_method='greedy', routed_scaling_factor=1.0,
        ep_size=1, scoring_func='softmax'), '15.7B', 'arXiv:2405.04434, appendix B'),
    'deepseek-v3': (dict(DEEPSEEK, model_type='deepseek_v3', vocab_size=129280, hidden_size=7168,
        intermediate_size=18432, moe_intermediate_size=2048, q_lora_rank=1536, first_k_dense_replace=3,
        num_attention_heads=128, num_key_value_heads=128, num_hidden_layers=61, n_routed_experts=256,
        n_shared_experts=1, num_experts_per_tok=8, n_group=8, topk_group=4, topk_method='noaux_tc',
        norm_topk_prob=True, routed_scaling_factor=2.5, ep_size=1, scoring_func='sigmoid',
        num_nextn_predict_layers=1), '671B', 'arXiv:2412.19437'),
    'gpt-oss-20b': (dict(OSS, num_hidden_layers=24, num_local_experts=32), '20.91B',
        'model card, table 1'),
    'gpt-oss-120b': (dict(OSS, num_hidden_layers=36, num_local_experts=128), '116.83B',
        'model card, table 1'),
}


def count(config):
    config = AutoConfig.for_model(**config)
    with torch.device('meta'):
        model = AutoModelForCausalLM.from_config(config)
    model.tie_weights()
    return sum(p.numel() for p in {id(p): p for p in model.parameters()}.values())


def main():
    out = sys.argv[1]
    with open(out + '/params.tsv', 'w') as f:
        f.write('# scripts/oracle/plan_params.py tests/golden/plan; transformers %s, torch %s\n' %
            (transformers.__version__, torch.__version__))
        for name, (config, published, source) in MODELS.items():
            with open('%s/%s.json' % (out, name), 'w') as j:
                json.dump(config, j, indent=1)
                j.write('\n')
            f.write('%s\t%d\t%s\t%s\n' % (name, count(config), published, source))


if __name__ == '__main__':
    main()
