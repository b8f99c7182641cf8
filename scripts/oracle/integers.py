"""Logits of tiny quantised models whose activations are rounded to 8 bits.
usage: integers.py GGUFDIR OUT                (tests/golden/gguf, .../integers)
Writes OUT/logits.safetensors, and OUT/mixture.gguf with OUT/mixture.safetensors.

The network is llama_ref.py's, in double precision, on the weights that gguf
dequantises.  Before each product a row x is replaced, in blocks of 16, by
d round(x / d), d = max |x| / 127 in float32: what kern/int.h computes but for
the rounding of sums.  Logits after each of 40 ids, NAME of NAME.gguf.  The mixture
is transformers' Qwen3MoeForCausalLM, whose router alone gets rows as they are."""
import importlib.metadata
import sys

import gguf
import numpy as np
import torch
import transformers

import experts
import gguf_small as S
import llama_ref as R
import st

SEED = 11
NAMES = ['q4_0', 'q4_1', 'q8_0']


def rounded(x):
    b = x.reshape(*x.shape[:-1], -1, 16)
    d = (b.abs().amax(-1, keepdim=True).float() / 127).double()
    return (torch.round(b / d) * d).reshape(x.shape)


class Turned:
    """the transpose of a matrix, by which rounded rows are multiplied"""

    def __init__(self, w):
        self.w = w

    @classmethod
    def __torch_function__(cls, fn, types, args=(), kwargs=None):
        assert fn in (torch.Tensor.matmul, torch.Tensor.__matmul__)
        return rounded(args[0]) @ args[1].w.T


class Matrix:
    def __init__(self, w):
        self.w, self.T = w, Turned(w)

    def __getitem__(self, ids):
        return self.w[ids]


def unpermute(w, heads):
    return (w.reshape(heads, w.shape[0] // heads // 2, 2, w.shape[1])
            .swapaxes(1, 2).reshape(w.shape))


def read(path):
    back = {S.gguf_name(n + '.weight'): n + '.weight' for n in
            ['model.embed_tokens', 'model.norm', 'lm_head'] +
            [f'model.layers.{i}.{n}' for i in range(2) for n in S.NAMES]}
    w = {}
    for t in gguf.GGUFReader(path).tensors:
        x = gguf.dequantize(t.data, t.tensor_type)
        x = x.reshape(tuple(int(i) for i in t.shape[::-1]))
        n = back[t.name]
        heads = (S.C['heads'] if 'q_proj' in n else
                 S.C['kv_heads'] if 'k_proj' in n else 0)
        x = torch.tensor((unpermute(x, heads) if heads else x).astype('f8'))
        w[n] = Matrix(x) if x.ndim == 2 else x
    return w


TYPES = {'up': 'Q4_0', 'gate': 'Q4_1', 'down': 'Q8_0'}


def quantised(name, x):
    """x as the GGUF has it, the type, and the numbers that it then stands for.  The
    embedding stays F32: codes of Q8_0 times numbers of bfloat16 lie between two steps
    of the rounded activations too often, and then float32 decides"""
    if x.ndim == 1 or name == 'token_embd.weight' or 'ffn_gate_inp' in name:
        return x, None, x
    part = name.split('_')[1] if '_exps' in name else 'down'
    kind = getattr(gguf.GGMLQuantizationType, TYPES[part])
    q = gguf.quantize(np.ascontiguousarray(x), kind)
    return q, kind, gguf.dequantize(q, kind).reshape(x.shape)


def write_mixture(path, cfg, m):
    """Write m, quantised, and set its weights to those of the file"""
    stands = {}

    def put(o, name, x):
        q, kind, stands[name] = quantised(name, x)
        o.add_tensor(name, q, raw_dtype=kind)

    experts.write_gguf(path, cfg, m, put)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.QWEN3MOE, cfg.num_hidden_layers)
    for k, p in m.named_parameters():
        exps = '.'.join(['blk', *k.split('.')[2:3], 'ffn_{}_exps.weight'])
        if k.endswith('gate_up_proj'):
            x = np.concatenate([stands[exps.format(n)] for n in ('gate', 'up')], 1)
        elif k.endswith('experts.down_proj'):
            x = stands[exps.format('down')]
        else:
            x = stands[names.get_name(k, try_suffixes=('.weight',))]
        p.copy_(torch.tensor(x.astype('f8')))


@torch.no_grad()
def mixture(out, ids):
    cfg, m, _ = experts.random_model('qwen3_moe', 'Qwen3Moe', dict(
        vocab_size=300, hidden_size=32, intermediate_size=32, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, head_dim=8, num_experts=6,
        num_experts_per_tok=2, moe_intermediate_size=32, norm_topk_prob=True,
        max_position_embeddings=128, bos_token_id=1, eos_token_id=2), 10)
    write_mixture(f'{out}/mixture.gguf', cfg, m)
    plain = torch.nn.functional.linear
    torch.nn.functional.linear = lambda x, w, b=None: plain(
        x if len(w) == cfg.num_experts else rounded(x), w, b)
    z = m(torch.tensor(ids)[None]).logits[0]
    torch.nn.functional.linear = plain
    assert (z - m(torch.tensor(ids)[None]).logits[0]).abs().max() > 1e-3
    st.save(f'{out}/mixture.safetensors', {
        'ids': ids.astype('u4'), 'mixture': z.numpy().astype('f4')}, dict(
            made_by='scripts/oracle/integers.py', seed=str(SEED),
            versions=st.versions(np, torch, transformers)))


def main(folder, out):
    ids = np.random.default_rng(SEED).integers(3, 300, 40)
    c = dict(S.C, theta=100000.0)
    t = {'ids': ids.astype('u4')}
    for n in NAMES:
        t[n] = R.forward(read(f'{folder}/{n}.gguf'), c,
                         torch.tensor(ids))[0].numpy().astype("f4")
        assert t[n].shape == (40, 300)
    mixture(out, ids)
    st.save(f'{out}/logits.safetensors', t, dict(made_by='scripts/oracle/integers.py', seed=str(SEED),
                         versions=st.versions(np, torch) + ' gguf ' +
                         importlib.metadata.version('gguf')))


if __name__ == '__main__':
    main(*sys.argv[1:])
