#!/usr/bin/env python3
"""Write the config.json of published models and their parameter counts.

Run by hand: scripts/oracle/plan_params.py tests/golden/plan
transformers builds each model on the device "meta", which holds no numbers, and
counts its parameters.  The sizes are those of the published config.json.  The
file params.tsv has a row for each: name, parameters by transformers with buffers
that are stored (e_score_correction_bias of DeepSeek-V3), the published number
(- if only a name that is not rounded tells it), its source.
"""
import json, re, sys
import torch, transformers
from transformers import AutoConfig, AutoModelForCausalLM

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

DELTA = dict(attention_bias=False, full_attention_interval=4, head_dim=256, hidden_act='silu',
    linear_conv_kernel_dim=4, linear_key_head_dim=128, linear_num_key_heads=16, linear_num_value_heads=32,
    linear_value_head_dim=128, max_position_embeddings=262144, num_attention_heads=16, num_key_value_heads=2,
    output_router_logits=False, rms_norm_eps=1e-6, router_aux_loss_coef=0.001, tie_word_embeddings=False)
QWEN_35 = dict(model_type='qwen3_5_moe_text', attn_output_gate=True, mamba_ssm_dtype='float32',
    mlp_only_layers=[], mtp_num_hidden_layers=1, mtp_use_dedicated_embeddings=False, vocab_size=248320,
    rope_parameters=dict(rope_type='default', rope_theta=10000000, partial_rotary_factor=0.25,
    mrope_interleaved=True, mrope_section=[11, 11, 10]))
BIG = dict(linear_num_value_heads=64, num_attention_heads=32)

# name: configuration, what was published, where
MODELS = {
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
    'aya-23-8b': (dict(model_type='cohere', hidden_act='silu', hidden_size=4096, intermediate_size=14336,
        num_attention_heads=32, num_key_value_heads=8, num_hidden_layers=32, vocab_size=256000,
        attention_bias=False, attention_dropout=0.0, bos_token_id=5, eos_token_id=255001, pad_token_id=0,
        initializer_range=0.02, layer_norm_eps=1e-5, logit_scale=0.0625, max_position_embeddings=8192,
        model_max_length=8192, pretraining_tp=1, rope_scaling=None, rope_theta=10000, use_cache=True,
        use_qk_norm=False), '8.03B', 'model card'),
    'tiny-aya-earth': (dict(model_type='cohere2', hidden_act='silu', hidden_size=2048, head_dim=128,
        intermediate_size=11008, num_attention_heads=16, num_key_value_heads=4, num_hidden_layers=36,
        vocab_size=262144, bos_token_id=2, eos_token_id=3, logit_scale=1.0, rope_theta=50000,
        sliding_window=4096, layer_types=(['sliding_attention'] * 3 + ['full_attention']) * 9,
        cache_implementation='hybrid', layer_switch=4, order_of_interleaved_layers='local_attn_first',
        position_embedding_type='rope_gptj', rotary_pct=1.0, use_embedding_sharing=True,
        use_gated_activation=True, use_parallel_block=True, use_parallel_embedding=False,
        use_qk_norm=False), '3.35B', 'model card'),
    'pythia-6.9b': (dict(model_type='gpt_neox', hidden_act='gelu', hidden_size=4096,
        intermediate_size=16384, num_attention_heads=32, num_hidden_layers=32, vocab_size=50432,
        bos_token_id=0, eos_token_id=0, initializer_range=0.02, layer_norm_eps=1e-5,
        max_position_embeddings=2048, rotary_emb_base=10000, rotary_pct=0.25, use_cache=True,
        tie_word_embeddings=False, use_parallel_residual=True), '6.86B', 'model card'),
    'gpt-neox-20b': (dict(model_type='gpt_neox', attention_probs_dropout_prob=0, bos_token_id=0,
        eos_token_id=0, hidden_act='gelu_fast', hidden_dropout_prob=0, hidden_size=6144,
        initializer_range=0.02, intermediate_size=24576, layer_norm_eps=1e-5,
        max_position_embeddings=2048, num_attention_heads=64, num_hidden_layers=44, rotary_emb_base=10000,
        rotary_pct=0.25, tie_word_embeddings=False, use_cache=True, vocab_size=50432), '20.6B', 'model card'),
    'gpt2-xl': (dict(model_type='gpt2', activation_function='gelu_new', attn_pdrop=0.1, embd_pdrop=0.1,
        resid_pdrop=0.1, bos_token_id=50256, eos_token_id=50256, initializer_range=0.02,
        layer_norm_epsilon=1e-5, n_ctx=1024, n_embd=1600, n_head=25, n_layer=48, n_positions=1024,
        vocab_size=50257), '1558M', 'openai/gpt-2 README'),
    'starcoder2-15b': (dict(model_type='starcoder2', attention_dropout=0.1, bos_token_id=0, eos_token_id=0,
        embedding_dropout=0.1, hidden_act='gelu_pytorch_tanh', hidden_size=6144, initializer_range=0.01275,
        intermediate_size=24576, max_position_embeddings=16384, mlp_type='default', norm_epsilon=1e-5,
        norm_type='layer_norm', num_attention_heads=48, num_hidden_layers=40, num_key_value_heads=4,
        residual_dropout=0.1, rope_theta=100000, sliding_window=4096, tie_word_embeddings=False,
        use_bias=True, use_cache=True, vocab_size=49152), '16B', 'model card'),
    'phi-2': (dict(model_type='phi', attention_dropout=0.0, bos_token_id=50256, embd_pdrop=0.0,
        eos_token_id=50256, hidden_act='gelu_new', hidden_size=2560, initializer_range=0.02,
        intermediate_size=10240, layer_norm_eps=1e-5, max_position_embeddings=2048,
        num_attention_heads=32, num_hidden_layers=32, num_key_value_heads=32, partial_rotary_factor=0.4,
        qk_layernorm=False, resid_pdrop=0.1, rope_scaling=None, rope_theta=10000.0,
        tie_word_embeddings=False, use_cache=True, vocab_size=51200), '2.78B', 'model card'),
    'glm-4-9b-0414': (dict(model_type='glm4', attention_bias=True, attention_dropout=0.0, head_dim=128,
        hidden_act='silu', hidden_size=4096, initializer_range=0.02, intermediate_size=13696,
        max_position_embeddings=32768, num_attention_heads=32, num_hidden_layers=40, num_key_value_heads=2,
        pad_token_id=151329, eos_token_id=[151329, 151336, 151338], partial_rotary_factor=0.5,
        rms_norm_eps=1e-5, rope_theta=10000.0, tie_word_embeddings=False, use_cache=True,
        vocab_size=151552), '9.4B', 'model card'),
    'glm-4-32b-0414': (dict(model_type='glm4', attention_bias=False, attention_dropout=0.0, head_dim=128,
        hidden_act='silu', hidden_size=6144, initializer_range=0.02, intermediate_size=23040,
        max_position_embeddings=32768, num_attention_heads=48, num_hidden_layers=61, num_key_value_heads=2,
        pad_token_id=151329, eos_token_id=[151329, 151336, 151338], partial_rotary_factor=0.5,
        rms_norm_eps=1e-5, rope_theta=10000.0, tie_word_embeddings=False, use_cache=True,
        vocab_size=151552), '-', 'model card'),
    'exaone-4.0-32b': (dict(model_type='exaone4', attention_dropout=0.0, bos_token_id=1, eos_token_id=361,
        pad_token_id=0, head_dim=128, hidden_act='silu', hidden_size=5120, initializer_range=0.02,
        intermediate_size=27392, layer_types=(['sliding_attention'] * 3 + ['full_attention']) * 16,
        max_position_embeddings=131072, num_attention_heads=40, num_hidden_layers=64, num_key_value_heads=8,
        rms_norm_eps=1e-5, rope_scaling=dict(rope_type='llama3', factor=16.0, low_freq_factor=1.0,
        high_freq_factor=4.0, original_max_position_embeddings=8192), rope_theta=1000000,
        sliding_window=4096, sliding_window_pattern='LLLG', tie_word_embeddings=False, use_cache=True,
        vocab_size=102400), '32.0B', 'model card, 30.95B beside the embeddings'),
    'qwen3-next-80b-a3b': (dict(DELTA, model_type='qwen3_next', decoder_sparse_step=1, hidden_size=2048,
        intermediate_size=5120, mlp_only_layers=[], moe_intermediate_size=512, norm_topk_prob=True,
        num_experts=512, num_experts_per_tok=10, num_hidden_layers=48, partial_rotary_factor=0.25,
        rope_scaling=None, rope_theta=10000000, shared_expert_intermediate_size=512, use_sliding_window=False,
        vocab_size=151936), '80B', 'model card'),
    'qwen3.5-35b-a3b': (dict(DELTA | QWEN_35, hidden_size=2048, moe_intermediate_size=512, num_experts=256,
        num_experts_per_tok=8, num_hidden_layers=40, shared_expert_intermediate_size=512), '35B', 'model card'),
    'qwen3.5-122b-a10b': (dict(DELTA | QWEN_35 | BIG,
        hidden_size=3072, moe_intermediate_size=1024, num_experts=256, num_experts_per_tok=8,
        num_hidden_layers=48, shared_expert_intermediate_size=1024), '122B', 'model card'),
    'qwen3.5-397b-a17b': (dict(DELTA | QWEN_35 | BIG,
        hidden_size=4096, moe_intermediate_size=1024, num_experts=512, num_experts_per_tok=10,
        num_hidden_layers=60, shared_expert_intermediate_size=1024), '397B', 'model card'),
    'gemma-7b': (dict(model_type='gemma', hidden_act='gelu_pytorch_tanh', hidden_size=3072, head_dim=256,
        intermediate_size=24576, num_attention_heads=16, num_key_value_heads=16, num_hidden_layers=28,
        vocab_size=256000, attention_bias=False, rms_norm_eps=1e-6, rope_theta=10000.0,
        max_position_embeddings=8192), '8.54B', 'arXiv:2403.08295, table 2 (0.787B and 7.751B)'),
    'smollm3-3b': (dict(model_type='smollm3', hidden_act='silu', hidden_size=2048, intermediate_size=11008,
        num_attention_heads=16, num_key_value_heads=4, num_hidden_layers=36, vocab_size=128256,
        attention_bias=False, mlp_bias=False, rms_norm_eps=1e-6, rope_theta=5000000.0,
        no_rope_layers=[1, 1, 1, 0] * 9, max_position_embeddings=65536, use_sliding_window=False),
        '3.08B', 'model card'),
    'granite-3.0-8b': (dict(model_type='granite', hidden_act='silu', hidden_size=4096,
        intermediate_size=12800, num_attention_heads=32, num_key_value_heads=8, num_hidden_layers=40,
        vocab_size=49155, attention_bias=False, mlp_bias=False, rms_norm_eps=1e-5, rope_theta=10000.0,
        attention_multiplier=0.0078125, embedding_multiplier=12.0, logits_scaling=16.0,
        residual_multiplier=0.22, max_position_embeddings=4096, tie_word_embeddings=True),
        '8.1B', 'model card'),
    'olmoe-1b-7b': (dict(model_type='olmoe', hidden_act='silu', hidden_size=2048, intermediate_size=1024,
        num_attention_heads=16, num_key_value_heads=16, num_hidden_layers=16, num_experts=64,
        num_experts_per_tok=8, vocab_size=50304, norm_topk_prob=False, attention_bias=False, clip_qkv=None,
        rms_norm_eps=1e-5, rope_theta=10000.0, max_position_embeddings=4096), '6.9B', 'arXiv:2409.02060'),
    'seed-oss-36b': (dict(model_type='seed_oss', hidden_act='silu', hidden_size=5120,
        intermediate_size=27648, num_attention_heads=80, num_key_value_heads=8, head_dim=128,
        num_hidden_layers=64, vocab_size=155136, attention_bias=True, attention_out_bias=False,
        mlp_bias=False, rms_norm_eps=1e-6, rope_theta=10000000.0, max_position_embeddings=524288,
        tie_word_embeddings=False), '36B', 'model card'),
    'ministral-8b': (dict(model_type='ministral', hidden_act='silu', hidden_size=4096, head_dim=128,
        intermediate_size=12288, num_attention_heads=32, num_key_value_heads=8, num_hidden_layers=36,
        vocab_size=131072, rms_norm_eps=1e-5, rope_theta=100000000.0, sliding_window=32768,
        layer_types=(['full_attention'] + ['sliding_attention'] * 3) * 9, max_position_embeddings=32768,
        tie_word_embeddings=False), '8019808256', 'model card'),
    'apertus-8b': (dict(model_type='apertus', hidden_act='xielu', hidden_size=4096, intermediate_size=21504,
        num_attention_heads=32, num_key_value_heads=8, num_hidden_layers=32, vocab_size=131072,
        attention_bias=False, rms_norm_eps=1e-5, rope_theta=12000000.0, max_position_embeddings=65536,
        rope_scaling=dict(rope_type='llama3', factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
        original_max_position_embeddings=8192), tie_word_embeddings=False), '8B', 'arXiv:2509.14233'),
    'glm-4-9b': (dict(model_type='glm', attention_bias=True, attention_dropout=0.0, head_dim=128,
        hidden_act='silu', hidden_size=4096, initializer_range=0.02, intermediate_size=13696,
        max_position_embeddings=131072, num_attention_heads=32, num_hidden_layers=40, num_key_value_heads=2,
        pad_token_id=151329, eos_token_id=[151329, 151336, 151338], partial_rotary_factor=0.5,
        rms_norm_eps=1.5625e-07, rope_theta=10000.0, tie_word_embeddings=False, use_cache=True,
        vocab_size=151552), '9.4B', 'model card'),
    'ernie-4.5-0.3b': (dict(model_type='ernie4_5', hidden_act='silu', hidden_size=1024, head_dim=128,
        intermediate_size=3072, num_attention_heads=16, num_key_value_heads=2, num_hidden_layers=18,
        vocab_size=103424, use_bias=False, rms_norm_eps=1e-5, rope_theta=500000.0,
        max_position_embeddings=131072, tie_word_embeddings=True), '0.36B', 'model card'),
}


def count(config):
    config = AutoConfig.for_model(**config)
    with torch.device('meta'):
        model = AutoModelForCausalLM.from_config(config)
    model.tie_weights()
    return parameters(model, '^$')


def parameters(model, but):
    """parameters and stored buffers whose names do not match"""
    stored = model.state_dict()
    numbers = [*model.named_parameters(), *(x for x in model.named_buffers() if x[0] in stored)]
    return sum(p.numel() for p in {id(p): p for n, p in numbers if not re.search(but, n)}.values())


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
