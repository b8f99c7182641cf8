"""Qwen 3.5 and Qwen3-Next (gated delta rule) in tiny models: initial values and GGUF,
for family.py and experts.py.
The GGUF is as llama.cpp's converter writes it (conversion/qwen.py: Qwen3NextModel,
_LinearAttentionVReorderBase)."""
import json
import os

import numpy
import torch

import st

# with key heads of 6 some keys are so short that gradients in float32 are off by
# more than 1e-4
BLOCKS = dict(num_hidden_layers=3, linear_num_key_heads=2, linear_num_value_heads=4,
              linear_key_head_dim=12, linear_value_head_dim=10, layer_types=[
                  'linear_attention', 'full_attention', 'linear_attention'])


def initial(name, x):
    """values of tensor `name` from normal numbers x: states that last some tokens"""
    if name.endswith('A_log'):
        return x - 1
    if 'conv1d' in name:
        return 0.5 * x
    return 1 + 0.1 * x if name.endswith('linear_attn.norm.weight') else 0.1 * x


def write_keys(o, cfg):
    o.add_ssm_conv_kernel(cfg.linear_conv_kernel_dim)
    o.add_ssm_state_size(cfg.linear_key_head_dim)
    o.add_ssm_group_count(cfg.linear_num_key_heads)
    o.add_ssm_time_step_rank(cfg.linear_num_value_heads)
    o.add_ssm_inner_size(cfg.linear_value_head_dim * cfg.linear_num_value_heads)
    o.add_array(f'{o.arch}.attention.recurrent_layers',
                [t == 'linear_attention' for t in cfg.layer_types])
    o.add_full_attention_interval(4)
    part = cfg.rope_parameters.get('partial_rotary_factor', 0.25)
    o.add_rope_dimension_count(int(cfg.head_dim * part))
    if cfg.model_type != 'qwen3_next':
        o.add_rope_dimension_sections([11, 11, 10, 0])


def tiled(x, cfg, axis, size):
    """value heads of `size` elements along the axis: the first one of each key head,
    then the second ones, ..."""
    n, of = cfg.linear_num_key_heads, cfg.linear_num_value_heads
    s = x.shape
    x = x.reshape(*s[:axis], n, of // n, size, *s[axis + 1:])
    return numpy.ascontiguousarray(x.swapaxes(axis, axis + 1)).reshape(s)


def straight(name, x, cfg):
    """a tensor of qwen3_next with the rows of all key heads' q, then k, then v, then z
    (or b, then a); in files those of the first key head come first"""
    heads = cfg.linear_num_key_heads
    v = cfg.linear_num_value_heads // heads * cfg.linear_value_head_dim
    if 'in_proj_qkvz' in name:
        size = [cfg.linear_key_head_dim] * 2 + [v, v]
    elif 'in_proj_ba' in name:
        size = [cfg.linear_num_value_heads // heads] * 2
    else:
        return x
    parts = torch.as_tensor(x).reshape(heads, sum(size), -1).split(size, 1)
    return torch.cat([p.reshape(-1, x.shape[1]) for p in parts])


def converted_next(name, x, cfg):
    """converted() of a qwen3_next, whose value heads keep their order: [name, values]s"""
    if name.endswith('A_log'):
        return [(name, -numpy.exp(x))]
    if 'in_proj_qkvz' in name:
        x = straight(name, x, cfg).numpy()
        n = len(x) - cfg.linear_num_value_heads * cfg.linear_value_head_dim
        return [(name.replace('qkvz', 'qkv'), x[:n]), (name.replace('qkvz', 'z'), x[n:])]
    if name.endswith('dt_bias'):
        return [(name.replace('dt_bias', 'dt_proj.bias'), x)]
    if 'conv1d' in name:
        return [(name, x[:, 0])]
    return [(name, x + (name.endswith('norm.weight') and 'linear_attn' not in name))]


def converted(name, x, cfg):
    """the name and values in a GGUF of tensor `name` of transformers"""
    keys = 2 * cfg.linear_num_key_heads * cfg.linear_key_head_dim
    size = cfg.linear_value_head_dim
    if name.endswith('A_log'):
        return name, tiled(-numpy.exp(x), cfg, 0, 1)
    if name.endswith('dt_bias'):
        return name.replace('dt_bias', 'dt_proj.bias'), tiled(x, cfg, 0, 1)
    if 'conv1d' in name:
        x = x[:, 0]
    if 'conv1d' in name or 'in_proj_qkv' in name:
        return name, numpy.concatenate([x[:keys], tiled(x[keys:], cfg, 0, size)])
    if 'in_proj_z' in name:
        return name, tiled(x, cfg, 0, size)
    if 'in_proj_' in name:
        return name, tiled(x, cfg, 0, 1)
    if 'linear_attn.out_proj' in name:
        return name, tiled(x, cfg, 1, size)
    if name.endswith('norm.weight') and 'linear_attn' not in name:
        return name, x + 1
    return name, x


def within_vision(path, text, weights, meta):
    """the model as a part of one that sees images and predicts further tokens"""
    whole = text['model_type'].removesuffix('_text')
    json.dump(dict(architectures=[text['architectures'][0].replace(
                       'CausalLM', 'ConditionalGeneration')],
                   model_type=whole, image_token_id=10, tie_word_embeddings=False,
                   vision_config=dict(model_type=whole), text_config=dict(
                       text, mtp_num_hidden_layers=1, attn_output_gate=True,
                       full_attention_interval=4, mamba_ssm_dtype='float32')),
              open(path, 'w'), indent=2)
    weights = {k.replace('model.', 'model.language_model.', 1): p
               for k, p in weights.items()}
    for k in 'model.visual.pos_embed.weight', 'mtp.fc.weight':
        weights[k] = torch.zeros(3, 4).bfloat16()
    st.save(os.path.dirname(path) + '/model.safetensors', weights, meta)
