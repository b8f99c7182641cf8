"""Statistics of the inputs of a model's linear layers, by hooks on
transformers, piece by piece without a cache, in double (defined in
prune-profile(1)).
usage: activations.py golden tests/golden/family NAME OUT      (tests/prune/profile.c)
       activations.py gradients tests/golden/family NAME OUT   (tests/prune/profile.c)
           sums over rows of |gradient * weight| of the weights that read a channel
       activations.py check HFDIR BATCHES PROFILE   how far `prune profile --hessian` of
           that stream of batches is from it"""
import json
import struct
import sys

import numpy as np
import torch
import transformers
from safetensors.torch import load_file

import st

INPUTS = {'attn': 'self_attn.q_proj', 'o': 'self_attn.o_proj',
          'mlp': 'mlp.gate_proj', 'down': 'mlp.down_proj'}
READERS = {'attn': ['self_attn.q_proj', 'self_attn.k_proj', 'self_attn.v_proj'],
           'o': ['self_attn.o_proj'], 'mlp': ['mlp.gate_proj', 'mlp.up_proj'],
           'down': ['mlp.down_proj']}
STATS = ['mean_abs', 'mean_sq', 'max', 'kurtosis', 'q50', 'q90', 'q99', 'q999',
         'outliers']


class Hooks:
    """inputs of the layers, and the residual stream around them, of all tokens"""

    def __init__(self, m):
        self.seen = {}
        for i, b in enumerate(m.model.layers):
            b.register_forward_hook(self.around(i), with_kwargs=True)
            b.self_attn.register_forward_hook(self.after(i, b), with_kwargs=True)
            for name, path in INPUTS.items():
                b.get_submodule(path).register_forward_pre_hook(
                    self.before(f'{i}.{name}'))

    def put(self, key, x):
        self.seen.setdefault(key, []).append(x[0].clone())

    def before(self, key):
        return lambda _, args: self.put(key, args[0])

    def after(self, i, b):
        def hook(_, args, kwargs, out):
            a = out[0] if isinstance(out, tuple) else out
            if hasattr(b, 'pre_feedforward_layernorm'):         # Gemma
                a = b.post_attention_layernorm(a)
            self.put(f'{i}.attention', a)
        return hook

    def around(self, i):
        def hook(_, args, kwargs, out):
            self.put(f'{i}.x', args[0] if args else kwargs['hidden_states'])
            self.put(f'{i}.y', out[0] if isinstance(out, tuple) else out)
        return hook


def walk(m, rows):
    """run rows, each (ids, first): {key: [tokens,n]} and which tokens are first"""
    h, first = Hooks(m), []
    for ids, start in rows:
        for at in start.unique():
            if at == 0xffffffff:
                continue
            with torch.no_grad():
                m.model(ids[start == at][None], use_cache=False)
            first += [True] + [False] * (int((start == at).sum()) - 1)
    return {k: torch.cat(v) for k, v in h.seen.items()}, torch.tensor(first)


def border(x):
    """the lowest border of bins, 8 an octave, that is at or above x"""
    e = np.floor(np.log2(x))
    return 2.0 ** e * np.ceil(x / 2.0 ** e * 8) / 8


def stats(x, limit):
    """STATS of x [tokens,n]"""
    a, n = x.abs(), len(x)
    var = x.var(0, correction=0)
    k = ((x - x.mean(0)) ** 4).mean(0) / var ** 2
    k[~(var > 1e-4 * (x * x).mean(0))] = 0
    s = a.sort(0).values
    q = [s[max(1, int(np.ceil(q * n))) - 1] for q in (.5, .9, .99, .999)]
    return torch.stack([a.mean(0), (x * x).mean(0), a.amax(0), k, *q,
                        (a >= limit).double().mean(0)])


def turned(a, b):
    return 1 - torch.cosine_similarity(a, b, dim=-1, eps=0)


def figures(seen, first, L):
    out = {}
    for i in range(L):
        for name in INPUTS:
            x = seen[f'{i}.{name}'].double()
            limit = border(6 * float((x[~first] ** 2).mean().sqrt()))
            out[f'{i}.{name}.stats'] = torch.stack(
                [stats(x[first], limit), stats(x[~first], limit)])
            out[f'{i}.{name}'] = x.T @ x
        x, y = (seen[f'{i}.{k}'].double() for k in 'xy')
        mid = x + seen[f'{i}.attention'].double()
        rows = torch.stack([turned(x, y), turned(x, mid), turned(mid, y),
                            x.norm(dim=-1), y.norm(dim=-1)])
        out[f'{i}.block'] = torch.cat([rows.mean(1), rows[:, ~first].mean(1)])
    return out


def gradients(m, rows):
    """gradients of each row's summed loss of every token, given those before it in its
    piece"""
    out = {}
    for ids, start in rows:
        m.zero_grad()
        for at in start.unique():
            if at == 0xffffffff:
                continue
            piece = ids[start == at]
            z = m(piece[None], use_cache=False).logits[0, :-1]
            torch.nn.functional.cross_entropy(z, piece[1:], reduction='sum').backward()
        for i, b in enumerate(m.model.layers):
            for name, paths in READERS.items():
                w = [b.get_submodule(p).weight for p in paths]
                s = sum((x.grad * x).abs().sum(0) for x in w).detach()
                out[f'{i}.{name}'] = out.get(f'{i}.{name}', 0) + s
    return out


def load(path):
    return transformers.AutoModelForCausalLM.from_pretrained(
        path, dtype=torch.float64, attn_implementation='eager').eval()


def messages(path):
    """(metadata, tensors) of each message: retort-stream(5)"""
    types = {'U16': '<u2', 'U32': '<u4', 'U8': 'u1', 'U64': '<u8'}
    f = open(path, 'rb')
    while size := f.read(8):
        head = json.loads(f.read(struct.unpack('<Q', size)[0]))
        meta = head.pop('__metadata__', {})
        end = max((t['data_offsets'][1] for t in head.values()), default=0)
        data = f.read(end)
        yield meta, {k: np.frombuffer(
            data[slice(*t['data_offsets'])], types[t['dtype']]).reshape(t['shape'])
            for k, t in head.items() if t['dtype'] in types}


def rows_of(path):
    for _, t in messages(path):
        if 'piece_row' not in t:
            continue
        ids = torch.tensor(t['ids'].astype(np.int64))
        first = torch.full(ids.shape, 0xffffffff)
        at = [0] * len(ids)
        for r, n in zip(t['piece_row'], t['piece_len']):
            first[r, at[r]:at[r] + n] = at[r]
            at[r] += int(n)
        yield from zip(ids, first)


def check(want, folder, L):
    got = load_file(f'{folder}/hessian.safetensors')
    for name in INPUTS:
        off = max(float(((got[f'{i}.{name}'] - want[f'{i}.{name}']).abs() / torch.outer(
            d := want[f'{i}.{name}'].diag().sqrt(), d)).nan_to_num().max())
            for i in range(L))
        print(f'Hessians of {name}: {off:.2g} of sqrt(H_ii H_jj)')
    lines = [l.split('\t') for l in open(f'{folder}/channels.tsv')][1:]
    far = dict.fromkeys(STATS, 0.0)
    for l in lines:
        all = want[f'{l[0]}.{l[1]}.stats'][int(l[3] == 'rest')]
        w, size = all[:, int(l[2])], float(all[1].mean())
        unit = {'mean_abs': size ** .5, 'mean_sq': size, 'max': size ** .5,
                'outliers': 1}
        for k, (s, v) in enumerate(zip(STATS, l[5:])):
            off = abs(float(v) - float(w[k]))
            far[s] = max(far[s], off / unit.get(s, max(float(w[k]), 1e-6)))
    print("channels, mean_abs, max, mean_sq in units of the input's (root) mean "
          'square,\noutliers as they are, others relative:',
          ' '.join(f'{k} {v:.2g}' for k, v in far.items()))
    blocks = [l.split('\t') for l in open(f'{folder}/blocks.tsv')][1:]
    print('blocks, relative: %.2g' % max(
        abs(float(v) / float(w) - 1) for l in blocks
        for v, w in zip(l[1:], want[f'{l[0]}.block'])))


if sys.argv[1] in ('golden', 'gradients'):
    _, what, folder, name, to = sys.argv
    g = load_file(f'{folder}/{name}.safetensors')
    m = load(f'{folder}/{name}')
    L = len(m.model.layers)
    first = g['first'].to(torch.int64) % 2 ** 32
    rows = list(zip(g['ids'].to(torch.int64), first))
    out = gradients(m, rows) if what == 'gradients' else figures(*walk(m, rows), L)
    st.save(to, out, {'made_by': f'scripts/oracle/activations.py {what} {folder} {name}',
                      'versions': st.versions(torch, transformers)})
else:
    _, _, path, batches, folder = sys.argv
    m = load(path)
    L = len(m.model.layers)
    rows = list(rows_of(batches))[:json.load(open(f'{folder}/profile.json'))['rows']]
    check(figures(*walk(m, rows), L), folder, L)
