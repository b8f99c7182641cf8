"""Golden values of the reverse KL and the generalised Jensen-Shannon divergence
from a teacher's top k tokens, in double precision, by PyTorch's autograd.
usage: top_directions.py GOLDEN    (tests/golden; reads grad/top.safetensors and
                                    kern/loss.safetensors, writes
                                    grad/top_directions.safetensors)
The k + 1 outcomes and their p and q are those of top.py.  With
m = b p + (1 - b) q,
  reverse   sum q log(q/p)
  js:b      b sum p log(p/m) + (1 - b) sum q log(q/m)
K.TAU.NAME.value (sum over the 5 rows, times tau^2), .grad (at zs); K 1 7 60 61,
TAU 1 3, NAME reverse and js, b = 0.3"""
import os
import sys

import torch
from safetensors import safe_open

import st

torch.set_default_dtype(torch.float64)
BETA = 0.3


def outcomes(rows, pre, zs, tau):
    """log p and log q [N, outcomes]"""
    ids, logp, lse = (rows.get_tensor(pre + n)
                      for n in ('ids', 'logp', 'lse'))
    ids, lse = ids.long(), lse.double()
    lp = (logp.double() + lse[..., :1]) / tau - lse[..., 1:]
    all_q = torch.log_softmax(zs / tau, -1)
    lq = all_q.gather(-1, ids)
    if ids.shape[-1] == zs.shape[-1]:
        return lp - torch.logsumexp(lp, -1, keepdim=True), lq
    rest = all_q.scatter(-1, ids, -torch.inf).logsumexp(-1, keepdim=True)
    P = 1 - lp.exp().sum(-1, keepdim=True)
    assert (P > 0).all()
    return torch.cat([lp, P.log()], -1), torch.cat([lq, rest], -1)


def divergence(name, lp, lq):
    if name == 'reverse':
        return (lq.exp() * (lq - lp)).sum()
    lm = (BETA * lp.exp() + (1 - BETA) * lq.exp()).log()
    return (BETA * (lp.exp() * (lp - lm)).sum() +
            (1 - BETA) * (lq.exp() * (lq - lm)).sum())


def main():
    top, out = sys.argv[1], {}
    with safe_open(f'{top}/kern/loss.safetensors', 'pt') as f:
        zs = f.get_tensor('zs').double().requires_grad_()
    with safe_open(f'{top}/grad/top.safetensors', 'pt') as rows:
        for k in (1, 7, 60, 61):
            for tau in (1, 3):
                for name in ('reverse', 'js'):
                    lp, lq = outcomes(rows, f'rows.{k}.{tau}.', zs, tau)
                    value = tau ** 2 * divergence(name, lp, lq)
                    pre = f'{k}.{tau}.{name}.'
                    out[pre + 'value'] = value.detach().reshape(1)
                    out[pre + 'grad'], = torch.autograd.grad(value, zs)
    path = f'{top}/grad/top_directions.safetensors'
    st.save(path, out,
            dict(made_by='scripts/oracle/top_directions.py GOLDEN', beta=BETA,
                 versions=st.versions(torch)))
    print(path, os.path.getsize(path))


main()
