"""Logits of tiny quantised models whose activations are rounded to 8 bits.
usage: integers.py GGUFDIR OUT
GGUFDIR: tests/golden/gguf; OUT: tests/golden/integers/logits.safetensors.

The network is llama_ref.py's, in double precision, on the weights that gguf
dequantises.  Before each product a row x is replaced, in blocks of 16, by
d round(x / d), d = max |x| / 127 in float32: what kern/int.h computes but for
the rounding of sums.  Logits after each of 40 ids, NAME of NAME.gguf."""
import importlib.metadata
import sys

import gguf
import numpy as np
import torch

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


def main(folder, out):
    ids = np.random.default_rng(SEED).integers(3, 300, 40)
    c = dict(S.C, theta=100000.0)
    t = {'ids': ids.astype('u4')}
    for n in NAMES:
        t[n] = R.forward(read(f'{folder}/{n}.gguf'), c,
                         torch.tensor(ids))[0].numpy().astype("f4")
        assert t[n].shape == (40, 300)
    st.save(out, t, dict(made_by='scripts/oracle/integers.py', seed=str(SEED),
                         versions=st.versions(np, torch) + ' gguf ' +
                         importlib.metadata.version('gguf')))


if __name__ == '__main__':
    main(*sys.argv[1:])
