"""Computes tests/golden/grad again another way: transformers' code (in double)
on the packed batch with a block-diagonal mask and explicit positions, PyTorch's
own losses.  usage: grad_check.py GRADDIR
Last run: values within 2e-15, gradients of LOSS within 2.5e-15."""
import sys

import torch
import torch.nn.functional as F
from safetensors import safe_open

import llama_ref as R

torch.set_default_dtype(torch.float64)
SIZE = dict(vocab=61, hidden=16, heads=4, kv_heads=2, head_dim=6, theta=1e4, eps=1e-5)


def model(path, who, blocks, mlp):
    with safe_open(path, 'pt') as f:
        w = {k.removeprefix(who): f.get_tensor(k).double() for k in f.keys()
             if k.startswith((who + 'model.', who + 'lm_head.'))}
    return R.hf_model(w, dict(SIZE, blocks=blocks, mlp=mlp))


def forward(m, ids, mask, pos):
    out = []
    keep = lambda layer, x, y: out.append(y[0] if isinstance(y, tuple) else y)
    hooks = [b.register_forward_hook(keep) for b in m.model.layers]
    z = m(ids, attention_mask=mask, position_ids=pos).logits
    for h in hooks:
        h.remove()
    return z, out


def check(folder, name, weights):
    f = safe_open(f'{folder}/{name}.safetensors', 'pt')
    g = f.get_tensor
    ids = g('ids').long()
    B, T = ids.shape
    piece, pos = torch.full((B, T), -1), torch.zeros(B, T, dtype=torch.long)
    at = [0] * B
    for i, (r, n) in enumerate(zip(g('piece_row').tolist(), g('piece_len').tolist())):
        piece[r, at[r]:at[r] + n], pos[r, at[r]:at[r] + n] = i, torch.arange(n)
        at[r] += n
    see = (piece[:, :, None] == piece[:, None]) & torch.ones(T, T).tril().bool()
    see |= torch.eye(T, dtype=torch.bool)          # padding sees itself: no NaN
    mask = torch.zeros(B, 1, T, T).masked_fill(~see[:, None], -1e300)
    path = f'{folder}/{weights}.safetensors'
    s, t = model(path, 'student.', 2, [24, 20]), model(path, 'teacher.', 3, [24] * 3)
    zs, hs = forward(s, ids, mask, pos)
    with torch.no_grad():
        zt, ht = forward(t, ids, mask, pos)
    sc = torch.zeros(B, T, dtype=torch.bool)
    sc[:, :-1] = ((piece[:, 1:] == piece[:, :-1]) & (piece[:, 1:] >= 0)
                  & (g('loss_mask')[:, 1:] == 1))
    assert (sc == g('scored').bool()).all()
    v = dict(CE=F.cross_entropy(zs[sc], ids.roll(-1, 1)[sc]), KL=9 * F.kl_div(
        F.log_softmax(zs[sc] / 3, -1), F.log_softmax(zt[sc] / 3, -1), log_target=True,
        reduction='batchmean'))
    real = (piece >= 0)[:, :, None].double()
    v['SH'] = sum((sc.sum(1) / sc.sum() * ((a - ht[m]) ** 2 * real).sum((1, 2))
                   / ((ht[m] ** 2 * real).sum((1, 2)) + 1e-6)).sum()
                  for a, m in zip(hs, (0, 2))) / 2
    v['LOSS'] = 0.25 * v['CE'] + v['KL'] + v['SH']
    v['LOSS'].backward()
    p = dict(s.named_parameters())
    pre = 'grad.LOSS.'
    worst = (max(abs(v[k].item() - g(k).item()) for k in v), max(
        (g(k) - p[k.removeprefix(pre)].grad).abs().max().item()
        for k in f.keys() if k.startswith(pre)))
    print(name, 'values %.1e, gradients %.1e' % worst)
    assert max(worst) <= 1e-12


for name, weights in (('tied', 'tied'), ('untied', 'untied'), ('rows8', 'tied')):
    check(sys.argv[1], name, weights)
