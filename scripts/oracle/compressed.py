"""2:4 matrices in a file, by the compressed-tensors package (up to 0.14; later
ones refuse the format): sparse-24-bitmask.
usage: compressed.py golden tests/golden/compressed
       compressed.py check DENSE COMPRESSED
       compressed.py load COMPRESSED

golden: write DIR/dense, a tiny Llama whose matrices are 2:4, and DIR/packed,
the same compressed by the package, with the config.json that it writes.
check: does the package expand COMPRESSED, which convert --compressed wrote from
DENSE, to the same bytes of every tensor?  Status 1 if not.
load: load it by transformers with the installed package, and print its
messages."""
import json
import os
import shutil
import sys

import torch
from safetensors.torch import load_file, save_file

SEED = 20261123
CONFIG = {
    'architectures': ['LlamaForCausalLM'], 'model_type': 'llama',
    'vocab_size': 13, 'hidden_size': 12, 'intermediate_size': 20,
    'num_hidden_layers': 1, 'num_attention_heads': 2,
    'num_key_value_heads': 1, 'head_dim': 6, 'rms_norm_eps': 1e-5,
    'hidden_act': 'silu', 'max_position_embeddings': 16,
    'tie_word_embeddings': True, 'rope_theta': 10000.0,
    'bos_token_id': None, 'eos_token_id': None}
SHAPES = {'self_attn.q_proj': (12, 12), 'self_attn.k_proj': (6, 12),
          'self_attn.v_proj': (6, 12), 'self_attn.o_proj': (12, 12),
          'mlp.gate_proj': (20, 12), 'mlp.up_proj': (20, 12),
          'mlp.down_proj': (12, 20)}


def compressor():
    from compressed_tensors.compressors import ModelCompressor
    return ModelCompressor.from_compression_config(
        {'quant_method': 'compressed-tensors',
         'sparsity_config': {'format': 'sparse-24-bitmask',
                             'sparsity_structure': '2:4',
                             'targets': ['Linear'], 'ignore': ['lm_head']}})


def golden(out):
    import compressed_tensors
    g = torch.Generator().manual_seed(SEED)
    t = {'model.embed_tokens.weight': torch.randn(13, 12, generator=g),
         'model.norm.weight': torch.randn(12, generator=g)}
    for n in 'input_layernorm', 'post_attention_layernorm':
        t[f'model.layers.0.{n}.weight'] = torch.randn(12, generator=g)
    for name, shape in SHAPES.items():
        w = torch.randn(shape, generator=g)
        keep = w.reshape(-1, 4).abs().topk(2, dim=1).indices
        mask = torch.zeros_like(w.reshape(-1, 4)).scatter_(1, keep, 1.0)
        w = (w.reshape(-1, 4) * mask).reshape(shape) + 0.0  # no -0
        w[1, :8] = 0.0                      # fours with none, and with one
        w[2, 5:8] = 0.0
        t[f'model.layers.0.{name}.weight'] = w.contiguous()
    c = compressor()
    packed = c.sparsity_compressor.compress(
        t, {f'model.layers.0.{n}' for n in SHAPES})
    meta = {'format': 'pt', 'script': 'compressed.py golden',
            'seed': str(SEED), 'torch': torch.__version__,
            'compressed_tensors': compressed_tensors.__version__}
    for kind, tensors in ('dense', t), ('packed', packed):
        d = os.path.join(out, kind)
        shutil.rmtree(d, ignore_errors=True)
        os.makedirs(d)
        save_file({k: v.contiguous() for k, v in tensors.items()},
                  os.path.join(d, 'model.safetensors'), meta)
        with open(os.path.join(d, 'config.json'), 'w') as f:
            json.dump(CONFIG, f, indent=1)
    c.update_config(os.path.join(out, 'packed'))


def check(dense, packed):
    config = json.load(open(os.path.join(packed, 'config.json')))
    sparse = config['retort']['sparse']['tensors']
    targets = config['quantization_config']['sparsity_config']['targets']
    want = load_file(os.path.join(dense, 'model.safetensors'))
    got = dict(compressor().sparsity_compressor.decompress(packed))
    good = sorted(want) == sorted(got) and \
        [t + '.weight' for t in targets] == sparse
    for name in want:
        same = name in got and want[name].dtype == got[name].dtype and \
            torch.equal(want[name].view(torch.uint8),
                        got[name].contiguous().view(torch.uint8))
        good = good and same
        if not same:
            print('differs:', name)
    print(len(want), 'tensors,', len(sparse), 'compressed:',
          'the same bytes' if good else 'NOT the same')
    sys.exit(not good)


def load(path):
    import compressed_tensors
    import transformers
    print('transformers', transformers.__version__, 'compressed-tensors',
          compressed_tensors.__version__)
    m = transformers.AutoModelForCausalLM.from_pretrained(path)
    with torch.no_grad():
        print(m(torch.arange(8)[None]).logits.double().abs().mean().item())


{'golden': golden, 'check': check, 'load': load}[sys.argv[1]](*sys.argv[2:])
