"""Golden values of distillation from a teacher's top k tokens, in double
precision, by PyTorch's autograd.
usage: top.py GOLDEN                  (tests/golden; reads grad/tied.safetensors
                                       and kern/loss.safetensors, writes
                                       grad/top.safetensors)
A record of a position: ids of the k largest of the teacher's logits z, their
logp = log softmax(z) and lse = (logsumexp(z), logsumexp(z/tau)), each rounded
to float32.  What is compared are k + 1 outcomes, the last one being all other
tokens: p_i = exp((logp_i + lse_0)/tau - lse_1), P = 1 - sum p_i (with k = V:
no such outcome, p_i divided by their sum), q = softmax(zs/tau), Q = the sum of
q over the others;
  KL = tau^2 (sum p_i log(p_i/q_i) + P log(P/Q))

ROWS  the 5 rows of kern/loss: rows.K.TAU.ids, .logp, .lse, .kl (sum above,
      not times tau^2), .grad (of tau^2 kl, at zs); K 1 7 60 61, TAU 1 3; logp
      is 0.001 too low but for K 61, since a row with a spread of 80 would leave
      nothing for the others in float32
DRAWN the same rows: shares of 8 of 16 draws, some tokens drawn more often, the
      last ones of a row not at all: drawn.ids, .share, and for TAU 1 3
      drawn.TAU.self = sum p log p of the whole, .kl = self - sum share log q,
      .grad of tau^2 kl
STEP  the batch of grad/tied: K 5, tau 3: top.ids [B,T,K], top.logp, top.lse,
      TOP = 0.25 CE + KL + SH, grad.TOP.NAME, float32"""
import os
import sys

import torch
from safetensors import safe_open

import grad as G
import st

torch.set_default_dtype(torch.float64)


def record(zt, k, tau):
    v, ids = torch.topk(zt, k, dim=-1)
    lse = torch.stack([torch.logsumexp(zt, -1), torch.logsumexp(zt / tau, -1)],
                      -1)
    return dict(ids=ids.to(torch.uint32), logp=(v - lse[..., :1]).float(),
                lse=lse.float())


def kl(r, zs, tau):
    """sum p log(p/q) + P log(P/Q) of each row"""
    ids, lse = r['ids'].long(), r['lse'].double()
    lp = (r['logp'].double() + lse[..., :1]) / tau - lse[..., 1:]
    q = torch.log_softmax(zs / tau, -1)
    P = 1 - lp.exp().sum(-1)
    if ids.shape[-1] == zs.shape[-1]:
        lp = lp - torch.logsumexp(lp, -1, keepdim=True)
        return (lp.exp() * (lp - q.gather(-1, ids))).sum(-1)
    assert (P > 0).all()
    rest = q.scatter(-1, ids, -torch.inf).logsumexp(-1)
    return ((lp.exp() * (lp - q.gather(-1, ids))).sum(-1) +
            P * (P.log() - rest))


def rows(path, out):
    with safe_open(path, 'pt') as f:
        zs, zt = (f.get_tensor(n).double() for n in ('zs', 'zt'))
    zs.requires_grad_()
    for k in (1, 7, 60, 61):
        for tau in (1.0, 3.0):
            r = record(zt, k, tau)
            if k < 61:
                r['logp'] -= 1e-3
            r['kl'] = kl(r, zs, tau)
            r['grad'], = torch.autograd.grad(tau ** 2 * r['kl'].sum(), zs)
            for n, x in r.items():
                out[f'rows.{k}.{int(tau)}.{n}'] = x.detach()


def drawn(path, out):
    with safe_open(path, 'pt') as f:
        zs, zt = (f.get_tensor(n).double() for n in ('zs', 'zt'))
    zs.requires_grad_()
    N, V = zs.shape
    g = torch.Generator().manual_seed(5)
    ids = torch.stack([torch.randperm(V, generator=g)[:8].sort()[0]
                       for _ in range(N)])
    share = torch.tensor([[4, 1, 2, 5, 1, 1, 1, 1], [16, 0, 0, 0, 0, 0, 0, 0],
                          [1, 2, 13, 0, 0, 0, 0, 0], [2, 2, 2, 2, 2, 2, 2, 2],
                          [9, 1, 1, 1, 1, 1, 2, 0]]) / 16
    out['drawn.ids'] = ids.to(torch.uint32)
    out['drawn.share'] = share.float()
    for tau in (1.0, 3.0):
        p = torch.log_softmax(zt / tau, -1)
        own = (p.exp() * p).sum(-1).float()
        q = torch.log_softmax(zs / tau, -1)
        value = own.double() - (share * q.gather(-1, ids)).sum(-1)
        pre = f'drawn.{int(tau)}.'
        out[pre + 'self'] = own
        out[pre + 'kl'] = value.detach()
        out[pre + 'grad'], = torch.autograd.grad(tau ** 2 * value.sum(), zs)


def step(path, out):
    _, ws, zs, zt, val, scored = G.again(path)
    r = record(zt, 5, G.TAU)
    part = kl(r, zs, G.TAU)
    top = G.TAU ** 2 * sum(part[a, b] for a, b in scored) / len(scored)
    assert top <= val['KL']
    loss = 0.25 * val['CE'] + top + val['SH']
    for n, x in r.items():
        out['top.' + n] = x
    out['TOP'] = loss.detach().reshape(1)
    for n, x in zip(ws, torch.autograd.grad(loss, list(ws.values()))):
        out['grad.TOP.' + n] = x.float()
    print('TOP %.17g, KL %.6f of %.6f' % (
        out['TOP'].item(), top.item(), val['KL'].item()))


def main():
    top = sys.argv[1]
    out = {}
    rows(f'{top}/kern/loss.safetensors', out)
    drawn(f'{top}/kern/loss.safetensors', out)
    step(f'{top}/grad/tied.safetensors', out)
    path = f'{top}/grad/top.safetensors'
    st.save(path, out, dict(made_by='scripts/oracle/top.py GOLDEN',
                            tau=G.TAU, versions=st.versions(torch)))
    print(path, os.path.getsize(path))


main()
