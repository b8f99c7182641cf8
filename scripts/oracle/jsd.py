"""Golden values of reverse KL and generalised Jensen-Shannon divergence, in
double precision, by TRL's GKDTrainer.generalized_jsd_loss and PyTorch's
autograd, and once more from the definition.
usage: jsd.py GOLDEN         (tests/golden; reads kern/loss.safetensors and
                              grad/untied.safetensors, writes
                              grad/jsd.safetensors)
With p the teacher's and q the student's softmax(z/tau), m = beta p + (1-beta) q
  reverse  sum q log(q/p)                              (TRL: beta = 1)
  js       beta sum p log(p/m) + (1-beta) sum q log(q/m)    0 < beta < 1
TRL does not multiply by tau^2; here gradients and the step's values are, as KL's.

ROWS  the 5 rows of kern/loss: BETA.TAU.value (not times tau^2), .grad of tau^2
      value at zs; BETA 0 (forward KL) 0.1 0.5 0.9 1 (reverse), TAU 1 3
STEP  the batch of grad/untied, tau 3: reverse and js0.3: NAME.D = 1/N sum_scored
      tau^2 divergence, NAME.LOSS = 0.25 CE + D + SH, grad.NAME.TENSOR, float32"""
import os
import sys

import torch
import trl
from safetensors import safe_open
from trl.experimental.gkd import GKDTrainer

import grad as G
import st

torch.set_default_dtype(torch.float64)
jsd = GKDTrainer.generalized_jsd_loss


def plain(zs, zt, beta, tau):
    q, p = torch.softmax(zs / tau, -1), torch.softmax(zt / tau, -1)
    if beta in (0, 1):
        a, b = (p, q) if beta == 0 else (q, p)
        return torch.special.xlogy(a, a / b).sum(-1)
    m = beta * p + (1 - beta) * q
    return (beta * torch.special.xlogy(p, p / m) +
            (1 - beta) * torch.special.xlogy(q, q / m)).sum(-1)


def rows(path, out):
    with safe_open(path, 'pt') as f:
        zs, zt = f.get_tensor('zs').double(), f.get_tensor('zt').double()
    for beta in (0, 0.1, 0.5, 0.9, 1):
        for tau in (1, 3):
            z = zs.clone().requires_grad_()
            v = torch.stack([jsd(a[None, None], b[None, None], beta=beta,
                                 temperature=tau, num_items_in_batch=1)
                             for a, b in zip(z, zt)])
            assert torch.allclose(v, plain(zs, zt, beta, tau), 1e-11, 1e-13)
            g, = torch.autograd.grad(tau ** 2 * v.sum(), z)
            out[f'{beta:g}.{tau}.value'] = v.detach()
            out[f'{beta:g}.{tau}.grad'] = g
            print(beta, tau, v.tolist())


def step(path, out):
    _, ws, zs, zt, val, scored = G.again(path)
    for name, beta in (('reverse', 1), ('js0.3', 0.3)):
        labels = torch.full(zs.shape[:2], -100)
        for a, b in scored:
            labels[a, b] = 1
        d = G.TAU ** 2 * jsd(zs, zt, labels=labels, beta=beta,
                             temperature=G.TAU, num_items_in_batch=len(scored))
        want = sum(plain(zs[a, b], zt[a, b], beta, G.TAU) for a, b in scored)
        assert abs(d - G.TAU ** 2 * want / len(scored)) < 1e-12
        loss = 0.25 * val['CE'] + d + val['SH']
        out[name + '.D'] = d.detach().reshape(1)
        out[name + '.LOSS'] = loss.detach().reshape(1)
        grads = torch.autograd.grad(loss, list(ws.values()), retain_graph=True)
        for n, x in zip(ws, grads):
            out[f'grad.{name}.{n}'] = x.float()
        print(name, d.item(), loss.item())


def main():
    top, out = sys.argv[1], {}
    rows(f'{top}/kern/loss.safetensors', out)
    step(f'{top}/grad/untied.safetensors', out)
    path = f'{top}/grad/jsd.safetensors'
    st.save(path, out, dict(made_by='scripts/oracle/jsd.py GOLDEN', tau=G.TAU,
                            versions=st.versions(torch, trl)))
    print(path, os.path.getsize(path))


main()
