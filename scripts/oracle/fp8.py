"""Tiny random models stored in FP8 (E4M3), and their logits in double.
usage: fp8.py OUTDIR                       (tests/golden/fp8)
Writes OUTDIR/NAME/ as models are published, and OUTDIR/NAME.safetensors with ids,
first and logits as family.py, by transformers' code in double with the weights that
transformers makes with dequantize=True.
  blocks   qwen3: weight_scale_inv of blocks of 24 x 24, as DeepSeek V3 and Qwen3-FP8
           have them of 128 x 128
  tensor   llama: one scale a tensor, the MLP's called weight_scale, as in files of
           modelopt; a scale of activations, which means nothing here
  experts  qwen3_moe: blocks in each expert
The weights have blocks of very different size, so that scales matter."""
import os
import sys

import torch
import transformers
from safetensors.torch import load_file, save_file

import experts
import family
import st
from family import SEED, SIZE

BASE = {**SIZE, **family.ODD, **dict(hidden_size=48, head_dim=12, num_attention_heads=4,
                                     num_key_value_heads=2, intermediate_size=72)}
MODELS = {
    'blocks': ('qwen3', 'Qwen3', BASE, (24, 24)),
    'tensor': ('llama', 'Llama', dict(BASE, tie_word_embeddings=True), None),
    'experts': ('qwen3_moe', 'Qwen3Moe', dict(
        BASE, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=48,
        norm_topk_prob=True), (24, 24)),
}


def quantised(name, x, block, gen):
    """x as FP8 and its scales, and the weights that they mean"""
    rows, cols = block or x.shape
    x = x.float().unflatten(0, (-1, rows)).unflatten(2, (-1, cols))
    x = x * (1 + 3 * torch.rand(x.shape[0], 1, x.shape[2], 1, generator=gen))
    scale = x.abs().amax((1, 3), keepdim=True) / 448
    q = (x / scale).to(torch.float8_e4m3fn)
    whole = (q.float() * scale).flatten(2).flatten(0, 1)
    scale = scale[:, 0, :, 0] if block else scale.reshape(())
    return q.flatten(2).flatten(0, 1), scale.contiguous(), whole


def golden(out, name):
    module, cls, more, block = MODELS[name]
    cfg, m, gen = experts.random_model(module, cls, more, 10)
    weights = {}
    with torch.no_grad():
        for k, p in m.named_parameters():
            stored = experts.stored(cfg, k, p.detach())
            for key, x in stored.items():
                if not key.endswith('_proj.weight'):
                    weights[key] = x.bfloat16().contiguous()
                    continue
                q, scale, whole = quantised(key, x, block, gen)
                x.copy_(whole.double())
                weights |= {key: q, key + '_scale_inv': scale}
                if not block:
                    weights[key.replace('.weight', '.activation_scale')] = torch.tensor(0.5)
    ids, first, logits, _ = family.run(cfg, m)
    path = f'{out}/{name}'
    os.makedirs(path, exist_ok=True)
    meta = dict(made_by='scripts/oracle/fp8.py OUTDIR', seed=SEED,
                versions=st.versions(torch, transformers))
    st.save(f'{path}.safetensors', dict(ids=ids.to(torch.uint16), first=first.to(torch.uint32),
                                        logits=logits), meta)
    save_file(weights, f'{path}/model.safetensors', dict(format='pt'))
    cfg.architectures = [type(m).__name__]
    cfg.dtype = 'bfloat16'
    cfg.quantization_config = dict(
        quant_method='fp8', activation_scheme='dynamic' if block else 'static', fmt='e4m3',
        weight_block_size=block, modules_to_not_convert=['lm_head', 'gate'])
    cfg.to_json_file(f'{path}/config.json', use_diff=False)
    how = transformers.FineGrainedFP8Config(weight_block_size=block, dequantize=True,
        modules_to_not_convert=['lm_head', 'gate'])
    experts.reads_back(path, m, ids, logits, quantization_config=how)
    if not block:
        rename(f'{path}/model.safetensors')


def rename(path):
    weights = load_file(path)
    weights = {k.replace('weight_scale_inv', 'weight_scale') if '.mlp.' in k else k: v
               for k, v in weights.items()}
    save_file(weights, path, dict(format='pt'))


if __name__ == '__main__':
    for name in MODELS:
        golden(sys.argv[1], name)
