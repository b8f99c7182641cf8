"""Golden training curve: 300 steps of distillation in PyTorch, in double
precision, on the batches and initial weights of the test.
usage: curve.py STUDENT TEACHER STREAM > tests/golden/curve.tsv
       curve.py STUDENT TEACHER STREAM autocast > tests/golden/curve-autocast.tsv
       (needs torch and safetensors; tests/student/curve.sh says how the three are
        made: CURVE=python makes it run this script on them)
STUDENT, TEACHER: Hugging Face directories, F32; STREAM: a file of batches.
The losses are those of grad.py (0.25 CE + KL, T = 3, + SquareHead), the
network that of llama_ref.py; gradients by autograd, torch.optim.AdamW
(0.9, 0.95, 1e-8; decay 0.1 of matrices, not of norms and embedding),
torch.nn.utils.clip_grad_norm_ at 1, a cosine from 1e-3 to 0 with 20 steps of
warm-up (at 3e-3 rounding grows to more than 1e-3 within 140 steps, between two
of retort's own kernel paths too): step k (from 0) has 1e-3 k/20, then
5e-4 (1 + cos(pi (k - 20)/(n - 20))).
autocast: how far the losses of both networks under autocast to bfloat16 are
from those in fp32, by root mean square of their relative difference, in the
first 60 steps and in all, at rates of 0.97e-3 to 1.03e-3."""
import json
import math
import struct
import sys

import torch
from safetensors.torch import load, load_file

import llama_ref as R

torch.set_num_threads(1)
TAU, WARMUP = 3.0, 20
MAP = [0, 2]


def model(path, dtype):
    c = json.load(open(f'{path}/config.json'))
    w = load_file(f'{path}/model.safetensors')
    w = {n: x.to(dtype) for n, x in w.items() if n != 'lm_head.weight'}
    return w, dict(blocks=c['num_hidden_layers'], vocab=c['vocab_size'],
                   heads=c['num_attention_heads'], eps=c['rms_norm_eps'],
                   kv_heads=c['num_key_value_heads'], head_dim=c['head_dim'],
                   theta=c['rope_theta'])


def batches(path):
    """the tensors of each `batch` message: a stream is safetensors buffers one
    after another"""
    s = open(path, 'rb').read()
    at = 0
    while at < len(s):
        n, = struct.unpack_from('<Q', s, at)
        head = json.loads(s[at + 8:at + 8 + n])
        end = at + 8 + n + max([t['data_offsets'][1] for k, t in head.items()
                                if k != '__metadata__'], default=0)
        if head['__metadata__']['kind'] == 'batch':
            yield load(s[at:end])
        at = end


def pieces(b):
    at = {}
    for r, n in zip(b['piece_row'].tolist(), b['piece_len'].tolist()):
        s = at.get(r, 0)
        yield r, b['ids'][r].long()[s:s + n]
        at[r] = s + n


def losses(b, student, teacher, autocast):
    """CE, KL, SquareHead of one batch, and its number of scored positions"""
    (ws, cs), (wt, ct) = student, teacher
    B = b['ids'].shape[0]
    ce = kl = 0
    scored = [0] * B
    num = [[0] * len(MAP) for _ in range(B)]
    den = [[1e-6] * len(MAP) for _ in range(B)]
    for r, ids in pieces(b):
        with torch.autocast('cpu', torch.bfloat16, enabled=autocast):
            zs, _, hs = R.forward(ws, cs, ids)
            with torch.no_grad():
                zt, _, ht = R.forward(wt, ct, ids)
        if autocast:
            zs, zt = zs.float(), zt.float()
        for l, m in enumerate(MAP):
            num[r][l] = num[r][l] + ((hs[l] - ht[m]) ** 2).sum()
            den[r][l] = den[r][l] + (ht[m] ** 2).sum()
        scored[r] += len(ids) - 1
        if len(ids) > 1:
            q = torch.log_softmax(zs[:-1], -1)
            ce = ce - q.gather(1, ids[1:, None]).sum()
            q = torch.log_softmax(zs[:-1] / TAU, -1)
            p = torch.log_softmax(zt[:-1] / TAU, -1)
            kl = kl + TAU ** 2 * (p.exp() * (p - q)).sum()
    n = sum(scored)
    sh = sum(scored[r] / n * num[r][l] / den[r][l]
             for r in range(B) for l in range(len(MAP))) / len(MAP)
    return ce / n, kl / n, sh, n


def curve(paths, rate, dtype, autocast=False):
    """scored positions, loss, CE, KL, SquareHead, gradient norm of each step"""
    torch.set_default_dtype(dtype)
    student, teacher = model(paths[0], dtype), model(paths[1], dtype)
    w = student[0]
    for x in w.values():
        x.requires_grad_()
    matrix = [x for n, x in w.items() if x.dim() == 2 and 'embed' not in n]
    rest = [x for n, x in w.items() if x.dim() == 1 or 'embed' in n]
    opt = torch.optim.AdamW([dict(params=matrix, weight_decay=0.1),
                             dict(params=rest, weight_decay=0.0)],
                            betas=(0.9, 0.95), eps=1e-8)
    all_batches = list(batches(paths[2]))
    steps = len(all_batches)
    for k, b in enumerate(all_batches):
        x = (k - WARMUP) / (steps - WARMUP)
        lr = rate * (k / WARMUP if k < WARMUP else
                     0.5 * (1 + math.cos(math.pi * x)))
        for g in opt.param_groups:
            g['lr'] = lr
        ce, kl, sh, n = losses(b, student, teacher, autocast)
        loss = 0.25 * ce + kl + sh
        opt.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(matrix + rest, 1.0)
        opt.step()
        yield n, *(v.item() for v in (loss, ce, kl, sh, norm))


def main():
    paths = sys.argv[1:4]
    if sys.argv[4:] == ['autocast']:
        print(f'# torch {torch.__version__}; scripts/oracle/curve.py')
        print('rate\tfirst60\tall')
        for rate in range(97, 104):
            one, other = (list(curve(paths, rate * 1e-5, torch.float32, a))
                          for a in (False, True))
            d = [(y[1] / x[1] - 1) ** 2 for x, y in zip(one, other)]
            print('%.5f\t%.3g\t%.3g' % (rate * 1e-5,
                                       math.sqrt(sum(d[:60]) / 60),
                                       math.sqrt(sum(d) / len(d))), flush=True)
        return
    print(f'# torch {torch.__version__}, float64; scripts/oracle/curve.py')
    print('step\tscored\tloss\tce\tkl\tsquarehead\tnorm')
    for k, (n, *v) in enumerate(curve(paths, 1e-3, torch.float64)):
        print(k + 1, n, *(f'{x:.9g}' for x in v), sep='\t', flush=True)


main()
