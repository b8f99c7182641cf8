"""Golden log probabilities of given tokens and their gradients, in double
precision, by PyTorch's autograd.
usage: logp.py GOLDEN         (tests/golden; writes grad/logp.safetensors)

hs [n,d], w [V,d], target [n]: float32 inputs; dlogp, dentropy [n]: gradients of
a loss at the results.  For tau 1 and 0.7: TAU.logp, TAU.entropy [n] of
softmax(hs w^T / tau); dw.TAU, dh.TAU of sum dlogp logp; both.dw.TAU,
both.dh.TAU of sum dlogp logp + dentropy entropy.  dft.loss, dft.dh, dft.dw:
the loss of dynamic fine-tuning (arXiv:2508.05629), sum of -p log p with the
factor p detached, as TRL's SFTTrainer has it.  n is above the 256 predictions
whose logits are held at a time."""
import os
import sys

import torch

import st

torch.set_default_dtype(torch.float64)
N, V, D, SEED = 259, 700, 6, 5


def main():
    torch.manual_seed(SEED)
    hs = torch.randn(N, D).float()
    w = (0.8 * torch.randn(V, D)).float()
    target = torch.randint(V, (N,))
    dlogp, dent = torch.randn(N).float(), torch.randn(N).float()
    out = dict(hs=hs, w=w, target=target.int(), dlogp=dlogp, dentropy=dent)
    for tau in (1, 0.7):
        a, b = hs.double().requires_grad_(), w.double().requires_grad_()
        every = torch.log_softmax(a @ b.T / tau, -1)
        logp = every.gather(1, target[:, None])[:, 0]
        entropy = -(every.exp() * every).sum(-1)
        out[f'{tau}.logp'], out[f'{tau}.entropy'] = logp.detach(), entropy.detach()
        loss = (dlogp * logp).sum()
        for name, x in (('', loss), ('both.', loss + (dent * entropy).sum())):
            dh, dw = torch.autograd.grad(x, (a, b), retain_graph=True)
            out[f'{name}dh.{tau}'], out[f'{name}dw.{tau}'] = dh.float(), dw.float()
        if tau == 1:
            dft = -(logp.exp().detach() * logp).sum()
            dh, dw = torch.autograd.grad(dft, (a, b), retain_graph=True)
            out['dft.loss'] = dft.detach().reshape(1)
            out['dft.dh'], out['dft.dw'] = dh.float(), dw.float()
        print(tau, logp[:3].tolist(), entropy[:3].tolist())
    path = f'{sys.argv[1]}/grad/logp.safetensors'
    st.save(path, out, dict(made_by='scripts/oracle/logp.py GOLDEN', seed=SEED,
                            versions=st.versions(torch)))
    print(path, os.path.getsize(path))


main()
