"""Golden losses and gradients of the training step, in double precision.
usage: grad.py OUTDIR                 (tests/golden/grad; needs torch and, for
                                       the cross-check, transformers)
Writes tied, untied and rows8.safetensors; tests/golden/README.md says what
they hold.  The definitions of the training step:

Position t of a row is SCORED if t and t+1 lie in the same piece and
loss_mask[t+1] is 1; its target is ids[t+1].  N: scored positions of the whole
batch; n_r: those of row r.  zs, zt: student's and teacher's logits.
  CE = 1/N sum_scored -log softmax(zs)[target]
  KL = 1/N sum_scored tau^2 KL(softmax(zt/tau) || softmax(zs/tau)), tau = 3
  SH = 1/L sum_l sum_r n_r/N * sum_t |hs - ht|^2 / (sum_t |ht|^2 + 1e-6)
       t: all tokens of row r that are not padding; hs: output of student block
       l, ht: of teacher block map(l), before the final norm
  LOSS = 0.25 CE + KL + SH
"""
import json
import os
import sys

import torch
from safetensors import safe_open

import llama_ref as R
import st

torch.set_default_dtype(torch.float64)
SEED = 20240611
TAU = 3.0
MAP = [0, 2]
BASE = dict(vocab=61, hidden=16, heads=4, kv_heads=2, head_dim=6,
            theta=10000.0, eps=1e-5)
STUDENT = dict(BASE, blocks=2, mlp=[24, 20])
TEACHER = dict(BASE, blocks=3, mlp=[24, 24, 24])
LOSSES = ('CE', 'KL', 'SH', 'LOSS')


def weights(c, tied, gen):
    """normal(0, 0.3), norms 1 + 0.1 normal, rounded to float32 values"""
    d, q, k = (c['hidden'], c['heads'] * c['head_dim'],
               c['kv_heads'] * c['head_dim'])
    shapes = {'model.embed_tokens': (c['vocab'], d)}
    for i, m in enumerate(c['mlp']):
        shapes.update({f'model.layers.{i}.{n}': s for n, s in {
            'input_layernorm': (d,), 'self_attn.q_proj': (q, d),
            'self_attn.k_proj': (k, d), 'self_attn.v_proj': (k, d),
            'self_attn.o_proj': (d, q), 'post_attention_layernorm': (d,),
            'mlp.gate_proj': (m, d), 'mlp.up_proj': (m, d),
            'mlp.down_proj': (d, m)}.items()})
    shapes['model.norm'] = (d,)
    if not tied:
        shapes['lm_head'] = (c['vocab'], d)
    w = {}
    for n, s in shapes.items():
        x = torch.randn(s, generator=gen)
        x = 1 + 0.1 * x if len(s) == 1 else 0.3 * x
        w[n + '.weight'] = x.float().double().requires_grad_()
    return w


def pieces_of(batch):
    """(row, start, length) of every piece"""
    at = {}
    for r, n in zip(batch['piece_row'].tolist(), batch['piece_len'].tolist()):
        yield r, at.get(r, 0), n
        at[r] = at.get(r, 0) + n


def run(w, c, batch):
    """logits, final, hidden of a packed batch; zero on padding"""
    B, T = batch['ids'].shape
    ids = batch['ids'].long()
    z = [[torch.zeros(c['vocab'])] * T for _ in range(B)]
    f = [[torch.zeros(c['hidden'])] * T for _ in range(B)]
    h = [[[torch.zeros(c['hidden'])] * T for _ in range(B)]
         for _ in range(c['blocks'])]
    for r, s, n in pieces_of(batch):
        lo, fi, hi = R.forward(w, c, ids[r, s:s + n])
        for t in range(n):
            z[r][s + t], f[r][s + t] = lo[t], fi[t]
            for l in range(c['blocks']):
                h[l][r][s + t] = hi[l][t]
    pack = lambda a: torch.stack([torch.stack(row) for row in a])
    return pack(z), pack(f), [pack(x) for x in h]


def losses(batch, zs, hs, zt, ht, blocks=MAP, tokens=None):
    """CE, KL, SH and LOSS, and the tokens scored.  The student's blocks are
    compared with the teacher's `blocks`, brought to its width by adaptive
    averages; KL is over the first `tokens` ids (None: all)."""
    B, T = batch['ids'].shape
    scored, real = [], [[] for _ in range(B)]
    for r, s, n in pieces_of(batch):
        real[r] += range(s, s + n)
        scored += [(r, t) for t in range(s, s + n - 1)
                   if batch['loss_mask'][r, t + 1]]
    N = len(scored)
    ce = kl = 0
    for r, t in scored:
        y = int(batch['ids'][r, t + 1])
        ce = ce - torch.log_softmax(zs[r, t], -1)[y]
        p = torch.log_softmax(zt[r, t, :tokens] / TAU, -1)
        q = torch.log_softmax(zs[r, t, :tokens] / TAU, -1)
        kl = kl + TAU ** 2 * (p.exp() * (p - q)).sum()
    sh = 0
    for l, m in enumerate(blocks):
        for r in range(B):
            n_r = sum(1 for a, _ in scored if a == r)
            a = hs[l][r, real[r]]
            b = torch.nn.functional.adaptive_avg_pool1d(ht[m][r, real[r]],
                                                        a.shape[-1])
            sh = sh + n_r / N * ((a - b) ** 2).sum() / ((b ** 2).sum() + 1e-6)
    out = dict(CE=ce / N, KL=kl / N, SH=sh / len(blocks))
    out['LOSS'] = 0.25 * out['CE'] + out['KL'] + out['SH']
    return out, scored


def again(path):
    """A file of golden(), its student run again: batch, weights, its logits,
    the teacher's, losses, tokens scored."""
    with safe_open(path, 'pt') as f:
        get = {n: f.get_tensor(n) for n in f.keys()}
    batch = {n: get[n] for n in ('ids', 'loss_mask', 'piece_row', 'piece_len')}
    ws = {n.removeprefix('grad.LOSS.'):
          get[n.replace('grad.LOSS', 'student')].double().requires_grad_()
          for n in get if n.startswith('grad.LOSS.')}
    zs, _, hs = run(ws, STUDENT, batch)
    assert (zs - get['student.logits']).abs().max() < 1e-12
    zt = get['teacher.logits']
    val, scored = losses(batch, zs, hs, zt,
                         [get[f'teacher.hidden.{i}'] for i in range(3)])
    assert abs(val['LOSS'].item() - get['LOSS'].item()) < 1e-12
    return batch, ws, zs, zt, val, scored


def make_batch(rows, T, masked, gen):
    """rows: piece lengths per row; masked: (row, t) that loss_mask leaves out.
    Padding has id 7 and loss_mask 1: only the pieces say what is padding."""
    B = len(rows)
    ids = torch.full((B, T), 7)
    mask = torch.ones(B, T, dtype=torch.uint8)
    for r, lens in enumerate(rows):
        n = sum(lens)
        ids[r, :n] = torch.randint(0, BASE['vocab'], (n,), generator=gen)
    for r, t in masked:
        mask[r, t] = 0
    flat = [(r, n) for r, lens in enumerate(rows) for n in lens]
    return dict(ids=ids.to(torch.uint16), loss_mask=mask,
                piece_row=torch.tensor([r for r, _ in flat]).to(torch.uint32),
                piece_len=torch.tensor([n for _, n in flat]).to(torch.uint32))


def check_hf(w, c, gen):
    """one unpacked document against transformers: logits, hidden states,
    gradients of the cross-entropy"""
    ids = torch.randint(0, c['vocab'], (11,), generator=gen)
    m = R.hf_model(w, c)
    o = m(ids[None], output_hidden_states=True)
    torch.nn.functional.cross_entropy(o.logits[0, :-1], ids[1:]).backward()
    z, f, h = R.forward(w, c, ids)
    ce = torch.nn.functional.cross_entropy(z[:-1], ids[1:])
    g = torch.autograd.grad(ce, list(w.values()))
    worst = max((o.logits[0] - z).abs().max(),
                (o.hidden_states[-1][0] - f).abs().max(),
                *[(o.hidden_states[i + 1][0] - h[i]).abs().max()
                  for i in range(c['blocks'] - 1)])
    hf = dict(m.named_parameters())
    worst = max(worst, *[(hf[n].grad - x).abs().max() for n, x in zip(w, g)])
    assert worst <= 1e-10, worst
    plain = R.hf_model(w, c, double=False)(ids[None]).logits[0]
    near = (plain - z).abs().max()
    assert near <= 1e-4, near
    return worst.item(), near.item()


def golden(path, batch, ws, wt, which, note):
    with torch.no_grad():
        zt, ft, ht = run(wt, TEACHER, batch)
    zs, fs, hs = run(ws, STUDENT, batch)
    val, scored = losses(batch, zs, hs, zt, ht)
    B, T = batch['ids'].shape
    mark = torch.zeros(B, T, dtype=torch.uint8)
    for r, t in scored:
        mark[r, t] = 1
    P = batch['piece_row'].numel()
    out = dict(batch, scored=mark, **{
        'piece_source': torch.zeros(P, dtype=torch.int32).to(torch.uint16),
        'piece_key': torch.arange(1, P + 1).to(torch.uint64),
        'piece_off': torch.zeros(P, dtype=torch.int64).to(torch.uint32),
        'teacher.final': ft, 'student.logits': zs, 'teacher.logits': zt})
    for l, x in enumerate(ht):
        out[f'teacher.hidden.{l}'] = x
    for l, x in enumerate(hs):
        out[f'student.hidden.{l}'] = x
    meta = dict(note, scored=len(scored), map=','.join(map(str, MAP)),
                tau=TAU, weights_ce_kl_sh='0.25,1,1',
                student=json.dumps(R.hf_config(STUDENT, note['tied'] == '1')),
                student_mlp=','.join(map(str, STUDENT['mlp'])),
                teacher=json.dumps(R.hf_config(TEACHER, note['tied'] == '1')))
    for k in LOSSES:
        out[k] = val[k].reshape(1)
        meta[k] = '%.17g' % val[k].item()
    for k in which:
        g = torch.autograd.grad(val[k], list(ws.values()), retain_graph=True,
                                allow_unused=True)
        for n, x in zip(ws, g):
            out[f'grad.{k}.{n}'] = torch.zeros_like(ws[n]) if x is None else x
    if len(which) > 1:
        for pre, w in (('student.', ws), ('teacher.', wt)):
            for n, x in w.items():
                out[pre + n] = x.float()
    st.save(path, out, meta)
    print(path, os.path.getsize(path), {k: meta[k] for k in LOSSES},
          'scored', len(scored))


def directory(path, w, c, meta):
    """a Hugging Face directory; a narrower MLP is padded with zero channels,
    its own width recorded, as retort exports it"""
    os.makedirs(path, exist_ok=True)
    wide, out = max(c['mlp']), {}
    for n, x in w.items():
        x = x.detach().float()
        if '.mlp.' in n:
            pad = (0, wide - x.shape[1]) if 'down' in n else (0, 0, 0, wide - x.shape[0])
            x = torch.nn.functional.pad(x, pad)
        out[n] = x
    st.save(f'{path}/model.safetensors', out, dict(meta, format='pt'))
    cfg = R.hf_config(c, 'lm_head.weight' not in w)
    if len(set(c['mlp'])) > 1:
        cfg['retort'] = dict(mlp=c['mlp'], kept=MAP)
    with open(f'{path}/config.json', 'w') as f:
        json.dump(cfg, f, indent=1)
        f.write('\n')


def main():
    import transformers
    out = sys.argv[1]
    os.makedirs(out, exist_ok=True)
    B3 = [[12], [5, 7], [4, 5]], 12, [(0, 3), (0, 4), (1, 5), (1, 9), (2, 1)]
    B8 = ([[8], [3, 5], [4, 3], [1, 1, 6], [2], [8], [7], [2, 2, 2, 2]], 8,
          [(0, 5), (1, 1), (3, 0), (4, 1), (5, 2), (5, 3), (5, 4), (7, 5)])
    for tied in (True, False):
        gen = torch.Generator().manual_seed(SEED + (not tied))
        ws, wt = weights(STUDENT, tied, gen), weights(TEACHER, tied, gen)
        cs, ct = check_hf(ws, STUDENT, gen), check_hf(wt, TEACHER, gen)
        print('against transformers, max abs: double %.1e %.1e, as shipped '
              '%.1e %.1e' % (cs[0], ct[0], cs[1], ct[1]))
        note = dict(tied=str(int(tied)), seed=SEED + (not tied),
                    made_by='scripts/oracle/grad.py OUTDIR',
                    versions=st.versions(torch, transformers))
        name = 'tied' if tied else 'untied'
        directory(f'{out}/{name}-student', ws, STUDENT, note)
        directory(f'{out}/{name}-teacher', wt, TEACHER, note)
        golden(f'{out}/{name}.safetensors', make_batch(*B3, gen), ws, wt,
               LOSSES, note)
        if tied:
            golden(f'{out}/rows8.safetensors', make_batch(*B8, gen), ws, wt,
                   ('LOSS',), note)


if __name__ == '__main__':
    main()
