"""Golden values of the kernels in double precision, by PyTorch's autograd.
usage: kern.py OUTDIR                 (tests/golden/kern)
Inputs are float32 and taken exactly; outputs are float64.  `dy`, `dout` are
the gradients at the output, `dx` etc. those at the inputs.

norm     n = 1 3 17 64 129: y = x / sqrt(mean x^2 + eps) g, 4 rows, one of them
         zero, one of 1e-12, one of 1e6
rope     HF rotate-half, D = 2 6 10 64, at positions 0 1 2 17 511 8191 of
         theta 1e4 and 1e5: `cos`, `sin` [6,D/2], y of x [6,D], x of dy;
         freq.KIND: inverse frequencies by transformers for linear and llama3
attn     T=83 H=6 KV=2 D=6 with pieces 1 40 2 33 and 7 of padding, and T=130
         H=2 KV=1 D=16 with pieces 129 1: out, lse [H,T] of the scaled scores
         (0 on padding), dq dk dv; q and k are taken as they are (no RoPE)
swiglu   act = silu(g) u, with g up to +-100
geglu    act = gelu(g) u, the form with tanh
loss     5 rows of 61 logits (one with a spread of 80, one equal to the
         teacher): nll of a target, KL(softmax(zt/tau) || softmax(zs/tau)) at
         tau 1 and 3, gradients of each row's nll and tau^2 KL
widen    rows in F16, BF16 and GGUF's Q8_0, Q4_0, Q4_1 blocks, as stored bytes,
         and their values (gguf package), special values included; narrowed:
         numbers and their bytes as F16 (within +-65000), BF16 and Q8_0; edge:
         float32 next to halves between two steps of Q4_0, and their bytes
quant    the other block types of GGUF: random bytes with finite scales, a zero
         scale in the last block, and their values (gguf package)"""
import os
import sys

import gguf
import numpy as np
import torch
import transformers
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

import llama_ref as R
import st

torch.set_default_dtype(torch.float64)
GEN = torch.Generator().manual_seed(11)
OUT = sys.argv[1]


def draw(*shape, scale=1.0):
    return (torch.randn(*shape, generator=GEN) * scale).float().double()


def save(name, t, single=()):
    """single: names of inputs, stored as float32"""
    t = {k: x.detach() if hasattr(x, 'detach') else x for k, x in t.items()}
    t = {k: x.float() if k.split('.')[-1] in single else x for k, x in t.items()}
    path = f'{OUT}/{name}.safetensors'
    st.save(path, t, dict(made_by='scripts/oracle/kern.py OUTDIR', seed=11,
                          versions=st.versions(torch, transformers, np)))
    print(path, os.path.getsize(path))


def norm():
    t = {'eps': torch.tensor([1e-5])}
    for n in (1, 3, 17, 64, 129):
        x, g, dy = draw(4, n), 1 + draw(n, scale=0.3), draw(4, n)
        g = g.float().double()
        x[1] = 0
        x[2] = (x[2] * 1e-12).float().double()
        x[3] = (x[3] * 1e6).float().double()
        x.requires_grad_(), g.requires_grad_()
        y = R.rmsnorm(x, g, 1e-5)
        dx, dg = torch.autograd.grad(y, (x, g), dy)
        t.update({f'{n}.x': x, f'{n}.g': g, f'{n}.dy': dy, f'{n}.y': y,
                  f'{n}.dx': dx, f'{n}.dg': dg})
    save('norm', t, ('x', 'g', 'dy'))


def rope():
    pos = torch.tensor([0, 1, 2, 17, 511, 8191])
    t = {'positions': pos.int(), 'theta': torch.tensor([1e4, 1e5])}
    for theta in (1e4, 1e5):
        for D in (2, 6, 10, 64):
            x = draw(len(pos), D)
            full = torch.zeros(8192, 1, D)
            full[pos, 0] = x
            full.requires_grad_()
            y = R.rope(full, theta)
            dy = draw(len(pos), D)
            g = torch.zeros_like(full)
            g[pos, 0] = dy
            dx, = torch.autograd.grad(y, full, g)
            a = pos[:, None] * theta ** (-torch.arange(0, D, 2) / D)
            k = f'{int(theta)}.{D}.'
            t.update({k + 'x': x, k + 'y': y[pos, 0], k + 'dy': dy,
                      k + 'dx': dx[pos, 0], k + 'cos': a.cos(), k + 'sin': a.sin()})
    torch.set_default_dtype(torch.float32)
    for kind, p in dict(
            linear=dict(factor=4.0), llama3=dict(
                factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                original_max_position_embeddings=8192)).items():
        c = transformers.LlamaConfig(
            hidden_size=512, num_attention_heads=4, head_dim=128,
            max_position_embeddings=131072,
            rope_parameters=dict(p, rope_type=kind, rope_theta=500000.0))
        f, scale = ROPE_INIT_FUNCTIONS[kind](c, 'cpu')
        assert scale == 1.0
        t[f'freq.{kind}'] = f.float()          # transformers has float32 here
    torch.set_default_dtype(torch.float64)
    save('rope', t, ('x', 'dy'))


def attn():
    t = {}
    for name, T, H, K, D, pieces in (('a', 83, 6, 2, 6, [1, 40, 2, 33]),
                                     ('b', 130, 2, 1, 16, [129, 1])):
        q, k, v = draw(T, H, D, scale=2), draw(T, K, D, scale=2), draw(T, K, D)
        dout = draw(T, H, D)
        for x in (q, k, v):
            x.requires_grad_()
        out, lse, s = torch.zeros(T, H, D), torch.zeros(H, T), 0
        for n in pieces:
            p = slice(s, s + n)
            out[p] = R.attention(q[p], k[p], v[p])
            for h in range(H):
                z = (q[p, h] @ k[p, h // (H // K)].T / D ** 0.5).detach()
                z = z.masked_fill(torch.triu(torch.ones(n, n), 1) > 0, -torch.inf)
                lse[h, p] = torch.logsumexp(z, -1)
            s += n
        dout[s:] = 0
        dq, dk, dv = torch.autograd.grad(out, (q, k, v), dout)
        t.update({f'{name}.{a}': b for a, b in dict(
            q=q, k=k, v=v, out=out, lse=lse, dout=dout, dq=dq, dk=dk, dv=dv,
            pieces=torch.tensor(pieces).int()).items()})
    save('attn', t, ('q', 'k', 'v', 'dout'))


def geglu():
    t = {}
    gen = torch.Generator().manual_seed(12)
    for n in (1, 7, 37, 96):
        g, u, da = (torch.randn(3, n, generator=gen) * 2).float().double()
        if n > 9:
            g[:9] = torch.tensor([0, 5., -5, 20, -20, 100, -100, 1e-8, -1e-30])
            g = g.float().double()
        g.requires_grad_(), u.requires_grad_()
        y = torch.nn.functional.gelu(g, approximate='tanh') * u
        dg, du = torch.autograd.grad(y, (g, u), da)
        t.update({f'{n}.{k}': x for k, x in dict(
            g=g, u=u, dact=da, act=y, dg=dg, du=du).items()})
    save('geglu', t, ('g', 'u', 'dact'))


def swiglu():
    t = {}
    for n in (1, 7, 37, 96):
        g, u, da = draw(n, scale=4), draw(n), draw(n)
        if n > 9:
            g[:9] = torch.tensor([0, 20., -20, 88, -88, 100, -100, 1e-8, -1e-30])
            g = g.float().double()
        g.requires_grad_(), u.requires_grad_()
        # x/(1+exp(-x)) has no trouble at -100 in double
        y = R.silu(g) * u
        dg, du = torch.autograd.grad(y, (g, u), da)
        t.update({f'{n}.{k}': x for k, x in dict(
            g=g, u=u, dact=da, act=y, dg=dg, du=du).items()})
    save('swiglu', t, ('g', 'u', 'dact'))


def loss():
    N, V = 5, 61
    zs, zt = draw(N, V, scale=3), draw(N, V, scale=3)
    zs[1] = (zs[1] * 10).float().double()
    zt[2] = (zt[2] + 50).float().double()
    zt[3] = zs[3]
    y = torch.tensor([0, 60, 5, 17, 33])
    zs.requires_grad_()
    t = dict(zs=zs, zt=zt, target=y.int(), lse=torch.logsumexp(zs, -1))
    t['nll'] = nll = -torch.log_softmax(zs, -1)[range(N), y]
    t['dnll'], = torch.autograd.grad(nll.sum(), zs)
    for tau in (1.0, 3.0):
        p, q = (torch.log_softmax(z / tau, -1) for z in (zt, zs))
        kl = (p.exp() * (p - q)).sum(-1)
        k = f'{int(tau)}.'
        t[k + 'kl'] = kl
        t[k + 'dtau2kl'], = torch.autograd.grad(tau ** 2 * kl.sum(), zs)
        ref = torch.nn.functional.kl_div(q, p, log_target=True, reduction='none')
        assert (ref.sum(-1) - kl).abs().max() < 1e-12 and abs(kl[3]) < 1e-12
    save('loss', t, ('zs', 'zt'))


def widen():
    x = draw(4, 64).float().numpy()
    x[1] *= 1e-6
    x[2] *= 1e4
    x[3, :32], x[3, 32] = 0, -3.5
    t = {'f32': x}
    half = np.array([0, 0x8000, 1, 0x8001, 0x03ff, 0x0400, 0x3c00, 0xbc00,
                     0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x3555], dtype='<u2')
    t['f16'], t['f16.value'] = half, half.view('<f2').astype('f4')
    b = np.array([0, 0x8000, 1, 0x007f, 0x0080, 0x3f80, 0xbf80, 0x7f7f, 0x7f80,
                  0xff80, 0x4049], dtype='<u2')
    t['bf16'] = b
    t['bf16.value'] = (b.astype('u4') << 16).view('f4')
    f = torch.tensor([1.0, 1.00390625, 1.01171875, 1.0039063, -2.7182817, 3e38,
                      3.4e38, 1e-40, 0.0, -0.0], dtype=torch.float32)
    t['narrow'], t['narrow.bf16'] = f, f.bfloat16()
    Q = gguf.GGMLQuantizationType
    # halves between two steps, scales that are subnormal and 0, large ones
    n = np.stack([np.append(np.arange(31) - 15.5, -127), np.linspace(-1e-5, 1e-5, 32),
                  np.full(32, 1e-30), np.linspace(-8.3e6, 8.3e6, 32)]).astype('f4')
    t['narrowed'] = n
    for q in (Q.F16, Q.BF16, Q.Q8_0):
        t['narrowed.' + q.name.lower()] = gguf.quantize(
            np.clip(n, -65000, 65000) if q == Q.F16 else n, q).view('u1')
    for q in (Q.Q8_0, Q.Q4_0, Q.Q4_1):
        raw = gguf.quantize(x, q)
        t[q.name.lower()] = raw.view('u1')
        t[q.name.lower() + '.value'] = gguf.dequantize(raw, q)
        r = np.random.default_rng(5).integers(0, 256, raw.shape, dtype='u1')
        size = gguf.GGML_QUANT_SIZES[q][1]
        r = r.reshape(-1, size)
        r[:, 1] &= 0xbf                        # keep scales below 2: finite
        if q == Q.Q4_1:
            r[:, 3] &= 0xbf
        r = r.reshape(raw.shape)
        t[q.name.lower() + '.any'] = r
        t[q.name.lower() + '.any.value'] = gguf.dequantize(r, q)
    r = np.random.default_rng(9)
    most = r.standard_normal((8, 1), dtype='f4')
    e = most * ((r.integers(-7, 8, (8, 32)) + 0.5) / 8).astype('f4')
    e = np.nextafter(e, r.choice([-1, 1], e.shape).astype('f4') * np.inf)
    e[:, :1] = most
    t['edge'], t['edge.q4_0'] = e, gguf.quantize(e, Q.Q4_0).view('u1')
    save('widen', t)


def quant():
    Q, t = gguf.GGMLQuantizationType, {}
    scales = {Q.Q5_0: (0,), Q.Q5_1: (0, 2), Q.Q2_K: (80, 82), Q.Q3_K: (108,),
              Q.Q4_K: (0, 2), Q.Q5_K: (0, 2), Q.Q6_K: (208,), Q.IQ4_NL: (0,),
              Q.IQ4_XS: (0,), Q.MXFP4: ()}
    for q, at in scales.items():
        block, size = gguf.GGML_QUANT_SIZES[q]
        raw = np.random.default_rng(7).integers(0, 256, (512 // block, size), dtype='u1')
        for k in at:
            raw[:, k + 1] &= 0xbf                  # scales below 2: finite
        if q == Q.MXFP4:
            raw[:, 0] = 112 + raw[:, 0] % 32       # exponents of numbers near 1
            raw[:4, 0] = 0, 1, 2, 254              # and the ends
        else:
            raw[-1, at[0]:at[0] + 2] = 0
        t[q.name.lower()] = raw.reshape(-1)
        t[q.name.lower() + '.value'] = gguf.dequantize(raw.reshape(-1), q)
    save('quant', t)


os.makedirs(OUT, exist_ok=True)
for f in (norm, rope, attn, swiglu, geglu, loss, widen, quant):
    f()
