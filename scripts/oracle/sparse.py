"""Make layers sparse in PyTorch as the papers say: optimal brain surgeon in the sweep
of SparseGPT (Frantar and Alistarh, arXiv:2301.00774, algorithm 1), Wanda (Sun et
al., arXiv:2306.11695, eq. 1) and magnitudes.
usage: sparse.py golden tests/golden/sparse.safetensors
       sparse.py family tests/golden/family/NAME tests/golden/sparse_NAME.safetensors
       sparse.py model HFDIR BATCHES ROWS METHOD PATTERN OUT [DTYPE [reverse]]
       sparse.py zeros DIR DIR
       sparse.py blocks HFDIR SPARSE BATCHES ROWS HELDOUT ROWS PATTERN OUT [DTYPE]

golden: one random layer in double precision (tests/prune/obs.c).
family: 2:4 of a tiny model of family.py in double (tests/prune/sparsify.c).
model: every linear layer of the blocks of a Hugging Face model, one block after
another, each on the outputs of the sparse blocks before it; the model in DTYPE
(float32), H and the sweep in double.  The text is the first ROWS rows of a file
of batches, as stream writes it; with reverse, their pieces from last to first,
which changes rounding only.  OUT: a Hugging Face directory, weights as F32.
zeros: for each block, the share of weights that are zero in only one of two
sparse models.
blocks: as model by obs, but each block reads the outputs of the blocks before
it in SPARSE, which prune sparsify made from HFDIR by obs, so that differences
of rounding do not grow from block to block.  Prints for each block the share
of zeros in other places than SPARSE's, the error of a layer that is farthest
from SPARSE's, and the perplexity on the held-out rows of SPARSE with this
block in place of its own.  OUT: the model of all these blocks.
METHOD: obs, wanda or magnitude.  PATTERN: N:M (N of each M neighbours in a row
are kept), or the share of weights removed: of 128 columns together (obs), of
each row (wanda), of the matrix (magnitude).
Damping is 0.01 of the diagonal's mean; the sweep takes blocks of 128 columns."""
import json
import math
import os
import shutil
import struct
import sys
import time

import torch

BLOCK = 128
DAMP = 0.01


def smallest(score, k):
    """mask of the k smallest of each row; among equals the first"""
    at = torch.sort(score, dim=1, stable=True).indices[:, :k]
    return torch.zeros_like(score, dtype=torch.bool).scatter_(1, at, True)


def pattern_mask(score, pattern):
    """mask of the weights to remove by score [N,K]: N:M, or a share of each row"""
    if ':' in pattern:
        n, m = map(int, pattern.split(':'))
        return smallest(score.reshape(-1, m), m - n).reshape(score.shape)
    return smallest(score, round(score.shape[1] * float(pattern)))


def magnitude(w, pattern):
    s = w.abs()
    if ':' not in pattern:
        return w * ~pattern_mask(s.reshape(1, -1), pattern).reshape(w.shape)
    return w * ~pattern_mask(s, pattern)


def wanda(w, h, pattern):
    return w * ~pattern_mask(w.abs() * h.diagonal().sqrt(), pattern)


def obs(w, h, pattern):
    w, h = w.clone(), h.clone()
    dead = h.diagonal() == 0
    mean = h.diagonal()[~dead].mean()
    h[dead, dead] = mean
    w[:, dead] = 0
    h.diagonal().add_(DAMP * mean)
    u = torch.linalg.cholesky(
        torch.cholesky_inverse(torch.linalg.cholesky(h)), upper=True)
    for i1 in range(0, w.shape[1], BLOCK):
        i2 = min(i1 + BLOCK, w.shape[1])
        err = torch.zeros_like(w[:, i1:i2])
        d = u.diagonal()[i1:i2]
        gone = torch.zeros_like(err, dtype=torch.bool)
        if ':' not in pattern:
            s = (w[:, i1:i2] / d) ** 2
            gone = pattern_mask(s.reshape(1, -1), pattern).reshape(s.shape)
        for j in range(i2 - i1):
            if ':' in pattern and j % int(pattern.split(':')[1]) == 0:
                m = int(pattern.split(':')[1])
                gone[:, j:j + m] = pattern_mask(
                    (w[:, i1 + j:i1 + j + m] / d[j:j + m]) ** 2, pattern)
            col = w[:, i1 + j]
            e = torch.where(gone[:, j], col, 0) / d[j]
            err[:, j] = e
            w[:, i1 + j + 1:i2] -= e[:, None] * u[i1 + j, i1 + j + 1:i2]
            w[:, i1 + j] = torch.where(gone[:, j], 0, col)
        w[:, i2:] -= err @ u[i1:i2, i2:]
    return w


def method(name, w, h, pattern):
    return (magnitude(w, pattern) if name == 'magnitude' else
            wanda(w, h, pattern) if name == 'wanda' else obs(w, h, pattern))


def golden(path):
    import st
    g = torch.Generator().manual_seed(20261122)
    rows, cols, tokens = 8, 160, 400
    mix = torch.randn(cols, cols, generator=g, dtype=torch.float64)
    x = torch.randn(tokens, cols, generator=g, dtype=torch.float64) @ mix
    x *= torch.exp(torch.randn(cols, generator=g, dtype=torch.float64))
    x[:, 70] = 0                                     # a channel that is dead
    x = x.float()
    w = torch.randn(rows, cols, generator=g, dtype=torch.float32)
    h = x.double().T @ x.double()
    h32, wd = h.float(), w.double()
    h = h32.double()                                 # the values that are read
    out = {'w': w, 'h': h32}
    for p in ('2:4', '4:8', '1:4', '0.5', '0.7'):
        for name in ('obs', 'wanda', 'magnitude'):
            s = method(name, wd, h, p)
            out[f'{name}.{p}'] = s.float()
            e = wd - s
            out[f'{name}.{p}.error'] = torch.stack(
                [(e @ h * e).sum(), (wd @ h * wd).sum()])
    st.save(path, out, {'script': 'sparse.py', 'seed': 20261122,
                        'damping': DAMP, 'block': BLOCK,
                        'versions': st.versions(torch)})


def pieces(path, rows):
    """ids of each piece of the first rows of a stream, safetensors buffers one
    after another"""
    from safetensors.torch import load
    s, at, out, row0 = open(path, 'rb').read(), 0, [], 0
    while at < len(s):
        n, = struct.unpack_from('<Q', s, at)
        head = json.loads(s[at + 8:at + 8 + n])
        end = at + 8 + n + max([t['data_offsets'][1] for k, t in head.items()
                                if k != '__metadata__'], default=0)
        if head['__metadata__']['kind'] == 'batch':
            b, used = load(s[at:end]), {}
            for r, n in zip(b['piece_row'].tolist(), b['piece_len'].tolist()):
                t = used.get(r, 0)
                used[r] = t + n
                if row0 + r < rows:
                    out.append(b['ids'][r, t:t + n].long())
            row0 += len(b['ids'])
        at = end
    assert row0 >= rows
    return out


def arguments(m, ids):
    """input of the first block, and the other arguments that blocks are called with"""
    x, kept = [], []

    def hook(_, args, kwargs):
        x.append(args[0])
        kept.append(dict(kwargs))
    hooks = [b.register_forward_pre_hook(hook, with_kwargs=True)
             for b in m.model.layers]
    m.model(ids, use_cache=False)
    for h in hooks:
        h.remove()
    return x[0], kept


def linears(block):
    return {n: l for n, l in block.named_modules()
            if isinstance(l, torch.nn.Linear)}


def hessians(b, xs, kws, i):
    """X^T X of the inputs X of each linear layer of block i"""
    h = {n: torch.zeros(l.in_features, l.in_features, dtype=torch.float64)
         for n, l in linears(b).items()}

    def watch(n):
        def hook(_, args):
            x = args[0].reshape(-1, args[0].shape[-1]).double()
            h[n].addmm_(x.T, x)
        return hook
    hooks = [l.register_forward_pre_hook(watch(n))
             for n, l in linears(b).items()]
    step(b, xs, kws, i)
    for k in hooks:
        k.remove()
    return h


def step(b, xs, kws, i):
    """outputs of block i for each piece"""
    return [r[0] if isinstance(r, tuple) else r
            for r in (b(x, **kw[i]) for x, kw in zip(xs, kws))]


def start(m, ids):
    """of each piece, one at a time: as arguments()"""
    return zip(*(arguments(m, row[None]) for row in ids))


@torch.no_grad()
def walk(m, ids, name, pattern):
    """make every linear layer of the blocks sparse; returns the processor seconds"""
    seconds = 0.0
    xs, kws = start(m, ids)
    for i, b in enumerate(m.model.layers):
        h = hessians(b, xs, kws, i)
        t = time.process_time()
        for n, l in linears(b).items():
            l.weight.data = method(name, l.weight.data.double(), h[n],
                                   pattern).to(l.weight.dtype)
        seconds += time.process_time() - t
        xs = step(b, xs, kws, i)
        print(i, file=sys.stderr)
    return seconds


def error(w, s, h):
    """relative distance of the outputs of s from those of w"""
    w, h, e = w.double(), h.double(), w.double() - s.double()
    return ((e @ h * e).sum() / (w @ h * w).sum()).item()


def loss(m, xs, kws, i, ids):
    """mean loss of the pieces, from the inputs of block i on"""
    total = n = 0
    for k in range(i, len(m.model.layers)):
        xs = step(m.model.layers[k], xs, kws, k)
    for x, row in zip(xs, ids):
        z = m.lm_head(m.model.norm(x[0, :-1]))
        total += torch.nn.functional.cross_entropy(
            z, row[1:], reduction='sum').item()
        n += len(row) - 1
    return total / n


@torch.no_grad()
def blocks(folder, ours, path, rows, held, held_rows, pattern, out,
           dtype='float32'):
    """each block by itself, on what OUR sparse blocks before it give"""
    m, o = (load_model(f, getattr(torch, dtype)) for f in (folder, ours))
    ids, text = pieces(path, int(rows)), pieces(held, int(held_rows))
    text = [row for row in text if len(row) > 1]
    xs, kws = start(o, ids)
    hs, hkws = start(o, text)
    base = loss(o, hs, hkws, 0, text)
    print('perplexity', math.exp(base), 'torch', torch.__version__, dtype)
    print('block\tzeros that differ\terror/ours\tperplexity/ours')
    for i, (b, c) in enumerate(zip(m.model.layers, o.model.layers)):
        h, differ, size, worst = hessians(b, xs, kws, i), 0, 0, 0.0
        for n, l in linears(b).items():
            have = linears(c)[n].weight.data
            s = obs(l.weight.data.double(), h[n],
                    pattern).to(l.weight.dtype)
            differ += ((s == 0) != (have == 0)).sum().item()
            size += s.numel()
            e = error(l.weight.data, s, h[n]) / error(l.weight.data, have, h[n])
            worst = e - 1 if abs(e - 1) >= abs(worst) else worst
            l.weight.data = s
        o.model.layers[i] = b
        there = loss(o, hs, hkws, i, text)
        o.model.layers[i] = c
        print(f'{i}\t{differ / size:.2e}\t{worst:+.2e}'
              f'\t{math.exp(there - base) - 1:+.2e}', flush=True)
        xs, hs = step(c, xs, kws, i), step(c, hs, hkws, i)
    save(m, folder, out)


def double_angles(m):
    """of rotary embedding, which transformers computes in fp32: off by 3e-5 at
    position 512"""
    def forward(x, position_ids, layer_type=None):
        p = m.config.rope_parameters
        p = p if layer_type is None else p[layer_type]
        assert p['rope_type'] == 'default'
        n = m.model.layers[0].self_attn.head_dim
        f = p['rope_theta'] ** (-torch.arange(0, n, 2).double() / n)
        a = position_ids[..., None].double() * torch.cat((f, f))
        return a.cos().to(x.dtype), a.sin().to(x.dtype)
    m.model.rotary_emb.forward = forward


def all_double(m):
    """norms and softmax, which transformers computes in fp32 whatever comes"""
    def norm(n, w, eps):
        n.forward = lambda x: x * torch.rsqrt(
            x.square().mean(-1, keepdim=True) + eps) * w
    for n in m.modules():
        name = type(n).__name__
        if 'RMSNorm' in name:
            norm(n, n.weight + 1 if 'Gemma' in name else n.weight,
                 n.eps if hasattr(n, 'eps') else n.variance_epsilon)
    softmax = torch.nn.functional.softmax
    torch.nn.functional.softmax = lambda x, dim, dtype=None: softmax(x, dim)


def load_model(folder, dtype):
    import transformers
    m = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=dtype, attn_implementation='eager').eval()
    double_angles(m)
    if dtype == torch.float64:
        all_double(m)
    return m


def family(folder, path):
    """its ids are those of the family's other golden values"""
    import transformers
    import st
    from safetensors.torch import load_file
    g = load_file(f'{folder}.safetensors')
    ids = [i[f == at] for i, f in zip(g['ids'].to(torch.int64), g['first'])
           for at in f.unique()]
    out = {}
    for name in ('obs', 'wanda'):
        m = load_model(folder, torch.float64)
        walk(m, ids, name, '2:4')
        out |= {f'{name}.{n}': p.data.float()
                for n, p in m.named_parameters() if '_proj' in n}
    st.save(path, out, {'script': 'sparse.py', 'pattern': '2:4',
                        'damping': DAMP, 'versions':
                        st.versions(torch, transformers)})


def zeros(*folders):
    from safetensors.torch import load_file
    a, b = (load_file(f'{f}/model.safetensors') for f in folders)
    differ, size = {}, {}
    for n in (n for n in a if '_proj.weight' in n):
        i = int(n.split('layers.')[1].split('.')[0])
        differ[i] = differ.get(i, 0) + ((a[n] == 0) != (b[n] == 0)).sum().item()
        size[i] = size.get(i, 0) + a[n].numel()
    for i in sorted(size):
        print(f'{i}\t{differ[i] / size[i]:.2e}')
    print(f'all\t{sum(differ.values()) / sum(size.values()):.2e}')


def save(m, folder, out):
    """save model m, loaded from one folder, in another"""
    from safetensors.torch import load_file, save_file
    os.makedirs(out)
    for f in os.listdir(folder):
        if not f.endswith('.safetensors'):
            shutil.copy(f'{folder}/{f}', out)
    have = load_file(f'{folder}/model.safetensors')
    params = dict(m.named_parameters())
    save_file({n: params[n].data.float().contiguous() for n in have if n in params},
              f'{out}/model.safetensors', {'format': 'pt'})
    c = json.load(open(f'{out}/config.json'))
    c['torch_dtype'] = c['dtype'] = 'float32'
    json.dump(c, open(f'{out}/config.json', 'w'), indent=2)


def model(folder, path, rows, name, pattern, out, dtype='float32', order=''):
    import transformers
    m = load_model(folder, getattr(torch, dtype))
    ids = pieces(path, int(rows))
    seconds = walk(m, ids[::-1] if order == 'reverse' else ids, name, pattern)
    save(m, folder, out)
    print(f'sweep {seconds:.1f} processor seconds', 'torch', torch.__version__,
          'transformers', transformers.__version__)


if __name__ == '__main__':
    {'golden': golden, 'family': family, 'model': model,
     'zeros': zeros, 'blocks': blocks}[sys.argv[1]](*sys.argv[2:])
