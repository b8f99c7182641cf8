"""Tiny random models of each family, their logits and gradients in double.
usage: family.py OUTDIR [NAME...]             (tests/golden/family)
Writes OUTDIR/NAME/ (config.json as transformers writes it, model.safetensors in
bfloat16), OUTDIR/NAME.gguf where the family has one, and OUTDIR/NAME.safetensors:
  ids u16 [2,20]; first u32 [2,20]: where in its row each token's piece begins
  logits F32 [2,20,V]
  losses F64 [4]: in three steps of AdamW, of one model of each family
  grad.X F32: gradient of the mean cross-entropy of the next token, over the
    positions whose next token is in the same piece; if the model's blocks keep
    less than X, only the part kept, and no tensor if that is nothing.  Rows of a
    query_key_value are in the order Q, K, V, not by head; matrices that are
    stored as [in, out] are [out, in]
Each piece is a forward pass of its own through transformers' eager code, in
whose source every float32 is replaced by float64."""
import copy
import importlib
import inspect
import json
import math
import os
import re
import sys
import types

import gguf
import numpy
import torch
import transformers

import delta
import st

SEED = 13
ROWS = [[20], [13, 7]]
SIZE = dict(vocab_size=40, hidden_size=12, intermediate_size=20,
            num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1,
            head_dim=8, bos_token_id=1, eos_token_id=2, pad_token_id=None)
# module, class, and what differs
FAMILIES = {
    # rows longer than the window, and than max_position_embeddings; the key
    # use_sliding_window has no effect in this family
    'mistral': ('mistral', 'Mistral', dict(
        sliding_window=5, max_position_embeddings=4, rms_norm_eps=1e-5,
        use_sliding_window=False, eos_token_id=[2, 7])),
    # a GGUF has no window, nor frequencies by the length of a text
    'mistral-full': ('mistral', 'Mistral', dict(sliding_window=None)),
    'ministral-full': ('ministral', 'Ministral', dict(
        sliding_window=5, layer_types=['full_attention'] * 2)),
    'olmo2-full': ('olmo2', 'Olmo2', dict(max_position_embeddings=64)),
    'llama': ('llama', 'Llama', dict(max_position_embeddings=64, rope_parameters=dict(
        rope_type='llama3', rope_theta=1e4, factor=4.0, low_freq_factor=1.0,
        high_freq_factor=4.0, original_max_position_embeddings=8))),
    'qwen2': ('qwen2', 'Qwen2', dict(max_position_embeddings=64, rope_theta=1e6)),
    'qwen3': ('qwen3', 'Qwen3', dict(
        max_position_embeddings=64, tie_word_embeddings=True)),
    # blocks 0 to 4 attend within the window, with their own RoPE base; the scale of
    # scores is not that of head_dim, for which a GGUF has no key
    'gemma3': ('gemma3', 'Gemma3Text', dict(
        max_position_embeddings=64, num_hidden_layers=6, intermediate_size=8,
        sliding_window=5, query_pre_attn_scalar=11)),
}
# sizes of which no two are equal
ODD = dict(vocab_size=59, hidden_size=24, intermediate_size=12, num_hidden_layers=2,
           num_attention_heads=6, num_key_value_heads=2, head_dim=8,
           max_position_embeddings=64)
YARN = dict(rope_type='yarn', rope_theta=1e4, factor=4.0,
            original_max_position_embeddings=8)
FAMILIES |= {
    # caps so low that they matter
    'gemma2': ('gemma2', 'Gemma2', dict(
        ODD, sliding_window=5, query_pre_attn_scalar=11,
        attn_logit_softcapping=2.0, final_logit_softcapping=3.0)),
    'gemma': ('gemma', 'Gemma', ODD),
    'cohere': ('cohere', 'Cohere', dict(ODD, logit_scale=0.3)),
    # block 3 has neither a window nor RoPE
    'cohere2': ('cohere2', 'Cohere2', dict(
        ODD, num_hidden_layers=4, sliding_window=5, logit_scale=3.0)),
    # frequencies by the length of a text
    'olmo2': ('olmo2', 'Olmo2', dict(
        ODD, max_position_embeddings=9,
        rope_parameters=dict(rope_type='dynamic', rope_theta=5e5, factor=3.0))),
    'olmo3': ('olmo3', 'Olmo3', dict(
        ODD, num_hidden_layers=4, sliding_window=5, rope_parameters=dict(
            full_attention=YARN,
            sliding_attention=dict(rope_type='default', rope_theta=1e4)))),
    'smollm3': ('smollm3', 'SmolLM3', dict(
        ODD, num_hidden_layers=3, no_rope_layers=[1, 0, 1])),
    'granite': ('granite', 'Granite', dict(
        ODD, embedding_multiplier=3.0, attention_multiplier=0.5,
        residual_multiplier=0.7, logits_scaling=2.5)),
    # a head is hidden_size / heads; 6 of its 8 dimensions turn; pieces longer and
    # shorter than original_max_position_embeddings
    'phi3': ('phi3', 'Phi3', dict(
        ODD, hidden_size=48, head_dim=8, original_max_position_embeddings=8,
        rope_parameters=dict(
            rope_type='longrope', rope_theta=1e4, partial_rotary_factor=0.75,
            short_factor=[1.0, 1.25, 1.5], long_factor=[1.5, 4.0, 9.0]))),
    # queries are scaled from position 8 on
    'ministral3': ('ministral3', 'Ministral3', dict(
        ODD, rope_parameters=dict(
            YARN, mscale=1.0, mscale_all_dim=0.5, beta_fast=4.0, beta_slow=0.5,
            llama_4_scaling_beta=0.3))),
    'seed_oss': ('seed_oss', 'SeedOss', ODD),
    'apertus': ('apertus', 'Apertus', dict(
        ODD, tie_word_embeddings=True, rope_parameters=dict(
            rope_type='llama3', rope_theta=1e4, factor=4.0, low_freq_factor=1.0,
            high_freq_factor=4.0, original_max_position_embeddings=8))),
    # some blocks with the window, as layer_types says
    'ministral': ('ministral', 'Ministral', dict(
        ODD, num_hidden_layers=3, sliding_window=5, layer_types=[
            'sliding_attention', 'full_attention', 'sliding_attention'])),
    # blocks with the gated delta rule; 2 of 8 dimensions of a head turn
    'qwen3_5': ('qwen3_5', 'Qwen3_5Text', dict(
        {**ODD, **delta.BLOCKS}, rope_parameters=dict(
            rope_type='default', rope_theta=1e4, partial_rotary_factor=0.25))),
    'qwen3_5-sees': ('qwen3_5', 'Qwen3_5Text', {
        **ODD, **delta.BLOCKS, 'num_hidden_layers': 2,
        'layer_types': ['linear_attention', 'full_attention']}),
    # some blocks with the short convolution
    'lfm2': ('lfm2', 'Lfm2', dict(
        ODD, hidden_size=48, intermediate_size=20, block_multiple_of=4, layer_types=[
            'conv', 'full_attention', 'conv'], num_hidden_layers=3)),
    # the same within a model that sees images
    'lfm2-sees': ('lfm2', 'Lfm2', dict(
        ODD, block_multiple_of=4, layer_types=['conv', 'full_attention'],
        num_hidden_layers=2)),
    'gpt_neox': ('gpt_neox', 'GPTNeoX', dict(
        ODD, hidden_size=48, rope_parameters=dict(
            rope_type='default', rope_theta=1e4, partial_rotary_factor=0.5))),
    'gpt_neox-serial': ('gpt_neox', 'GPTNeoX', dict(
        ODD, hidden_size=24, num_attention_heads=3, use_parallel_residual=False,
        attention_bias=False, tie_word_embeddings=True, hidden_act='gelu_new')),
    # as many positions as the longest piece has tokens
    'gpt2': ('gpt2', 'GPT2', dict(ODD, num_attention_heads=3, max_position_embeddings=20, n_inner=20)),
    'gpt2-untied': ('gpt2', 'GPT2', dict(
        ODD, num_attention_heads=4, max_position_embeddings=512, tie_word_embeddings=False,
        activation_function='gelu')),
    # config.json and tensors as transformers 4 published them
    'gpt2-published': ('gpt2', 'GPT2', dict(
        ODD, num_attention_heads=2, max_position_embeddings=20, num_hidden_layers=1)),
    # 12 channels have a gradient so small that AdamW's first step in float32 differs
    'starcoder2': ('starcoder2', 'Starcoder2', dict(ODD, intermediate_size=16)),
    # with the window, without biases of products; the head is the embedding or not
    'starcoder2-window': ('starcoder2', 'Starcoder2', dict(
        ODD, sliding_window=5, use_bias=False, hidden_act='gelu', tie_word_embeddings=False)),
    'phi': ('phi', 'Phi', dict(ODD, hidden_size=48, intermediate_size=16)),
    'phi-tied': ('phi', 'Phi', dict(
        ODD, num_attention_heads=3, num_key_value_heads=1, tie_word_embeddings=True,
        hidden_act='gelu', rope_parameters=dict(
            rope_type='default', rope_theta=1e4, partial_rotary_factor=0.75))),
    'glm4': ('glm4', 'Glm4', ODD),
    # without biases, as GLM-4-32B; 6 of 8 dimensions of a head turn
    'glm4-bare': ('glm4', 'Glm4', dict(
        ODD, attention_bias=False, tie_word_embeddings=True, rope_parameters=dict(
            rope_type='default', rope_theta=1e4, partial_rotary_factor=0.75))),
    'glm': ('glm', 'Glm', ODD),
    # block 3 has neither a window nor RoPE
    'exaone4': ('exaone4', 'Exaone4', dict(ODD, num_hidden_layers=4, sliding_window=5)),
    # no window, so all blocks have RoPE
    'exaone4-full': ('exaone4', 'Exaone4', dict(
        ODD, hidden_size=48, intermediate_size=20, sliding_window=None,
        layer_types=['full_attention'] * 2, tie_word_embeddings=True, rope_parameters=dict(
            rope_type='llama3', rope_theta=1e4, factor=4.0, low_freq_factor=1.0,
            high_freq_factor=4.0, original_max_position_embeddings=8))),
    'gpt_neox-published': ('gpt_neox', 'GPTNeoX', dict(
        ODD, hidden_size=24, num_attention_heads=3, num_hidden_layers=1)),
    'mistral3': ('ministral3', 'Ministral3', dict(
        ODD, num_hidden_layers=1, rope_parameters=dict(
            YARN, llama_4_scaling_beta=0.1))),
}
# what a family's configuration does not have
LACKS = {'gpt_neox': ['num_key_value_heads', 'head_dim'],
         'gpt2': ['num_key_value_heads', 'head_dim', 'intermediate_size']}
# the same with blocks that keep fewer key-value heads and channels, or none: zeros
# in the places of the others, as a pruned model is written
KEPT = dict(groups=[2, 1, 0, 2], mlp=[8, 5, 8, 0])
CUT = dict(hidden_size=12, intermediate_size=8, num_hidden_layers=4, head_dim=4,
           num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64)
FAMILIES |= {
    'llama-cut': ('llama', 'Llama', CUT),
    'qwen2-cut': ('qwen2', 'Qwen2', CUT),
    'qwen3-cut': ('qwen3', 'Qwen3', CUT),
    'gemma3-cut': ('gemma3', 'Gemma3Text', dict(
        CUT, sliding_window=5, query_pre_attn_scalar=4,
        layer_types=['sliding_attention', 'full_attention'] * 2)),
    'apertus-cut': ('apertus', 'Apertus', CUT),
    # as many heads as groups
    'gpt_neox-cut': ('gpt_neox', 'GPTNeoX', dict(CUT, num_attention_heads=2, rope_parameters=dict(
        rope_type='default', rope_theta=1e4, partial_rotary_factor=0.4))),
    'gpt2-cut': ('gpt2', 'GPT2', dict(
        CUT, num_attention_heads=2, max_position_embeddings=24, n_inner=8)),
    'exaone4-cut': ('exaone4', 'Exaone4', dict(
        CUT, hidden_size=16, sliding_window=None, layer_types=['full_attention'] * 4)),
    'glm4-cut': ('glm4', 'Glm4', CUT),
    'phi-cut': ('phi', 'Phi', dict(CUT, hidden_size=16)),
    'starcoder2-cut': ('starcoder2', 'Starcoder2', CUT),
}


def in_double(name):
    """transformers' module with float64 for float32"""
    m = importlib.import_module(name)
    src = re.sub(r'torch\.float(32)?\b', 'torch.float64', inspect.getsource(m))
    src = src.replace('.float()', '.double()')
    src = src.replace('modeling_rope_utils import', 'modeling_rope_utils_double import')
    new = types.ModuleType(m.__name__ + '_double')
    new.__package__, new.__file__ = m.__package__, m.__file__
    sys.modules[new.__name__] = new
    exec(compile(src, new.__name__, 'exec'), new.__dict__)
    return new


def double(module):
    if 'transformers.modeling_rope_utils_double' not in sys.modules:
        in_double('transformers.modeling_rope_utils')
    return in_double(f'transformers.models.{module}.modeling_{module}')


def is_trained(name):
    return '-' not in name and name != 'mistral3'


def make(name):
    module, cls, more = FAMILIES[name]
    size = {k: v for k, v in {**SIZE, **more}.items() if k not in LACKS.get(module, ())}
    cfg = getattr(transformers, cls + 'Config')(**size, attn_implementation='eager')
    m = getattr(double(module), cls.removesuffix('Text') + (
        'LMHeadModel' if module == 'gpt2' else 'ForCausalLM'))(cfg).double()
    # larger weights of a wide model make scores so large that float32 is off
    scale = 0.3 if cfg.hidden_size <= 48 else 2 / cfg.hidden_size ** 0.5 / 2
    gen = torch.Generator().manual_seed(SEED)
    with torch.no_grad():
        for n, p in m.named_parameters():
            x = torch.randn(p.shape, generator=gen)
            x = scale * x if p.ndim == 2 or 'bias' in n else 0.1 * x
            if p.ndim == 1 and 'bias' not in n and 'Gemma' not in cls:
                x = 1 + x                           # norms
            if module == 'lfm2' and p.ndim == 3:
                x = torch.randn(p.shape, generator=gen)
            if module == 'qwen3_5' and p.ndim != 2:
                x = delta.initial(n, torch.randn(p.shape, generator=gen))
            p.copy_(x.bfloat16().double())
            if name.endswith('-cut'):
                whole = p.clone()
                at = kept(cfg, n, p.shape)
                p.zero_()[at] = whole[at]
        for i, x in enumerate(act_fns(m)):          # so large that they matter
            x.beta.fill_(0.5 - i / 8)
            x.eps.fill_(-1 / 16)
    return cfg, m.eval()


def act_fns(m):
    """xIELU of each block, whose beta and eps are no parameters"""
    return [x for x in m.modules() if type(x).__name__ == 'XIELUActivation']


def kept(cfg, name, shape):
    """the part of a tensor of that shape that the block keeps, as a slice an axis"""
    part = re.fullmatch(r'\w+\.(layers|h)\.(\d+)\.(.*?)(\.weight|\.bias)?', name)
    whole = tuple(slice(n) for n in shape)
    if part is None:
        return whole
    i, what = int(part[2]), part[3]
    if part[1] == 'h':
        return kept_gpt2(cfg, what, shape, KEPT['groups'][i], KEPT['mlp'][i])
    groups, mlp = KEPT['groups'][i], KEPT['mlp'][i]
    # Gemma's post_attention_layernorm normalises the output of attention
    attention = 'self_attn' in what or 'attention.' in what or what in (
        'input_layernorm', 'attention_layernorm') or (
        what == 'post_attention_layernorm' and cfg.model_type in ('gemma3_text', 'exaone4'))
    both = cfg.model_type == 'phi' and what == 'input_layernorm'    # it is read by both
    if not (groups + mlp if both else groups if attention else mlp):
        return tuple(slice(0) for n in shape)
    last = what.split('.')[-1]
    if last == 'gate_up_proj':                      # the first rows of each
        return (torch.cat([torch.arange(mlp), torch.arange(mlp) + cfg.intermediate_size]), whole[1])
    heads = dict(q_proj=2, k_proj=1, v_proj=1, o_proj=2,    # of a group
                 query_key_value=3, dense=2 if cfg.model_type == 'phi' else 1)
    head_dim = getattr(cfg, 'head_dim', cfg.hidden_size // cfg.num_attention_heads)
    n = groups * heads[last] * head_dim if last in heads else mlp
    if last in ('o_proj', 'down_proj', 'dense', 'dense_4h_to_h', 'c_proj', 'fc2'):
        return (whole[0], slice(n)) if len(shape) == 2 else whole
    return (slice(n), *whole[1:]) if last.endswith(('_proj', 'query_key_value', 'dense_h_to_4h', 'c_fc', 'fc1')) else whole


def kept_gpt2(cfg, what, shape, heads, mlp):
    """the same of a block of GPT-2: each of Q, K and V has its first heads"""
    attention = 'attn' in what or what == 'ln_1'
    n = heads * cfg.hidden_size // cfg.num_attention_heads if attention else mlp
    if n == 0:
        return tuple(slice(0) for k in shape)
    if what == 'attn.c_attn':
        last = torch.cat([torch.arange(n) + k * cfg.hidden_size for k in range(3)])
        return (slice(shape[0]), last) if len(shape) == 2 else (last,)
    if what == 'mlp.c_fc':
        return (slice(shape[0]), slice(n)) if len(shape) == 2 else (slice(n),)
    if len(shape) == 2:                             # c_proj
        return slice(n), slice(shape[1])
    return (slice(shape[0]),)


def write_special(o, cfg, p):
    """what llama.cpp's converter writes of one family or kind of RoPE"""
    if cfg.model_type == 'gemma2':
        o.add_attn_logit_softcapping(cfg.attn_logit_softcapping)
        o.add_final_logit_softcapping(cfg.final_logit_softcapping)
    if cfg.model_type == 'olmo3':
        o.add_rope_freq_base_swa(cfg.rope_parameters['sliding_attention']['rope_theta'])
        o.add_sliding_window(cfg.sliding_window)
        o.add_sliding_window_pattern([t == 'sliding_attention' for t in cfg.layer_types])
    if cfg.model_type == 'granite':
        o.add_attention_scale(cfg.attention_multiplier)
        o.add_embedding_scale(cfg.embedding_multiplier)
        o.add_residual_scale(cfg.residual_multiplier)
        o.add_logit_scale(cfg.logits_scaling)
    if cfg.model_type in ('llama', 'mistral', 'ministral'):
        o.add_vocab_size(cfg.vocab_size)
        o.add_rope_dimension_count(cfg.head_dim)
    if cfg.model_type in ('glm', 'glm4'):
        o.add_rope_dimension_count(int(cfg.head_dim * p['partial_rotary_factor']))
    if cfg.model_type == 'phi3':
        o.add_rope_dimension_count(int(cfg.head_dim * p['partial_rotary_factor']))
        o.add_sliding_window(cfg.sliding_window or 0)
        o.add_rope_scaling_orig_ctx_len(cfg.original_max_position_embeddings)
    if p['rope_type'] == 'longrope':
        scale = cfg.max_position_embeddings / p['original_max_position_embeddings']
        o.add_rope_scaling_type(gguf.RopeScalingType.LONGROPE)
        o.add_rope_scaling_attn_factors(
            math.sqrt(1 + math.log(scale) / math.log(p['original_max_position_embeddings'])))
        for k in 'long', 'short':
            o.add_tensor(f'rope_factors_{k}.weight', numpy.float32(p[k + '_factor']))
    if p['rope_type'] == 'linear':
        o.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        o.add_rope_scaling_factor(p['factor'])
    if p['rope_type'] == 'yarn':
        o.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        o.add_rope_scaling_factor(p['factor'] or cfg.max_position_embeddings /
                                  p['original_max_position_embeddings'])
        o.add_rope_scaling_orig_ctx_len(p['original_max_position_embeddings'])
        if p.get('beta_fast') is not None:
            o.add_rope_scaling_yarn_beta_fast(p['beta_fast'])
            o.add_rope_scaling_yarn_beta_slow(p['beta_slow'])
    if cfg.model_type == 'lfm2':
        o.add_vocab_size(cfg.vocab_size)
        o.add_shortconv_l_cache(cfg.conv_L_cache)
    if p['rope_type'] == 'llama3':
        o.add_tensor('rope_freqs.weight', llama3_divisors(cfg))
    if cfg.model_type == 'ministral3':
        o.add_rope_scaling_yarn_log_mul(p['mscale_all_dim'])
        o.add_attn_temperature_scale(p['llama_4_scaling_beta'])


def llama3_divisors(cfg):
    """as llama.cpp's converter makes them, whose context is the original one"""
    p, out = cfg.rope_parameters, []
    for i in range(0, cfg.head_dim, 2):
        wave = 2 * math.pi * p['rope_theta'] ** (i / cfg.head_dim)
        turns = p['original_max_position_embeddings'] / wave
        low, high = p['low_freq_factor'], p['high_freq_factor']
        smooth = min(1, max(0, (turns - low) / (high - low)))
        out.append(1 / ((1 - smooth) / p['factor'] + smooth))
    return numpy.float32(out)


def write_gguf(path, cfg, m):
    """the same model as llama.cpp's converter writes it, matrices in BF16.  None for
    models that have what a GGUF has no key for, such as blocks that differ"""
    if path.endswith(('-cut.gguf', '-sees.gguf', '-published.gguf')):
        return
    arch = {'llama': 'LLAMA', 'mistral': 'LLAMA', 'ministral': 'LLAMA', 'olmo2': 'OLMO2',
            'qwen3_5_text': 'QWEN35', 'qwen2': 'QWEN2', 'qwen3': 'QWEN3', 'gemma3_text': 'GEMMA3',
            'cohere': 'COMMAND_R', 'cohere2': 'COHERE2',
            'gemma': 'GEMMA', 'gemma2': 'GEMMA2', 'olmo3': 'OLMO2', 'granite': 'GRANITE',
            'phi3': 'PHI3', 'ministral3': 'MISTRAL3', 'smollm3': 'SMOLLM3',
            'seed_oss': 'SEED_OSS', 'apertus': 'APERTUS', 'lfm2': 'LFM2',
            'gpt_neox': 'GPTNEOX', 'gpt2': 'GPT2', 'starcoder2': 'STARCODER2', 'phi': 'PHI2', 'glm4': 'GLM4',
            'glm': 'CHATGLM', 'exaone4': 'EXAONE4'}
    if cfg.model_type not in arch or path.endswith('/mistral3.gguf') or (
            cfg.model_type == 'mistral' and cfg.sliding_window) or (
            cfg.model_type == 'ministral' and 'sliding_attention' in cfg.layer_types) or (
            cfg.model_type == 'olmo2' and cfg.rope_parameters['rope_type'] == 'dynamic') or (
            cfg.model_type == 'gemma2' and not (cfg.tie_word_embeddings and cfg.attn_logit_softcapping)) or (
            cfg.model_type in ('gemma', 'cohere', 'cohere2') and not cfg.tie_word_embeddings) or (
            cfg.model_type == 'gpt_neox' and not (cfg.attention_bias and cfg.hidden_act == 'gelu')) or (
            cfg.model_type == 'gpt2' and cfg.activation_function == 'gelu') or (
            cfg.model_type == 'exaone4' and cfg.sliding_window) or (
            cfg.model_type == 'phi' and (cfg.tie_word_embeddings or cfg.hidden_act == 'gelu')) or (
            cfg.model_type == 'starcoder2' and not (
                cfg.use_bias and cfg.hidden_act != 'gelu' and cfg.sliding_window is None)):
        return
    arch = gguf.MODEL_ARCH[arch[cfg.model_type]]
    o = gguf.GGUFWriter(path, gguf.MODEL_ARCH_NAMES[arch])
    o.add_context_length(cfg.max_position_embeddings)
    o.add_embedding_length(cfg.hidden_size)
    o.add_block_count(cfg.num_hidden_layers)
    o.add_feed_forward_length(m.model.layers[0].feed_forward.w1.out_features
                              if cfg.model_type == 'lfm2' else
                              cfg.n_inner or 4 * cfg.n_embd
                              if cfg.model_type == 'gpt2' else cfg.intermediate_size)
    o.add_head_count(cfg.num_attention_heads)
    if cfg.model_type == 'gpt_neox':
        write_neox(o, cfg, m)
        return
    if cfg.model_type == 'gpt2':
        o.add_layer_norm_eps(cfg.layer_norm_epsilon)
        o.add_bos_token_id(cfg.bos_token_id)
        o.add_eos_token_id(cfg.eos_token_id)
        write_tensors(o, arch, cfg, m)
        return
    o.add_head_count_kv([cfg.num_key_value_heads * (t != 'conv') for t in cfg.layer_types]
                        if cfg.model_type == 'lfm2' else cfg.num_key_value_heads)
    o.add_key_length(cfg.head_dim)
    o.add_value_length(cfg.head_dim)
    if cfg.model_type.startswith('cohere'):
        o.add_layer_norm_eps(cfg.layer_norm_eps)
        o.add_logit_scale(cfg.logit_scale)
    elif cfg.model_type == 'starcoder2':
        o.add_layer_norm_eps(cfg.norm_epsilon)
    elif cfg.model_type == 'phi':
        o.add_layer_norm_eps(cfg.layer_norm_eps)
        o.add_rope_dimension_count(int(cfg.head_dim * cfg.rope_parameters['partial_rotary_factor']))
    else:
        o.add_layer_norm_rms_eps(cfg.norm_eps if cfg.model_type == 'lfm2' else cfg.rms_norm_eps)
    p = cfg.rope_parameters
    p = p.get('full_attention', p)
    if arch in (gguf.MODEL_ARCH.GEMMA2, gguf.MODEL_ARCH.GEMMA3, gguf.MODEL_ARCH.COHERE2):
        o.add_sliding_window(cfg.sliding_window)
    o.add_rope_freq_base(p['rope_theta'])
    o.add_bos_token_id(cfg.bos_token_id)
    o.add_eos_token_id(cfg.eos_token_id)
    write_special(o, cfg, p)
    if cfg.model_type == 'qwen3_5_text':
        delta.write_keys(o, cfg)
    names = gguf.get_tensor_name_map(arch, cfg.num_hidden_layers)
    for k in ('alpha_p', 'alpha_n', 'beta', 'eps') if act_fns(m) else ():
        getattr(o, 'add_xielu_' + k)([getattr(x, k).float().item() for x in act_fns(m)])
    for k, p in m.named_parameters():
        if 'act_fn' in k:
            continue
        x = p.detach().float().numpy()
        if 'norm' in k and 'gemma' in cfg.model_type:
            x = x + 1
        if cfg.model_type in ('llama', 'mistral', 'ministral', 'granite', 'ministral3',
                              'smollm3') and re.search('[qk]_proj', k):
            # llama.cpp: rotary pairs become neighbours
            x = x.reshape(-1, 2, cfg.head_dim // 2, x.shape[1]).swapaxes(1, 2).reshape(x.shape)
        if cfg.model_type == 'qwen3_5_text':
            k, x = delta.converted(k, x, cfg)
        if cfg.model_type == 'lfm2' and x.ndim == 3:
            x = x[:, 0]
        name = names.get_name(k, try_suffixes=('.weight', '.bias'))
        if x.ndim == 1 or 'conv1d' in name or 'shortconv.conv' in name:
            o.add_tensor(name, x)
        else:
            o.add_tensor(name, gguf.quantize(x, gguf.GGMLQuantizationType.BF16),
                         raw_dtype=gguf.GGMLQuantizationType.BF16)
    o.write_header_to_file()
    o.write_kv_data_to_file()
    o.write_tensors_to_file()
    o.close()


def write_neox(o, cfg, m):
    """what llama.cpp's converter writes of it after the first keys, and the tensors; it
    puts the rows of each query_key_value in the order Q, K, V"""
    p = cfg.rope_parameters
    o.add_rope_dimension_count(int(
        p['partial_rotary_factor'] * (cfg.hidden_size // cfg.num_attention_heads)))
    o.add_parallel_residual(cfg.use_parallel_residual)
    o.add_layer_norm_eps(cfg.layer_norm_eps)
    o.add_bos_token_id(cfg.bos_token_id)
    o.add_eos_token_id(cfg.eos_token_id)
    if p['rope_theta'] != 1e4:                      # the converter leaves it out
        o.add_rope_freq_base(p['rope_theta'])
    write_special(o, cfg, p)
    write_tensors(o, gguf.MODEL_ARCH.GPTNEOX, cfg, m)


def write_tensors(o, arch, cfg, m):
    names = gguf.get_tensor_name_map(arch, cfg.num_hidden_layers)
    for k, p in m.named_parameters():
        k, x = stored_name(cfg, k), straight(cfg, k, p.detach().float()).contiguous().numpy()
        name = names.get_name(k, try_suffixes=('.weight', '.bias'))
        if x.ndim == 1 or 'wpe' in k:
            o.add_tensor(name, x)
        else:
            o.add_tensor(name, gguf.quantize(x, gguf.GGMLQuantizationType.BF16),
                         raw_dtype=gguf.GGMLQuantizationType.BF16)
    o.write_header_to_file()
    o.write_kv_data_to_file()
    o.write_tensors_to_file()
    o.close()


def lfm2_within_vision(path, text, weights):
    """as transformers writes an LFM2-VL"""
    cfg = transformers.Lfm2VlConfig(
        text_config=text, image_token_id=10, tie_word_embeddings=text['tie_word_embeddings'],
        projector_hidden_size=4, downsample_factor=1,
        vision_config=dict(model_type='siglip2_vision_model', hidden_size=4, patch_size=2,
                           intermediate_size=4, num_hidden_layers=1,
                           num_attention_heads=1, num_patches=4))
    m = transformers.Lfm2VlForConditionalGeneration(cfg).bfloat16()
    got = m.load_state_dict({k.replace('model.', 'model.language_model.', 1): p
                             for k, p in weights.items()}, strict=False)
    assert not got.unexpected_keys
    m.save_pretrained(path)
    os.remove(f'{path}/generation_config.json')


def within_vision(out, name, weights, meta):
    """the model as a part of one that sees images, which has other tensors too"""
    path = f'{out}/{name}/config.json'
    text = json.load(open(path))
    if text['model_type'] == 'qwen3_5_text':
        delta.within_vision(path, text, weights, dict(meta, format='pt'))
        return
    if text['model_type'] == 'lfm2':
        lfm2_within_vision(f'{out}/{name}', text, weights)
        return
    json.dump(dict(architectures=['Mistral3ForConditionalGeneration'],
                   model_type='mistral3', image_token_index=10,
                   tie_word_embeddings=False, vision_config=dict(model_type='pixtral'),
                   text_config=text), open(path, 'w'), indent=2)
    weights = {'language_model.' + k: p for k, p in weights.items()}
    weights['vision_tower.patch_conv.weight'] = torch.zeros(3, 4).bfloat16()
    weights['multi_modal_projector.norm.weight'] = torch.zeros(3).bfloat16()
    st.save(f'{out}/{name}/model.safetensors', weights, dict(meta, format='pt'))


def run(cfg, m):
    """ids, where pieces begin, logits, and the mean cross-entropy"""
    gen = torch.Generator().manual_seed(SEED + 1)
    ids = torch.randint(0, cfg.vocab_size, (2, 20), generator=gen)
    first, logits, ce, n = torch.zeros(2, 20), torch.zeros(2, 20, cfg.vocab_size), 0, 0
    for b, lens in enumerate(ROWS):
        at = 0
        for k in lens:
            if hasattr(m.base_model, 'rotary_emb'):
                # frequencies by length keep those of the longest text so far
                m.base_model.rotary_emb = type(m.base_model.rotary_emb)(cfg)
            z = m(ids[b:b + 1, at:at + k]).logits[0]
            logits[b, at:at + k], first[b, at:at + k] = z.detach().float(), at
            ce = ce - torch.log_softmax(z[:-1], -1).gather(
                1, ids[b, at + 1:at + k, None]).sum()
            at, n = at + k, n + k - 1
    return ids, first, logits, ce / n


def trained(cfg, m):
    """the cross-entropy before each of three steps of AdamW, and after the last;
    blocks' matrices decay"""
    m, path = copy.deepcopy(m), []
    block = [p for k, p in m.named_parameters() if re.search(r'\.(layers|h)\.', k) and (
        p.ndim == 2 or '.experts.' in k) and 'bias' not in k]
    rest = [p for p in m.parameters() if not any(p is x for x in block)]
    opt = torch.optim.AdamW([dict(params=block, weight_decay=0.1), dict(params=rest)],
                            lr=0.01, betas=(0.9, 0.95), eps=1e-8, weight_decay=0)
    for _ in range(3):
        opt.zero_grad()
        path.append(run(cfg, m)[3])
        path[-1].backward()
        opt.step()
    return torch.stack([*path, run(cfg, m)[3]]).detach()


def stored_name(cfg, name):
    """the name that published files have"""
    return name.replace('lm_head', 'embed_out') if cfg.model_type == 'gpt_neox' else name


def straight(cfg, name, x):
    """a tensor of a block as [out, in], with its rows in the order Q, K, V"""
    if cfg.model_type == 'gpt2' and re.search(r'\.c_(attn|proj|fc)\.weight', name):
        return x.T
    if 'query_key_value' not in name:
        return x
    head = 3 * cfg.hidden_size // cfg.num_attention_heads
    x = x.reshape(-1, 3, head // 3, *x.shape[1:])
    return x.transpose(0, 1).reshape(-1, *x.shape[3:])


def published(path, cfg, weights):
    """the keys of a config.json of transformers 4, and tensors of masks and angles"""
    c = json.load(open(path))
    if cfg.model_type == 'gpt2':
        published_gpt2(path, c, weights)
        return
    rope = c.pop('rope_parameters')
    c |= dict(rotary_emb_base=int(rope['rope_theta']), rotary_pct=rope['partial_rotary_factor'],
              torch_dtype='float16')
    keys = ('architectures bos_token_id eos_token_id hidden_act hidden_size initializer_range '
            'intermediate_size layer_norm_eps max_position_embeddings model_type num_attention_heads '
            'num_hidden_layers rotary_emb_base rotary_pct tie_word_embeddings torch_dtype use_cache '
            'use_parallel_residual vocab_size').split()
    json.dump({k: c[k] for k in keys}, open(path, 'w'), indent=2)
    for i in range(cfg.num_hidden_layers):
        at = f'gpt_neox.layers.{i}.attention.'
        weights[at + 'bias'] = torch.ones(1, 1, 8, 8).tril().bool()
        weights[at + 'masked_bias'] = torch.tensor(-1e9)
        weights[at + 'rotary_emb.inv_freq'] = torch.ones(1)


def published_gpt2(path, c, weights):
    """as openai-community/gpt2: names without transformer., masks in float"""
    c['n_ctx'] = c['n_positions']
    keys = ('activation_function architectures attn_pdrop bos_token_id embd_pdrop eos_token_id '
            'initializer_range layer_norm_epsilon model_type n_ctx n_embd n_head n_layer n_positions '
            'resid_pdrop summary_activation summary_first_dropout summary_proj_to_labels '
            'summary_type summary_use_proj vocab_size').split()
    c = {k: c[k] for k in keys} | dict(task_specific_params={
        'text-generation': dict(do_sample=True, max_length=50)})
    json.dump(c, open(path, 'w'), indent=2)
    for k in list(weights):
        weights[k.removeprefix('transformer.')] = weights.pop(k)
    for i in range(c['n_layer']):
        weights[f'h.{i}.attn.bias'] = torch.ones(1, 1, 20, 20).tril()


def golden(out, name):
    cfg, m = make(name)
    ids, first, logits, ce = run(cfg, m)
    losses = trained(cfg, m) if is_trained(name) else None
    ce.backward()
    tensors = dict(ids=ids.to(torch.uint16), first=first.to(torch.uint32), logits=logits)
    if losses is not None:
        tensors['losses'] = losses
    weights = {}
    for k, p in m.named_parameters():
        grad = p.grad[kept(cfg, k, p.shape)] if name.endswith('-cut') else p.grad
        if grad.numel() > 0:
            tensors['grad.' + stored_name(cfg, k)] = straight(cfg, k, grad).float().contiguous()
        weights[stored_name(cfg, k)] = p.detach().bfloat16()
    for k, p in m.named_buffers():
        if 'act_fn' in k:                           # beta and eps, which stay
            weights[k] = p.bfloat16()
            if KEPT['mlp'][int(k.split('.')[2])] or not name.endswith('-cut'):
                tensors['grad.' + k] = torch.zeros(1)
    meta = dict(made_by=f'scripts/oracle/family.py OUTDIR {name}', seed=SEED,
                ce='%.17g' % ce.item(), versions=st.versions(torch, transformers))
    os.makedirs(f'{out}/{name}', exist_ok=True)
    st.save(f'{out}/{name}.safetensors', tensors, meta)
    cfg.architectures = [type(m).__name__]
    cfg.dtype = 'bfloat16'
    if name.endswith('-cut'):
        cfg.retort = KEPT
    cfg.to_json_file(f'{out}/{name}/config.json', use_diff=False)
    write_gguf(f'{out}/{name}.gguf', cfg, m)
    if name in ('mistral3', 'qwen3_5-sees', 'lfm2-sees'):
        within_vision(out, name, weights, meta)
        return
    if name.endswith('-published'):
        published(f'{out}/{name}/config.json', cfg, weights)
    st.save(f'{out}/{name}/model.safetensors', weights, dict(meta, format='pt'))
    reads_back(out, name, m, ids, logits)


def reads_back(out, name, m, ids, logits):
    """transformers as shipped, in float32, comes near"""
    plain = getattr(transformers, type(m).__name__).from_pretrained(
        f'{out}/{name}', dtype=torch.float32, attn_implementation='eager')
    off = (plain(ids[:1]).logits[0] - logits[0]).abs().max().item()
    assert off <= 1e-4 * max(1, logits[0].abs().max().item()), off
    print(name, sum(p.numel() for p in m.parameters()), 'parameters; float32 off by %.1e' % off)


if __name__ == '__main__':
    os.makedirs(sys.argv[1], exist_ok=True)
    for name in sys.argv[2:] or FAMILIES:
        golden(sys.argv[1], name)
