"""Golden values of evalppl's expected acceptance of a draft and of the speed-up
that it would give, in double precision.
usage: draft.py GOLDEN.safetensors OUT.tsv    (tests/golden/grad/tied.safetensors;
                                               tests/golden/judge/draft.tsv)
GOLDEN: logits of student and teacher, as grad.py writes them.

Lines of OUT:
accept, source, mean, standard error: sum over the vocabulary of min(p, q), mean
    over scored predictions; the error is that of a ratio of sums over documents.
    Documents are the pieces; their sources are bg and cs in turn, as
    tests/evalppl/eval.c sends them.
speedup, a, cost, tokens, speed-up: the best number of drafted tokens, by trying
    each from 0 to 64.  A step's expected tokens are a sum over its outcomes: the
    first k drafted tokens are accepted and the next one is not."""
import math
import sys

import numpy as np
from safetensors.numpy import load_file

MOST = 64


def softmax(z):
    e = np.exp(z - z.max())
    return e / e.sum()


def acceptances(g):
    """of each piece: its source, and sum min(p, q) of its scored predictions"""
    zs = g['student.logits'].astype(np.float64)
    zt = g['teacher.logits'].astype(np.float64)
    scored = g['scored'].reshape(-1)
    B, T = g['ids'].shape
    zs, zt = zs.reshape(B * T, -1), zt.reshape(B * T, -1)
    out, row, at = [], -1, 0
    for k, (r, n) in enumerate(zip(g['piece_row'], g['piece_len'])):
        at = at if r == row else 0
        row = r
        i0 = int(r) * T + at
        out.append((['bg', 'cs'][k % 2],
                    [np.minimum(softmax(zs[i]), softmax(zt[i])).sum()
                     for i in range(i0, i0 + int(n)) if scored[i]]))
        at += int(n)
    return out


def ratio(docs):
    docs = [d for d in docs if d]
    n = sum(map(len, docs))
    m = sum(map(sum, docs)) / n
    sq = sum((sum(d) - m * len(d)) ** 2 for d in docs)
    return m, math.sqrt(len(docs) / (len(docs) - 1) * sq) / n


def expected_tokens(a, n):
    """k accepted and one of the base's, for each outcome k of n drafted"""
    return sum((k + 1) * a ** k * ((1 - a) if k < n else 1)
               for k in range(n + 1))


def best(a, c):
    speed = [expected_tokens(a, n) / (n * c + 1) for n in range(MOST + 1)]
    n = max(range(MOST + 1), key=lambda k: speed[k])
    return n, speed[n]


def main():
    docs = acceptances(load_file(sys.argv[1]))
    with open(sys.argv[2], 'w') as f:
        f.write(f'# draft.py {" ".join(sys.argv[1:])}; '
                f'python {sys.version.split()[0]}, numpy {np.__version__}\n')
        for source in '(all)', 'bg', 'cs':
            m, se = ratio([d for s, d in docs if source in ('(all)', s)])
            f.write(f'accept\t{source}\t{m:.12g}\t{se:.12g}\n')
        for a in 0, .3, .6, .7, .8, .9, .99, 1:
            for c in .03, .05, .1, .2, .37, .6, 1:
                n, speed = best(a, c)
                f.write(f'speedup\t{a}\t{c}\t{n}\t{speed:.12g}\n')


main()
