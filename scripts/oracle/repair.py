"""Golden values of repair: the remaining weights of a linear layer are changed to
make up for removed inputs, by least squares (numpy.linalg.lstsq) in double
precision.
usage: repair.py tests/golden/repair.safetensors

Of a layer y = W x, W [N,n], on inputs X [tokens,n], the columns K are kept.
Their new values minimise
    |X_K W'^T - X W^T|^2 + damp mean_k(H_kk) |W' - W_K|^2,  H = X^T X, k of K
where that is not 0, solved as one stacked system, not by normal equations.
`error`: the sums of squared differences from the outputs of W on X, of (W_K, 0),
of (W', 0) and of zero outputs.
aim.DAMP, aim.DAMP.error: the same with other outputs Y in place of X W^T, of which
`cross` [N,n] is Y^T X."""
import sys

import numpy as np

import st

SEED, N, COLS, TOKENS = 20261122, 10, 40, 300


def repaired(x, w, y, keep, damp):
    xk = x[:, keep]
    energy = (xk ** 2).sum(0)
    ridge = np.sqrt(damp * energy[energy > 0].mean())
    a = np.vstack([xk, ridge * np.eye(len(keep))])
    b = np.vstack([y, ridge * w[:, keep].T])
    return np.linalg.lstsq(a, b, rcond=None)[0].T


def error(x, y, v, keep):
    return ((y - x[:, keep] @ v.T) ** 2).sum()


def main(path):
    g = np.random.default_rng(SEED)
    mix = g.standard_normal((COLS, COLS))
    x = g.standard_normal((TOKENS, COLS)) @ mix
    x *= np.exp(g.standard_normal(COLS))
    x[:, 7] = 0                                     # kept, and never used
    w = g.standard_normal((N, COLS)).astype('f4').astype('f8')
    x = x.astype('f4').astype('f8')
    keep = np.array([i for i in range(COLS) if i % 3 != 1 or i == 7])
    out = {'w': w.astype('f4'), 'h': (x.T @ x).astype('f4'),
           'keep': keep.astype('u4')}
    whole = x @ w.T
    lacking = whole + (x[:, 5:6] ** 2) * .2 + 3 * g.standard_normal((TOKENS, N))
    for name, y in (('', whole), ('aim.', lacking)):
        for damp in (0.01, 0.3):
            v = repaired(x, w, y, keep, damp)
            out[f'{name}{damp}'] = v
            out[f'{name}{damp}.error'] = np.array(
                [error(x, y, w[:, keep], keep), error(x, y, v, keep), (y ** 2).sum()])
    out['cross'] = lacking.T @ x
    st.save(path, out, {'script': 'repair.py', 'seed': str(SEED),
                        'versions': st.versions(np)})


main(sys.argv[1])
