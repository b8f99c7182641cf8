"""Golden losses and gradients of a student that is not cut from its teacher:
other depth, other width, other padding of the vocabulary.  In double precision,
by PyTorch's autograd.
usage: flex.py GOLDEN        (tests/golden; reads the weights of the student,
                              grad/untied-student, writes grad/flex.safetensors)
Cases wide and narrow, by the teacher (CASES).  As in grad.py, but
  KL  is over the first `tokenizer` ids of both models where their vocabularies
      have other sizes: cut off before the softmax, CE is over all
  SH  compares block i of 1..Ls with the teacher's floor(i Lt / Ls + 1/2) of
      1..Lt (at least 1), brought to the student's width by
      torch.nn.functional.adaptive_avg_pool1d
CASE.ids ... as grad.py's; CASE.teacher.final, .head, .hidden.K of the blocks
compared, CASE.student.logits; CASE.CE KL SH LOSS, CASE.grad.LOSS.NAME."""
import os
import sys

import torch
from safetensors import safe_open

import grad as G
import st

torch.set_default_dtype(torch.float64)
SEED = 20261122
CASES = dict(
    wide=dict(G.BASE, vocab=67, hidden=20, blocks=5, mlp=[28] * 5),
    narrow=dict(G.BASE, hidden=12, blocks=1, mlp=[20]))
TOKENIZER = 59


def case(name, c, ws, gen, out):
    Ls = G.STUDENT['blocks']
    blocks = [max(1, int(i * c['blocks'] / Ls + 0.5)) - 1
              for i in range(1, Ls + 1)]
    wt = G.weights(c, False, gen)
    batch = G.make_batch([[12], [5, 7], [4, 5]], 12,
                         [(0, 3), (0, 4), (1, 5), (1, 9), (2, 1)], gen)
    batch['ids'] = (batch['ids'].long() % TOKENIZER).to(torch.uint16)
    with torch.no_grad():
        zt, ft, ht = G.run(wt, c, batch)
    # what the student is given is in float32
    ft, ht = ft.float().double(), [h.float().double() for h in ht]
    zt = ft @ wt['lm_head.weight'].detach().T
    zs, _, hs = G.run(ws, G.STUDENT, batch)
    tokens = None if zs.shape == zt.shape else TOKENIZER
    val, scored = G.losses(batch, zs, hs, zt, ht, blocks, tokens)
    mark = torch.zeros(batch['ids'].shape, dtype=torch.uint8)
    for r, t in scored:
        mark[r, t] = 1
    got = dict(batch, scored=mark)
    got['teacher.final'] = ft.float()
    got['teacher.head'] = wt['lm_head.weight'].detach().float()
    for m in blocks:
        got[f'teacher.hidden.{m}'] = ht[m].float()
    for k, x in val.items():
        got[k] = x.detach().reshape(1)
    for n, x in zip(ws, torch.autograd.grad(val['LOSS'], list(ws.values()))):
        got['grad.LOSS.' + n] = x.float()
    out.update({f'{name}.{k}': x for k, x in got.items()})
    print(name, blocks, {k: '%.17g' % x.item() for k, x in val.items()})


def main():
    top, out = sys.argv[1], {}
    with safe_open(f'{top}/grad/untied.safetensors', 'pt') as f:
        ws = {n.removeprefix('student.'):
              f.get_tensor(n).double().requires_grad_() for n in f.keys()
              if n.startswith('student.') and n.endswith('.weight')}
    gen = torch.Generator().manual_seed(SEED)
    for name, c in CASES.items():
        case(name, c, ws, gen, out)
    path = f'{top}/grad/flex.safetensors'
    st.save(path, out, dict(made_by='scripts/oracle/flex.py GOLDEN', seed=SEED,
                            tokenizer=TOKENIZER, tau=G.TAU,
                            versions=st.versions(torch)))
    print(path, os.path.getsize(path))


main()
