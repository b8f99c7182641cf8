"""Errors of PyTorch's autocast to bfloat16 on tests/golden/grad: gradients of LOSS
of an fp32 student; the teacher's states are given, its logits are made under
autocast too.  For each kind of tensor it prints the largest difference from the
golden value, divided by the tensor's largest value; tests/train/grad.c compares
its bounds with these.  usage: grad_autocast.py GRADDIR"""
import sys

import torch
import torch.nn.functional as F
from safetensors import safe_open

import llama_ref as R

SIZE = dict(vocab=61, hidden=16, heads=4, kv_heads=2, head_dim=6, theta=1e4,
            eps=1e-5, blocks=2, mlp=[24, 20])
worst = {}


def batch(g):
    """piece of each token, position in the piece, mask of the tokens it attends to"""
    B, T = g('ids').shape
    piece, pos = torch.full((B, T), -1), torch.zeros(B, T, dtype=torch.long)
    at = [0] * B
    for i, (r, n) in enumerate(zip(g('piece_row').tolist(),
                                   g('piece_len').tolist())):
        piece[r, at[r]:at[r] + n], pos[r, at[r]:at[r] + n] = i, torch.arange(n)
        at[r] += n
    see = (piece[:, :, None] == piece[:, None]) & torch.ones(T, T).tril().bool()
    see |= torch.eye(T, dtype=torch.bool)
    return piece, pos, torch.zeros(B, 1, T, T).masked_fill(~see[:, None], -1e30)


def check(folder, name):
    f = safe_open(f'{folder}/{name}.safetensors', 'pt')
    g = f.get_tensor
    w = {k.removeprefix('student.'): g(k) for k in f.keys()
         if k.startswith(('student.model.', 'student.lm_head.'))}
    head = 'lm_head' if 'lm_head.weight' in w else 'model.embed_tokens'
    m = R.hf_model(w, SIZE, double=False)
    piece, pos, mask = batch(g)
    ids, sc = g('ids').long(), g('scored').bool()
    hidden = []
    keep = lambda layer, x, y: hidden.append(y[0] if isinstance(y, tuple) else y)
    for b in m.model.layers:
        b.register_forward_hook(keep)
    with torch.autocast('cpu', dtype=torch.bfloat16):
        zs = m(ids, attention_mask=mask, position_ids=pos).logits
        zt = F.linear(g('teacher.final').float(), g(f'teacher.{head}.weight'))
    zs, zt = zs.float()[sc], zt.float()[sc]
    ce = F.cross_entropy(zs, ids.roll(-1, 1)[sc])
    kl = 9 * F.kl_div(F.log_softmax(zs / 3, -1), F.log_softmax(zt / 3, -1),
                      log_target=True, reduction='batchmean')
    real = (piece >= 0)[:, :, None].float()
    sh = 0
    for a, l in zip(hidden, (0, 2)):
        b = g(f'teacher.hidden.{l}').float()
        sh += (sc.sum(1) / sc.sum() * ((a.float() - b) ** 2 * real).sum((1, 2))
               / ((b ** 2 * real).sum((1, 2)) + 1e-6)).sum() / 2
    loss = 0.25 * ce + kl + sh
    loss.backward()
    print(f'{name}: loss {loss.item():.6f}, golden {g("LOSS").item():.6f}')
    for n, p in m.named_parameters():
        if f'grad.LOSS.{n}' in f.keys():
            want = g(f'grad.LOSS.{n}')
            kind = n.split('.')[-2]
            e = ((p.grad - want).abs().max() / want.abs().max()).item()
            worst[kind] = max(worst.get(kind, 0), e)


for name in ('tied', 'untied'):
    check(sys.argv[1], name)
print('torch', torch.__version__)
for kind, e in worst.items():
    print(f'{kind:26} {e:.4f}')
