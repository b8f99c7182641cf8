"""Tiny random models of gpt-oss, their logits, choices and gradients in double.
usage: gpt_oss.py OUTDIR                      (tests/golden/experts)
       gpt_oss.py --sweep OUTDIR build/tests/model/experts
Writes gpt_oss (experts in bfloat16) and gpt_oss-mxfp4 (blocks and scales): a
folder as transformers saves it, a GGUF of the second as llama.cpp's converter
writes it, and NAME.safetensors as experts.py, in which a gradient of gate_up_proj
or down_proj is a tensor for each matrix of an expert, [outputs, inputs], and one
of a bias is [E, outputs]; gate and up apart.  Routers' weights and sinks are large,
so that no two experts are equal and sinks matter; so are the experts' gates and
ups, so that some are beyond swiglu_limit.
--sweep makes other configurations and lets the test compare them."""
import os
import re
import sys

import gguf
import numpy as np
import torch
import transformers

import experts
import st
from family import SEED, double, trained

E, K, L = 5, 2, 2
# the corners of yarn lie between two dimensions, at 1.07 and 2.41 of 0..3
YARN = dict(rope_type='yarn', rope_theta=1e3, factor=4.0, beta_fast=0.2,
            beta_slow=0.02, truncate=False, original_max_position_embeddings=8)
SIZE = dict(vocab_size=47, num_hidden_layers=L, num_attention_heads=6,
            num_key_value_heads=2, head_dim=8, sliding_window=5,
            max_position_embeddings=64, bos_token_id=1, eos_token_id=2,
            pad_token_id=None, num_local_experts=E, num_experts_per_tok=K,
            rope_parameters=YARN)
MODELS = {'gpt_oss': dict(SIZE, hidden_size=24, intermediate_size=12),
          'gpt_oss-mxfp4': dict(SIZE, hidden_size=32, intermediate_size=32)}
MXFP4 = gguf.GGMLQuantizationType.MXFP4
BF16 = gguf.GGMLQuantizationType.BF16


def parts(name, x):
    """gate and up, or down, of all experts as [E, outputs, inputs] or [E, outputs]"""
    if not name.endswith('_bias'):
        x = x.transpose(1, 2)
    return ({'gate': x[:, ::2], 'up': x[:, 1::2]} if 'gate_up' in name else {'down': x})


def joined(name, of):
    """the opposite"""
    x = of['down'] if 'down' in of else torch.stack(
        [of['gate'], of['up']], 2).flatten(1, 2)
    return x if name.endswith('_bias') else x.transpose(1, 2).contiguous()


def rounded(x):
    """to MXFP4: gguf's bytes [E, rows, blocks, 17] and values"""
    raw = gguf.quantize(np.ascontiguousarray(x.float().numpy()), MXFP4)
    value = torch.tensor(gguf.dequantize(raw, MXFP4)).double()
    return raw.reshape(*x.shape[:2], -1, 17), value


def make(name):
    cfg = transformers.GptOssConfig(**MODELS[name], attn_implementation='eager')
    cfg._experts_implementation = 'eager'
    m = double('gpt_oss').GptOssForCausalLM(cfg).double()
    gen = torch.Generator().manual_seed(SEED)
    with torch.no_grad():
        for n, p in m.named_parameters():
            x = torch.randn(p.shape, generator=gen)
            by = (3 if 'router' in n else 2 if 'sinks' in n else
                  0.9 if 'gate_up_proj' in n else 0.1 if n.endswith('down_proj') else 0.3)
            x = 1 + 0.1 * x if 'norm' in n else by * x
            x = x.bfloat16().double()
            if 'mxfp4' in name and re.search(r'experts\.\w+_proj$', n):
                x = joined(n, {k: rounded(v)[1] for k, v in parts(n, x).items()})
            p.copy_(x)
    return cfg, m.eval()


def split(name, x):
    """a gradient by the names of its parts"""
    at = re.match(r'(.*mlp\.experts\.)\w+_proj(_bias)?$', name)
    if not at:
        return {name: x}
    if at[2]:
        return {f'{at[1]}{k}_proj.bias': v for k, v in parts(name, x).items()}
    return {f'{at[1]}{e}.{k}_proj.weight': v[e] for k, v in parts(name, x).items()
            for e in range(E)}


def weights(name, m):
    """the tensors of model.safetensors"""
    out = {}
    for n, p in m.named_parameters():
        if 'mxfp4' not in name or not re.search(r'experts\.\w+_proj$', n):
            out[n] = p.detach().bfloat16().contiguous()
            continue
        raw = {k: rounded(v)[0] for k, v in parts(n, p.detach()).items()}
        raw = (np.stack([raw['gate'], raw['up']], 2).reshape(E, -1, *raw['up'].shape[2:])
               if 'up' in raw else raw['down'])
        codes = np.concatenate([raw[..., 1:] & 15, raw[..., 1:] >> 4], -1)
        out[n + '_blocks'] = torch.tensor(codes[..., ::2] | codes[..., 1::2] << 4)
        out[n + '_scales'] = torch.tensor(raw[..., 0].copy())
    return out


def write_gguf(path, cfg, m):
    o = experts.begin_gguf(path, 'gpt-oss', cfg)
    o.add_head_count_kv(cfg.num_key_value_heads)
    o.add_key_length(cfg.head_dim)
    o.add_value_length(cfg.head_dim)
    o.add_layer_norm_rms_eps(cfg.rms_norm_eps)
    o.add_rope_freq_base(YARN['rope_theta'])
    o.add_rope_scaling_type(gguf.RopeScalingType.YARN)
    o.add_rope_scaling_factor(YARN['factor'])
    o.add_rope_scaling_orig_ctx_len(YARN['original_max_position_embeddings'])
    o.add_rope_scaling_yarn_beta_fast(YARN['beta_fast'])
    o.add_rope_scaling_yarn_beta_slow(YARN['beta_slow'])
    o.add_sliding_window(cfg.sliding_window)
    o.add_expert_count(E)
    o.add_expert_used_count(K)
    o.add_expert_feed_forward_length(cfg.intermediate_size)
    o.add_bos_token_id(cfg.bos_token_id)
    o.add_eos_token_id(cfg.eos_token_id)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.GPT_OSS, L)
    for n, p in m.named_parameters():
        p = p.detach()
        at = re.match(r'model\.layers\.(\d+)\.mlp\.experts\.\w+_proj(_bias)?$', n)
        for k, v in (parts(n, p) if at else {}).items():
            to = f'blk.{at[1]}.ffn_{k}_exps.'
            if at[2]:
                o.add_tensor(to + 'bias', np.ascontiguousarray(v.float().numpy()))
            else:
                o.add_tensor(to + 'weight', rounded(v)[0].reshape(*v.shape[:2], -1),
                             raw_dtype=MXFP4)
        if not at:
            x, n = p.float().numpy(), n.replace('sinks', 'sinks.weight')
            to = names.get_name(n, try_suffixes=('.weight', '.bias'))
            if x.ndim == 1 or 'router' in n:
                o.add_tensor(to, x)
            else:
                o.add_tensor(to, gguf.quantize(x, BF16), raw_dtype=BF16)
    experts.end_gguf(o)


def forward(m, ids):
    """logits, and the router's logits of each block"""
    seen = {}
    hooks = [part.register_forward_hook(
        lambda _, x, out, n=n: seen.__setitem__(int(n.split('.')[2]), out[0]))
        for n, part in m.named_modules() if n.endswith('.mlp.router')]
    z = m(ids).logits[0]
    for h in hooks:
        h.remove()
    return z, seen


def golden(out, name):
    cfg, m = make(name)
    ids, first, logits, ce, n, aux, tensors = experts.run_rows(
        m, forward, cfg.vocab_size, E, K)
    if name == 'gpt_oss':
        tensors['losses'] = trained(cfg, m)
    (ce / n).backward(retain_graph=True)
    for key, p in m.named_parameters():
        tensors |= {'grad.' + a: g.float().contiguous()
                    for a, g in split(key, p.grad).items()}
    m.zero_grad()
    sum(20 * a for a in aux).backward()
    tensors |= {'aux.' + key: p.grad.float() for key, p in m.named_parameters()
                if '.router.' in key}
    tensors |= dict(ids=ids.to(torch.uint16), first=first.to(torch.uint32), logits=logits,
                    aux=torch.stack(aux).detach())
    meta = dict(made_by='scripts/oracle/gpt_oss.py OUTDIR', seed=SEED,
                ce='%.17g' % (ce / n).item(), versions=st.versions(torch, transformers))
    os.makedirs(f'{out}/{name}', exist_ok=True)
    st.save(f'{out}/{name}.safetensors', tensors, meta)
    st.save(f'{out}/{name}/model.safetensors', weights(name, m), dict(meta, format='pt'))
    cfg.architectures = [type(m).__name__]
    cfg.dtype = 'bfloat16'
    if 'mxfp4' in name:
        cfg.quantization_config = dict(quant_method='mxfp4', modules_to_not_convert=[
            'model.layers.*.self_attn', 'model.layers.*.mlp.router',
            'model.embed_tokens', 'lm_head'])
        write_gguf(f'{out}/{name}.gguf', cfg, m)
    cfg.to_json_file(f'{out}/{name}/config.json', use_diff=False)
    experts.reads_back(f'{out}/{name}', m, ids, logits, **(
        dict(quantization_config=transformers.Mxfp4Config(dequantize=True))
        if 'mxfp4' in name else {}))


def sweep(out, test):
    base, wide = MODELS['gpt_oss'], MODELS['gpt_oss-mxfp4']
    full = ['full_attention'] * 2
    more = {
        'tied': dict(base, tie_word_embeddings=True),
        'plain-rope': dict(base, rope_parameters=dict(rope_type='default', rope_theta=1e4)),
        'class-rope': dict({k: v for k, v in base.items() if k != 'rope_parameters'},
                           max_position_embeddings=131072),
        'truncated': dict(base, rope_parameters=dict(YARN, truncate=True)),
        'factor': dict(base, rope_parameters=dict(YARN, attention_factor=0.8)),
        'linear': dict(base, rope_parameters=dict(rope_type='linear', rope_theta=1e4,
                                                  factor=3.0)),
        'all-full': dict(base, layer_types=full),
        'turned': dict(base, layer_types=['full_attention', 'sliding_attention']),
        'one-head': dict(base, num_key_value_heads=6),
        'odd-head': dict(base, num_attention_heads=3, num_key_value_heads=1, head_dim=12),
        'mxfp4-tied': dict(wide, tie_word_embeddings=True),
        'mxfp4-wide': dict(wide, intermediate_size=96),
        'mxfp4-plain': dict(wide, rope_parameters=dict(rope_type='default',
                                                       rope_theta=1e4)),
    }
    failed = 0
    for name in more:
        MODELS[name] = more[name]
        golden(f'{out}/tests/golden/experts', name)
        failed += experts.compare(test, out, name)
    sys.exit(failed > 0)


if __name__ == '__main__':
    experts.main(MODELS, golden, sweep)
