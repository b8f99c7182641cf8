"""Golden sequences of the optimiser, the schedules and the clipping.
usage: adamw.py OUT.safetensors       (tests/golden/adamw.safetensors; needs
                                       torch and transformers)
AdamW: torch.optim.AdamW in double, 20 updates of two tensors.
  m = b1 m + (1-b1) g;  v = b2 v + (1-b2) g^2
  x = x - lr wd x - lr (m/(1-b1^k)) / (sqrt(v/(1-b2^k)) + eps),  k = 1..20
Schedules: value at s = 0..50 of n = 50 updates, W = 8 of warm-up, peak 3e-4,
floor 3e-5.  s <= W: peak s/W.  Then with p = (s-W)/(n-W):
  cosine   floor + (peak-floor) (1 + cos(pi p))/2
  linear   floor + (peak-floor) (1 - p)
  constant peak
  and the same without warm-up (W = 0), and to a floor of 0.
An update that counts from 1 takes the value at its number, so the first moves
and the last is at the floor; transformers gives its k-th update (from 0) the
value at k, so its first has rate 0 and it never reaches the floor.
Clipping: torch.nn.utils.clip_grad_norm_ over both tensors together:
  c = min(1, max_norm / (norm + 1e-6))
"""
import math
import sys

import torch
import transformers as H

import st

torch.set_default_dtype(torch.float64)
SEED, N, W, PEAK, FLOOR = 7, 50, 8, 3e-4, 3e-5


def adamw(gen, out):
    beta, eps, wd, n = (0.9, 0.95), 1e-8, 0.1, 20
    shape = dict(decayed=(5, 7), plain=(9,))
    par, grad = {}, {}
    for k, s in shape.items():
        par[k] = torch.randn(s, generator=gen).float().double()
        out[f'adamw.{k}.start'] = par[k].float()
        par[k].requires_grad_()
        size = 10.0 ** torch.linspace(-6, 1, n).reshape(n, *[1] * len(s))
        g = torch.randn(n, *s, generator=gen) * size
        g.view(n, -1)[:, 0] = 0                # a weight without gradient
        g.view(n, -1)[3::4, 1] = 0             # and one that is rarely used
        grad[k] = g.float().double()
        out[f'adamw.{k}.grad'] = grad[k].float()
    lr = PEAK * 100 * torch.linspace(0.2, 1, n).float().double()
    out['adamw.lr'] = lr
    opt = torch.optim.AdamW(
        [dict(params=[par['decayed']], weight_decay=wd),
         dict(params=[par['plain']], weight_decay=0.0)], betas=beta, eps=eps)
    path = {k: [] for k in shape}
    for i in range(n):
        for g in opt.param_groups:
            g['lr'] = lr[i].item()
        for k in shape:
            par[k].grad = grad[k][i].clone()
        opt.step()
        for k in shape:
            path[k].append(par[k].detach().clone())
    for k in shape:
        s = opt.state[par[k]]
        out[f'adamw.{k}.path'] = torch.stack(path[k])
        out[f'adamw.{k}.m'], out[f'adamw.{k}.v'] = s['exp_avg'], s['exp_avg_sq']
    return dict(beta1=beta[0], beta2=beta[1], eps=eps, weight_decay=wd)


def schedule(kind, warm, floor):
    def at(s):
        if s < warm:
            return PEAK * s / warm
        p = (s - warm) / (N - warm)
        if kind == 'cosine':
            return floor + (PEAK - floor) * (1 + math.cos(math.pi * p)) / 2
        if kind == 'linear':
            return floor + (PEAK - floor) * (1 - p)
        return PEAK
    mine = [at(s) for s in range(N + 1)]
    o = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=PEAK)
    if kind == 'constant':
        s = H.get_constant_schedule_with_warmup(o, warm)
    elif kind == 'linear' and floor == 0:
        s = H.get_linear_schedule_with_warmup(o, warm, N)
    elif kind == 'linear':
        s = H.get_polynomial_decay_schedule_with_warmup(
            o, warm, N, lr_end=floor, power=1.0)
    elif floor == 0:
        s = H.get_cosine_schedule_with_warmup(o, warm, N)
    else:
        s = H.get_cosine_with_min_lr_schedule_with_warmup(
            o, warm, N, min_lr=floor)
    for i, x in enumerate(mine):
        theirs = s.get_last_lr()[0]
        assert abs(theirs - x) <= 1e-15 * PEAK + 1e-12 * x, (kind, i, theirs, x)
        o.step()
        s.step()
    return torch.tensor(mine)


def later_schedules(path):
    """wsd: decay over the last 10 of N steps; invsqrt; with W steps of warm-up
    and without (.cold)"""
    out = {}
    for name, warm in (('', W), ('.cold', 0)):
        for kind in ('wsd', 'invsqrt'):
            o = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=PEAK)
            s = H.get_inverse_sqrt_schedule(o, warm) if kind == 'invsqrt' else \
                H.get_wsd_schedule(o, warm, 10, num_training_steps=N)
            at = []
            for _ in range(N + 1):
                at.append(s.get_last_lr()[0])
                o.step()
                s.step()
            out[f'lr.{kind}{name}'] = torch.tensor(at)
    st.save(path, out, dict(
        lr_updates=N, lr_warmup=W, lr_peak=PEAK, versions=st.versions(torch, H),
        made_by='scripts/oracle/adamw.py OUT SCHEDULES'))


def clipping(gen, out):
    size = torch.tensor([1e-3, 0.05, 0.3, 1.0, 30.0, 1e6, 0.0])
    a = (torch.randn(7, 5, 7, generator=gen) * size[:, None, None]).float()
    b = (torch.randn(7, 9, generator=gen) * size[:, None]).float()
    norm, ca, cb = [], [], []
    for x, y in zip(a.double(), b.double()):
        p, q = torch.zeros(5, 7), torch.zeros(9)
        p.grad, q.grad = x.clone(), y.clone()
        norm.append(torch.nn.utils.clip_grad_norm_([p, q], 1.0))
        ca.append(p.grad)
        cb.append(q.grad)
    out.update({'clip.a': a, 'clip.b': b, 'clip.norm': torch.stack(norm),
                'clip.a.out': torch.stack(ca), 'clip.b.out': torch.stack(cb)})
    return dict(clip_max_norm=1.0)


def main():
    gen, out = torch.Generator().manual_seed(SEED), {}
    meta = dict(adamw(gen, out), **clipping(gen, out))
    for kind in ('cosine', 'linear', 'constant'):
        out[f'lr.{kind}'] = schedule(kind, W, FLOOR)
        out[f'lr.{kind}.cold'] = schedule(kind, 0, FLOOR)
        out[f'lr.{kind}.zero'] = schedule(kind, W, 0.0)
    meta.update(seed=SEED, lr_updates=N, lr_warmup=W, lr_peak=PEAK,
                lr_floor=FLOOR, made_by='scripts/oracle/adamw.py OUT',
                versions=st.versions(torch, H))
    st.save(sys.argv[1], out, meta)
    if len(sys.argv) > 2:
        later_schedules(sys.argv[2])


main()
