"""Targets of a teacher whose tokenizer is not the student's, in double.
usage: student_tokenizer.py STREAM STUDENT TEACHER GOLDEN
       (the stream that tests/teacher/student_tokenizer.sh makes;
        tests/golden/tok/digits.json; tests/golden/tok/family/gemma3.json;
        tests/golden, whose kern/loss.safetensors it reads)
Writes GOLDEN/student_tokenizer/
  teacher/             a random Llama of the teacher's ids
  targets.safetensors  for each batch N of STREAM: N.ids, and N.kind u8 [B,T],
    N.rest F64 [B,T], N.top.ids u32 [B,T,K], N.top.logp F64 [B,T,K], K = 8,
    as retort-stream(5) says; where the kind is 2 or 0, the other entries are 0
  shares.tsv           for each source: scored predictions; of these the share
    of kind 1, 2 and 0; the mean of the mass of the K tokens where kind is 1
  and, where the kind is 2, N.gold.bayesian and N.gold.observed F64 [B,T]: the
    logarithm of what TRL's GOLD (ULDLoss) has for the group of the teacher's
    tokens by its two strategies; 0 where a factor is below 1e-8, to which GOLD
    raises it.  "bayesian" is the exact probability.  "observed", the default,
    takes the logits at the tokens, which predict the tokens after them: it is
    off by one.
and GOLDEN/grad/shared.safetensors:
  for the rows zs of kern/loss.safetensors ids u32 [5,7], logp F32, rest F32 [5],
    kind u8 [5] (2, 1, 0, 1, 2); kl F64 [5] of the outcomes' probabilities
    divided by their sum, and its gradient at zs;
  for the batch of grad/tied.safetensors aligned u8 [3,12], kinds; ALIGNED,
    SquareHead over the tokens whose kind is not 0; grad.ALIGNED.NAME, float32
Text comes from the ids by the tables of GPT-2's letters and of <0xNN>, and is
encoded by the tokenizers library; borders are looked up in dictionaries."""
import json
import math
import os
import struct
import sys

import numpy as np
import tokenizers
import torch
import trl
from safetensors import safe_open
from trl.experimental.gold.gold_trainer import ULDLoss

import grad
import llama_ref as R
import st

SEED, K = 20261127, 8
torch.set_default_dtype(torch.float64)


def messages(path):
    """kind, metadata and tensors of each message of a stream"""
    types = {'U8': 'u1', 'U16': '<u2', 'U32': '<u4', 'U64': '<u8'}
    data = open(path, 'rb').read()
    at = 0
    while at < len(data):
        n, = struct.unpack_from('<Q', data, at)
        head = json.loads(data[at + 8:at + 8 + n])
        meta = head.pop('__metadata__')
        at += 8 + n
        t = {k: np.frombuffer(data[at + v['data_offsets'][0]:
                                   at + v['data_offsets'][1]],
                              types[v['dtype']]).reshape(v['shape'])
             for k, v in head.items()}
        at += max([v['data_offsets'][1] for v in head.values()], default=0)
        yield meta['kind'], meta, t


def gpt2_letters():
    """byte of each letter of a byte-level vocabulary"""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [b for b in range(256) if b not in plain]
    return {chr(b): b for b in plain} | {chr(256 + i): b
                                         for i, b in enumerate(rest)}


def strings(tok, letters):
    """bytes of each ordinary token; and the special tokens by their spelling"""
    special = {a.content: i for i, a in tok.get_added_tokens_decoder().items()
               if a.special}
    text = {}
    for s, i in tok.get_vocab().items():
        if i in special.values():
            continue
        if letters is not None:
            text[i] = bytes(letters[c] for c in s)
        elif len(s) == 6 and s.startswith('<0x') and tok.id_to_token(i) == s:
            text[i] = bytes([int(s[3:5], 16)])
        else:
            text[i] = s.replace('\u2581', ' ').encode()
    return text, special


def twins(student, teacher, tok_t):
    """teacher's token of each student's token: by bytes, the one that is no
    <0xNN> or else the lowest; EOS of both"""
    def first(text, tok):
        best = {}
        for i, b in sorted(text.items(), key=lambda x: (
                tok.id_to_token(x[0]).startswith('<0x'), x[0])):
            best.setdefault(b, i)
        return best
    s = first(student[0], tok_s)
    t = first(teacher[0], tok_t)
    pair = {i: t[b] for b, i in s.items() if b in t}
    pair[student[1]['<|endoftext|>']] = teacher[1]['<eos>']
    return pair


def make_teacher(path, V, made):
    c = dict(grad.BASE, vocab=V, blocks=2, mlp=[24, 24])
    w = grad.weights(c, True, torch.Generator().manual_seed(SEED))
    w = {n: x.detach() for n, x in w.items()}
    w['model.embed_tokens.weight'] *= 3          # distributions far from even
    grad.directory(path, w, c, made)
    return lambda ids: R.forward(w, c, torch.tensor(ids))[0]


def gold(lp, own, a, b):
    """log of what GOLD has for the group of the teacher's tokens a+1 .. b"""
    if min(lp[j, own[j + 1]].item() for j in range(a, b)) < math.log(1e-8):
        return 0.0, 0.0
    out = []
    group, ids = list(range(a, b)), own[1:]      # counted without BOS
    for strategy, shift, last in (('bayesian', 0, b), ('observed', 1, a + 1)):
        u = ULDLoss.__new__(ULDLoss)
        torch.nn.Module.__init__(u)
        u.token_merge_strategy = strategy
        p = lp.exp()[shift:shift + len(ids)]
        if shift and b == len(own) - 1:          # no logits after the last
            p = torch.cat([p, p[-1:]])
        out.append(u._merge_probabilities_with_alignment_groups(
            p, [group], ids)[0][own[last]].log().item())
    return out


def piece_targets(ids, m):
    """kind, rest, ids, logp of each prediction of a piece"""
    eos = text_s[1]['<|endoftext|>']
    body = [i for i in ids if i != eos]
    assert ids[:len(body)] == body               # EOS only at the end
    raw = b''.join(text_s[0][i] for i in body)
    own = [text_t[1]['<bos>'], *tok_t.encode(
        raw.decode(), add_special_tokens=False).ids]
    assert b''.join(text_t[0][i] for i in own[1:]) == raw
    border, at = {0: 0}, 0                       # byte -> teacher's token
    for j, i in enumerate(own[1:], 1):
        at += len(text_t[0][i])
        border[at] = j
    if len(body) < len(ids):
        own.append(text_t[1]['<eos>'])
        border[at + 1] = len(own) - 1
    with torch.no_grad():
        lp = torch.log_softmax(m(own), -1)
    names = sorted(pair)
    among = torch.tensor([pair[i] for i in names])
    out, at = [], 0
    for i, nxt in zip(ids, ids[1:] + [None]):
        at += len(text_s[0].get(i, b'.'))            # EOS counts as a byte
        end = None if nxt is None else at + len(text_s[0].get(nxt, b'.'))
        if nxt is None or at not in border or end not in border:
            out.append((0, 0.0, [0] * K, [0.0] * K, 0, 0))
            continue
        a, b = border[at], border[end]
        if b == a + 1 and pair.get(nxt) == own[b]:
            v, top = torch.topk(lp[a, among], K)
            out.append((1, math.log(1 - v.exp().sum().item()),
                        [names[j] for j in top], v.tolist(), 0, 0))
        else:
            v = sum(lp[j, own[j + 1]].item() for j in range(a, b))
            out.append((2, math.log(-math.expm1(v)), [nxt] + [0] * (K - 1),
                        [v] + [0.0] * (K - 1), *gold(lp, own, a, b)))
    return out


def main(stream, golden):
    folder = f'{golden}/student_tokenizer'
    made = dict(made_by='scripts/oracle/student_tokenizer.py', seed=SEED,
                versions=st.versions(torch, tokenizers, trl))
    m = make_teacher(f'{folder}/teacher', tok_t.get_vocab_size(), made)
    tensors, shares, sources, n = {}, {}, [], 0
    for kind, meta, t in messages(stream):
        if kind == 'stream':
            sources = meta['sources'].split('\n')
        if kind != 'batch':
            continue
        B, T = t['ids'].shape
        got = dict(kind=np.zeros((B, T), 'u1'), rest=np.zeros((B, T)))
        got |= {'top.ids': np.zeros((B, T, K), 'u4'),
                'top.logp': np.zeros((B, T, K)),
                'gold.bayesian': np.zeros((B, T)),
                'gold.observed': np.zeros((B, T))}
        at, row = 0, 0
        for r, length, src in zip(*(t['piece_' + x] for x in (
                'row', 'len', 'source'))):
            at, row = (at if r == row else 0), r
            ids = t['ids'][r, at:at + length].tolist()
            for i, x in enumerate(piece_targets(ids, m)):
                for name, v in zip(got, x):
                    got[name][r, at + i] = v
                if i + 1 < length:
                    s = shares.setdefault(sources[src], [0, 0, 0, 0, 0.0])
                    s[0] += 1
                    s[{1: 1, 2: 2, 0: 3}[x[0]]] += 1
                    s[4] += 1 - math.exp(x[1]) if x[0] == 1 else 0.0
            at += length
        tensors |= {f'{n}.{k}': v for k, v in got.items()}
        tensors[f'{n}.ids'] = t['ids']
        n += 1
    st.save(f'{folder}/targets.safetensors', tensors, made)
    with open(f'{folder}/shares.tsv', 'w') as f:
        for s in sources:
            c = shares[s]
            print(s, c[0], *('%.1f' % (100 * x / c[0]) for x in c[1:4]),
                  '%.1f' % (100 * c[4] / c[1]), sep='\t', file=f)
    print(open(f'{folder}/shares.tsv').read(), n, 'batches')
    losses(golden, made)


def losses(golden, made):
    with safe_open(f'{golden}/kern/loss.safetensors', 'pt') as f:
        zs, zt = (f.get_tensor(n).double() for n in ('zs', 'zt'))
    zs.requires_grad_()
    kind = [2, 1, 0, 1, 2]
    v, ids = torch.topk(torch.log_softmax(zt, -1), 7)
    rest = torch.log(torch.clamp(1 - v.exp().sum(-1), min=2.0 ** -24))
    for r, k in enumerate(kind):
        n = (0, 7, 1)[k]
        v[r, n:], ids[r, n:] = 0, 0
        if k == 2:
            v[r, 0] = -0.4 - 5 * r
            rest[r] = torch.log(-torch.expm1(v[r, 0]))
        elif k == 0:
            rest[r] = 0
    v, rest = v.float(), rest.float()
    kl = []
    for r, k in enumerate(kind):
        n = (0, 7, 1)[k]
        q = torch.log_softmax(zs[r], -1)
        lp = torch.cat([v[r, :n].double(), rest[r:r + 1].double()])
        lp = lp - torch.logsumexp(lp, -1)
        others = torch.ones(len(q), dtype=torch.bool)
        others[ids[r, :n]] = False
        lq = torch.cat([q[ids[r, :n]], torch.logsumexp(q[others], -1)[None]])
        kl.append((lp.exp() * (lp - lq)).sum())
    kl = torch.stack(kl)
    slope, = torch.autograd.grad(kl.sum(), zs)
    st.save(f'{golden}/grad/shared.safetensors',
            dict(ids=ids.to(torch.uint32), logp=v, rest=rest, kl=kl.detach(),
                 kind=np.array(kind, 'u1'), grad=slope,
                 **aligned(f'{golden}/grad/tied.safetensors')), made)


def aligned(path):
    """SquareHead over some tokens"""
    batch, ws, _, _, _, scored = grad.again(path)
    _, _, hs = grad.run(ws, grad.STUDENT, batch)
    with safe_open(path, 'pt') as f:
        ht = [f.get_tensor(f'teacher.hidden.{k}') for k in grad.MAP]
    B, T = batch['ids'].shape
    kind = torch.arange(B * T).reshape(B, T) * 5 % 7 % 3
    loss = 0
    for r in range(B):
        real = [t for q, s, n in grad.pieces_of(batch) if q == r
                for t in range(s, s + n) if kind[r, t] != 0]
        n_r = sum(1 for a, _ in scored if a == r)
        for a, b in zip(hs, ht):
            loss = loss + n_r / len(scored) / len(hs) * (
                ((a[r, real] - b[r, real]) ** 2).sum() /
                ((b[r, real] ** 2).sum() + 1e-6))
    out = {'aligned': kind.to(torch.uint8), 'ALIGNED': loss.detach().reshape(1)}
    for n, x in zip(ws, torch.autograd.grad(loss, list(ws.values()),
                                            allow_unused=True)):
        out['grad.ALIGNED.' + n] = (torch.zeros_like(ws[n]) if x is None
                                    else x).float()
    return out


if __name__ == '__main__':
    tok_s, tok_t = map(tokenizers.Tokenizer.from_file, sys.argv[2:4])
    tok_t.encode_special_tokens = True           # their names in text are text
    text_s, text_t = strings(tok_s, gpt2_letters()), strings(tok_t, None)
    pair = twins(text_s, text_t, tok_t)
    print(len(pair), 'strings in both')
    main(sys.argv[1], sys.argv[4])
