"""Tiny random models of each family, their logits and gradients in double.
usage: family.py OUTDIR [NAME...]             (tests/golden/family)
Writes OUTDIR/NAME/ (config.json as transformers writes it, model.safetensors in
bfloat16), OUTDIR/NAME.gguf where the family has one, and OUTDIR/NAME.safetensors:
  ids u16 [2,20]; first u32 [2,20]: where in its row each token's piece begins
  logits F32 [2,20,V]
  grad.X F32: gradient of the mean cross-entropy of the next token, over the
    positions whose next token is in the same piece; if the model's blocks keep
    less than X, only the part kept, and no tensor if that is nothing
Each piece is a forward pass of its own through transformers' eager code, in
whose source every float32 is replaced by float64."""
import importlib
import inspect
import json
import os
import re
import sys
import types

import gguf
import torch
import transformers

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
    'qwen2': ('qwen2', 'Qwen2', dict(max_position_embeddings=64, rope_theta=1e6)),
    'qwen3': ('qwen3', 'Qwen3', dict(
        max_position_embeddings=64, tie_word_embeddings=True)),
    # blocks 0 to 4 attend within the window, with their own RoPE base; the scale of
    # scores is not that of head_dim, which a GGUF cannot say
    'gemma3': ('gemma3', 'Gemma3Text', dict(
        max_position_embeddings=64, num_hidden_layers=6, intermediate_size=8,
        sliding_window=5, query_pre_attn_scalar=11)),
}
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
}


def double(module):
    """transformers' module with float64 for float32"""
    m = importlib.import_module(f'transformers.models.{module}.modeling_{module}')
    src = re.sub(r'torch\.float(32)?\b', 'torch.float64', inspect.getsource(m))
    src = src.replace('.float()', '.double()')
    new = types.ModuleType(m.__name__ + '_double')
    new.__package__, new.__file__ = m.__package__, m.__file__
    sys.modules[new.__name__] = new
    exec(compile(src, new.__name__, 'exec'), new.__dict__)
    return new


def make(name):
    module, cls, more = FAMILIES[name]
    cfg = getattr(transformers, cls + 'Config')(
        **{**SIZE, **more}, attn_implementation='eager')
    m = getattr(double(module), cls.removesuffix('Text') + 'ForCausalLM')(cfg).double()
    gen = torch.Generator().manual_seed(SEED)
    with torch.no_grad():
        for n, p in m.named_parameters():
            x = torch.randn(p.shape, generator=gen)
            x = 0.3 * x if p.ndim == 2 or 'bias' in n else 0.1 * x
            if p.ndim == 1 and 'bias' not in n and 'Gemma' not in cls:
                x = 1 + x                           # norms
            p.copy_(x.bfloat16().double())
            if name.endswith('-cut'):
                whole = p.clone()
                at = kept(cfg, n, p.shape)
                p.zero_()[at] = whole[at]
    return cfg, m.eval()


def kept(cfg, name, shape):
    """the part of a tensor of that shape that the block keeps, as a slice an axis"""
    part = re.fullmatch(r'model\.layers\.(\d+)\.(.*)\.(weight|bias)', name)
    whole = tuple(slice(n) for n in shape)
    if part is None:
        return whole
    i, what = int(part[1]), part[2]
    groups, mlp = KEPT['groups'][i], KEPT['mlp'][i]
    # Gemma's post_attention_layernorm normalises the output of attention
    attention = 'self_attn' in what or what == 'input_layernorm' or (
        what == 'post_attention_layernorm' and 'gemma3' in cfg.model_type)
    if not (groups if attention else mlp):
        return tuple(slice(0) for n in shape)
    heads = dict(q_proj=2, k_proj=1, v_proj=1, o_proj=2)    # of a group
    last = what.split('.')[-1]
    n = groups * heads[last] * cfg.head_dim if last in heads else mlp
    if last in ('o_proj', 'down_proj'):
        return whole[0], slice(n)
    return (slice(n), *whole[1:]) if last.endswith('_proj') else whole


def write_gguf(path, cfg, m):
    """the same model as llama.cpp's converter writes it, matrices in BF16.  None
    for mistral, whose GGUF is llama's: gguf_small.py writes those; nor for models
    whose blocks differ, which a GGUF cannot say"""
    if path.endswith('-cut.gguf'):
        return
    arch = {'qwen2': 'QWEN2', 'qwen3': 'QWEN3', 'gemma3_text': 'GEMMA3'}.get(cfg.model_type)
    if arch is None:
        return
    arch = gguf.MODEL_ARCH[arch]
    o = gguf.GGUFWriter(path, gguf.MODEL_ARCH_NAMES[arch])
    o.add_context_length(cfg.max_position_embeddings)
    o.add_embedding_length(cfg.hidden_size)
    o.add_block_count(cfg.num_hidden_layers)
    o.add_feed_forward_length(cfg.intermediate_size)
    o.add_head_count(cfg.num_attention_heads)
    o.add_head_count_kv(cfg.num_key_value_heads)
    o.add_key_length(cfg.head_dim)
    o.add_value_length(cfg.head_dim)
    o.add_layer_norm_rms_eps(cfg.rms_norm_eps)
    p = cfg.rope_parameters
    if arch == gguf.MODEL_ARCH.GEMMA3:
        o.add_sliding_window(cfg.sliding_window)
    o.add_rope_freq_base(p.get('full_attention', p)['rope_theta'])
    o.add_bos_token_id(cfg.bos_token_id)
    o.add_eos_token_id(cfg.eos_token_id)
    names = gguf.get_tensor_name_map(arch, cfg.num_hidden_layers)
    for k, p in m.named_parameters():
        x = p.detach().float().numpy()
        if 'norm' in k and arch == gguf.MODEL_ARCH.GEMMA3:
            x = x + 1
        name = names.get_name(k, try_suffixes=('.weight', '.bias'))
        if x.ndim == 1:
            o.add_tensor(name, x)
        else:
            o.add_tensor(name, gguf.quantize(x, gguf.GGMLQuantizationType.BF16),
                         raw_dtype=gguf.GGMLQuantizationType.BF16)
    o.write_header_to_file()
    o.write_kv_data_to_file()
    o.write_tensors_to_file()
    o.close()


def golden(out, name):
    cfg, m = make(name)
    gen = torch.Generator().manual_seed(SEED + 1)
    ids = torch.randint(0, cfg.vocab_size, (2, 20), generator=gen)
    first, logits, ce, n = torch.zeros(2, 20), torch.zeros(2, 20, cfg.vocab_size), 0, 0
    for b, lens in enumerate(ROWS):
        at = 0
        for k in lens:
            z = m(ids[b:b + 1, at:at + k]).logits[0]
            logits[b, at:at + k], first[b, at:at + k] = z.detach().float(), at
            ce = ce - torch.log_softmax(z[:-1], -1).gather(
                1, ids[b, at + 1:at + k, None]).sum()
            at, n = at + k, n + k - 1
    (ce / n).backward()
    tensors = dict(ids=ids.to(torch.uint16), first=first.to(torch.uint32), logits=logits)
    weights = {}
    for k, p in m.named_parameters():
        grad = p.grad[kept(cfg, k, p.shape)] if name.endswith('-cut') else p.grad
        if grad.numel() > 0:
            tensors['grad.' + k] = grad.float().contiguous()
        weights[k] = p.detach().bfloat16()
    meta = dict(made_by=f'scripts/oracle/family.py OUTDIR {name}', seed=SEED,
                ce='%.17g' % (ce / n).item(), versions=st.versions(torch, transformers))
    os.makedirs(f'{out}/{name}', exist_ok=True)
    st.save(f'{out}/{name}.safetensors', tensors, meta)
    st.save(f'{out}/{name}/model.safetensors', weights, dict(meta, format='pt'))
    write_gguf(f'{out}/{name}.gguf', cfg, m)
    cfg.architectures = [type(m).__name__]
    cfg.dtype = 'bfloat16'
    if name.endswith('-cut'):
        cfg.retort = KEPT
    cfg.to_json_file(f'{out}/{name}/config.json', use_diff=False)
    # transformers as shipped, in float32, comes near
    plain = getattr(transformers, type(m).__name__).from_pretrained(
        f'{out}/{name}', dtype=torch.float32, attn_implementation='eager')
    off = (plain(ids[:1]).logits[0] - logits[0]).abs().max().item()
    assert off <= 1e-4, off
    print(name, sum(p.numel() for p in m.parameters()), 'parameters; float32 off by %.1e' % off)


os.makedirs(sys.argv[1], exist_ok=True)
for name in sys.argv[2:] or FAMILIES:
    golden(sys.argv[1], name)
