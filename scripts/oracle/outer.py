"""Golden file of the outer step of student --sync-every.
usage: outer.py OUT.safetensors            (tests/golden/outer.safetensors;
                                            needs torch)
torch.optim.SGD in double: the gradient of a round is the mean over ranks of
what they have moved, a - p_r.  Tensors: start [n]; moved [rounds,ranks,n], F32;
and for each pair lr, momentum of META path.K [rounds,n] and, with momentum,
velocity.K [n] after the last round.
"""
import sys

import torch

import st

torch.set_default_dtype(torch.float64)
SEED, ROUNDS, RANKS, N = 71, 12, 3, 37
PAIRS = ((1.0, 0.0), (0.7, 0.9), (0.5, 0.0), (1.2, 0.5))


def main():
    gen = torch.Generator().manual_seed(SEED)
    start = torch.randn(N, generator=gen).float()
    size = 10.0 ** torch.linspace(-5, -1, ROUNDS)[:, None, None]
    moved = (torch.randn(ROUNDS, RANKS, N, generator=gen) * size).float()
    moved[:, :, 0] = 0
    out = dict(start=start, moved=moved)
    for k, (lr, momentum) in enumerate(PAIRS):
        p = start.double().requires_grad_()
        opt = torch.optim.SGD([p], lr=lr, momentum=momentum,
                              nesterov=momentum > 0)
        path = []
        for m in moved.double():
            p.grad = m.mean(0)
            opt.step()
            path.append(p.detach().clone())
        out[f'path.{k}'] = torch.stack(path)
        if momentum > 0:
            out[f'velocity.{k}'] = opt.state[p]['momentum_buffer']
    st.save(sys.argv[1], out, dict(
        seed=SEED, pairs=' '.join(f'{a:g},{b:g}' for a, b in PAIRS),
        made_by='scripts/oracle/outer.py OUT', versions=st.versions(torch)))


main()
