"""Tiny random models of the types in lib/model/config/config_renamed.c, as family.py makes
those of families: logits and gradients in double.
usage: renamed.py OUTDIR [NAME...]            (tests/golden/family)
Names of gradients are those of the family that the type is read as; rows of Q and K
of an ernie4_5 are then in its order, and shared_mlp.input_linear of a
granitemoehybrid is gate_proj and up_proj.  qwen2_5_vl is stored as it was published
first (one flat config.json, names without language_model), qwen3_vl as transformers 5
does it; both have the tensors for images.  glm4_moe_lite: deepseek.py."""
import json
import os
import sys

import torch
import transformers

import family
import st
from family import ODD, SEED, SIZE

VISION = dict(depth=1, hidden_size=8, intermediate_size=8, num_heads=2, out_hidden_size=24,
              patch_size=2, temporal_patch_size=1, in_channels=1)
# RoPE of images has sections of a head, in text all with the same position
ROPE = dict(rope_type='default', rope_theta=1e4, mrope_section=[2, 1, 1])
SEEN = {k: v for k, v in {**SIZE, **ODD}.items() if k != 'head_dim'} | dict(
    hidden_size=48, pad_token_id=None)
MODELS = {
    'ernie4_5': ('ernie4_5', 'Ernie4_5', dict(ODD, tie_word_embeddings=False)),
    'granitemoehybrid': ('granitemoehybrid', 'GraniteMoeHybrid', {
        **{k: v for k, v in {**SIZE, **ODD}.items() if k != 'head_dim'},
        **dict(hidden_size=48, shared_intermediate_size=20, num_local_experts=0,
               num_experts_per_tok=0, layer_types=['full_attention'] * 2,
               position_embedding_type='rope', mamba_n_heads=2, mamba_d_head=48,
               embedding_multiplier=3.0, attention_multiplier=0.5, residual_multiplier=0.7,
               logits_scaling=2.5)}),
    'qwen2_5_vl': ('qwen2_5_vl', 'Qwen2_5_VL', dict(
        SEEN, rope_parameters=ROPE)),
    'qwen3_vl': ('qwen3_vl', 'Qwen3VL', dict(
        SEEN, head_dim=8, hidden_size=24, rope_parameters=ROPE)),
    'youtu': ('youtu', 'Youtu', dict(
        {k: v for k, v in {**SIZE, **ODD}.items() if k != 'head_dim'},
        num_key_value_heads=6, q_lora_rank=10, kv_lora_rank=14, qk_nope_head_dim=6,
        qk_rope_head_dim=4, head_dim=4, v_head_dim=7, rope_parameters=dict(
            rope_type='default', rope_theta=1e4))),
}


def make(name):
    module, cls, more = MODELS[name]
    code = family.double(module)
    if name.endswith('_vl'):
        vision = dict(VISION, deepstack_visual_indexes=[0], num_position_embeddings=4) \
            if name == 'qwen3_vl' else dict(VISION, fullatt_block_indexes=[0], window_size=4)
        cfg = getattr(transformers, cls + 'Config')(
            text_config=more, vision_config=vision, tie_word_embeddings=False)
        cfg._attn_implementation = 'eager'
        m = getattr(code, cls + 'ForConditionalGeneration')(cfg).double()
    else:
        known = {**SIZE, **more} if name == 'ernie4_5' else more
        cfg = getattr(transformers, cls + 'Config')(**known, attn_implementation='eager')
        m = getattr(code, cls + 'ForCausalLM')(cfg).double()
    gen = torch.Generator().manual_seed(SEED)
    with torch.no_grad():
        for n, p in m.named_parameters():
            x = 0.3 * torch.randn(p.shape, generator=gen)
            x = x if p.ndim > 1 or 'bias' in n else 1 + x / 3
            p.copy_(x.bfloat16().double())
    return cfg, m.eval()


def renamed(name, cfg, k, x):
    """the gradient x of tensor k as tensors of the family"""
    if name == 'ernie4_5' and ('q_proj' in k or 'k_proj' in k):
        x = x.unflatten(0, (-1, cfg.head_dim // 2, 2)).transpose(1, 2).reshape(x.shape)
    if 'input_linear' in k:
        return dict(zip((k.replace('shared_mlp.input_linear', f'mlp.{part}_proj')
                         for part in ('gate', 'up')), x.chunk(2)))
    k = k.replace('shared_mlp.output_linear', 'mlp.down_proj')
    return {k.replace('model.language_model.', 'model.'): x}


def golden(out, name):
    cfg, m = make(name)
    text = cfg.get_text_config()
    ids, first, logits, ce = family.run(text, m)
    losses = family.trained(text, m)
    ce.backward()
    tensors = dict(ids=ids.to(torch.uint16), first=first.to(torch.uint32), logits=logits,
                   losses=losses)
    weights = {}
    for k, p in m.named_parameters():
        if p.grad is not None and 'visual' not in k:
            tensors |= {'grad.' + a: b.float().contiguous()
                        for a, b in renamed(name, cfg, k, p.grad).items()}
        stored = k
        if name == 'qwen2_5_vl':
            stored = k.replace('model.language_model.', 'model.').replace('model.visual.', 'visual.')
        weights[stored] = p.detach().bfloat16()
    meta = dict(made_by=f'scripts/oracle/renamed.py OUTDIR {name}', seed=SEED,
                ce='%.17g' % ce.item(), versions=st.versions(torch, transformers))
    os.makedirs(f'{out}/{name}', exist_ok=True)
    st.save(f'{out}/{name}.safetensors', tensors, meta)
    cfg.architectures = [type(m).__name__]
    cfg.dtype = 'bfloat16'
    cfg.to_json_file(f'{out}/{name}/config.json', use_diff=False)
    if name == 'qwen2_5_vl':
        flat(f'{out}/{name}/config.json')
    st.save(f'{out}/{name}/model.safetensors', weights, dict(meta, format='pt'))
    family.reads_back(out, name, m, ids, logits)


def flat(path):
    """config.json as transformers 4 wrote it"""
    j = json.load(open(path))
    text = j.pop('text_config')
    text.pop('model_type')
    rope = text.pop('rope_parameters')
    text |= dict(rope_theta=rope.pop('rope_theta'), torch_dtype=text.pop('dtype'), rope_scaling=dict(
        type='mrope', mrope_section=rope['mrope_section']))
    for k in 'layer_types', 'tie_word_embeddings', 'architectures', 'transformers_version':
        text.pop(k, None)
    json.dump(text | j, open(path, 'w'), indent=2)


if __name__ == '__main__':
    os.makedirs(sys.argv[1], exist_ok=True)
    for name in sys.argv[2:] or MODELS:
        golden(sys.argv[1], name)
