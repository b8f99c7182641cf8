"""Three steps of training on rounded and masked weights, in PyTorch.
usage: qat.py OUTDIR                  (tests/golden/qat; needs torch,
                                       safetensors and gguf)
The parameters W are double.  In each step the network computes with E =
round(mask(W)) in place of every matrix W of a block; gguf-py makes E from W as
float32, and gradients go to W as if E were W (straight-through: a
torch.autograd.Function whose backward is the identity).  Then clipping to 1
and torch.optim.AdamW.
OUTDIR holds the model of the beginning as a Hugging Face directory (blocks of 32
and 8 channels, padded to 32) and qat.safetensors: `ids` [3,2,12], a batch a
step, CE of every token but the first of a row; for each case
  q4_0  blocks Q4_0, the embedding, which is the head too, Q8_0
  q8_0  all matrices Q8_0
  int8  blocks: round(w/s) s, s = max|w| of the row / 127, halves away from 0
  mask  2:4 by |W|, chosen at the beginning and after step 2, then Q4_0 as in
        q4_0; DECAY W is added to the gradient where the mask leaves out
CASE.seen.NAME: E of the beginning of some matrices; CASE.loss [3];
CASE.STEP.NAME: W after step 1, 2, 3, from which the next one may go on: a weight
between two values of E rounds as in the oracle only if it is the same float32;
mask.grad.NAME: the gradient of the first step, at E.  Rows that are no multiple
of 32, as written (o_proj's 16), are F16 instead of Q4_0 or Q8_0."""
import sys

import numpy as np
import torch
from gguf import GGMLQuantizationType as Q
from gguf import quants

import grad
import llama_ref as R
import st

SEED = 20261123
MODEL = dict(vocab=24, hidden=32, heads=2, kv_heads=1, head_dim=8, blocks=2,
             mlp=[32, 8], theta=10000.0, eps=1e-5)
LR, WD, EPS, DECAY = 0.01, 0.1, 0.01, 0.02
SHOWN = ['model.embed_tokens.weight', 'model.layers.0.mlp.up_proj.weight',
         'model.layers.1.mlp.down_proj.weight',
         'model.layers.1.self_attn.o_proj.weight']


def block_type(x, kind, wide):
    """x [rows,cols] float32 as a GGUF has it, its rows padded to `wide`"""
    if wide % 32:
        return x.astype(np.float16).astype(np.float32)
    y = np.pad(x, ((0, 0), (0, wide - x.shape[1])))
    y = quants.dequantize(quants.quantize(y, kind), kind)
    return y[:, :x.shape[1]]


def int8(x):
    s = (np.abs(x).max(1, keepdims=True) / np.float32(127)).astype(np.float32)
    return quants.np_roundf(x * (np.float32(1) / s)) * s


def mask_of(x):
    """mask of the two largest of each four, by absolute value"""
    a = np.abs(x).reshape(-1, 4)
    m = np.zeros_like(a)
    np.put_along_axis(m, np.argsort(a, 1, kind='stable')[:, 2:], 1, 1)
    return m.reshape(x.shape)


class Through(torch.autograd.Function):
    @staticmethod
    def forward(ctx, w, e):
        return e

    @staticmethod
    def backward(ctx, g):
        return g, None


def seen(name, w, case, masks):
    """E of W"""
    x = w.detach().float().numpy()
    if x.ndim == 1:
        return w
    inside = '.layers.' in name
    if inside and masks:
        x = x * masks[name].astype(np.float32)
    if case == 'int8':
        if not inside:
            return w
        x = int8(x)
    else:
        wide = max(MODEL['mlp']) if 'down_proj' in name else x.shape[1]
        kind = Q.Q4_0 if inside and case in ('q4_0', 'mask') else Q.Q8_0
        x = block_type(x, kind, wide)
    return Through.apply(w, torch.from_numpy(np.ascontiguousarray(x)).double())


def run(case, start, ids, out):
    w = {n: x.detach().clone().requires_grad_() for n, x in start.items()}
    matrices = [n for n in w if '.layers.' in n and w[n].ndim == 2]
    rest = [n for n in w if n not in matrices]
    opt = torch.optim.AdamW(
        [dict(params=[w[n] for n in matrices], weight_decay=WD),
         dict(params=[w[n] for n in rest], weight_decay=0.0)],
        lr=LR, betas=(0.9, 0.95), eps=EPS)
    masks, losses = {}, []
    choose = lambda: {n: mask_of(w[n].detach().float().numpy())
                      for n in matrices}
    if case == 'mask':
        masks = choose()
    for step in range(3):
        e = {n: seen(n, x, case, masks) for n, x in w.items()}
        z = [R.forward(e, MODEL, row)[0] for row in ids[step]]
        loss = torch.stack([torch.nn.functional.cross_entropy(a[:-1], r[1:])
                            for a, r in zip(z, ids[step])]).mean()
        opt.zero_grad()
        loss.backward()
        losses.append(loss.item())
        if step == 0:
            out.update({f'{case}.seen.{n}': e[n].detach().float() for n in SHOWN})
        if case == 'mask' and step == 0:
            out.update({f'mask.grad.{n}': x.grad.float() for n, x in w.items()})
        for n in masks:
            w[n].grad += DECAY * torch.from_numpy(1 - masks[n]) * w[n].detach()
        torch.nn.utils.clip_grad_norm_(list(w.values()), 1.0)
        opt.step()
        out.update({f'{case}.{step + 1}.{n}': x.detach().float()
                    for n, x in w.items()})
        if case == 'mask' and step == 1:
            before, masks = masks, choose()
            moved = sum((before[n] != masks[n]).sum() for n in masks)
            assert moved > 20, moved
            print('weights whose mask changed', moved)
    out[f'{case}.loss'] = torch.tensor(losses)
    print(case, losses)


def main():
    import gguf
    import importlib.metadata
    gen = torch.Generator().manual_seed(SEED)
    start = grad.weights(MODEL, True, gen)
    ids = torch.randint(0, MODEL['vocab'], (3, 2, 12), generator=gen)
    out = {'ids': ids.to(torch.int32)}
    gguf.__version__ = importlib.metadata.version('gguf')
    meta = dict(made_by='scripts/oracle/qat.py OUTDIR', seed=SEED,
                versions=st.versions(torch, np, gguf), lr=LR, weight_decay=WD,
                eps=EPS, mask_decay=DECAY)
    grad.directory(sys.argv[1], start, MODEL, meta)
    for case in 'q4_0', 'q8_0', 'int8', 'mask':
        run(case, start, ids, out)
    st.save(f'{sys.argv[1]}/qat.safetensors', out, meta)


main()
