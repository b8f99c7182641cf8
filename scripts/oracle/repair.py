"""Golden values of repair: the remaining weights of a linear layer are changed to
make up for removed inputs, by least squares (numpy.linalg.lstsq) in double
precision.
usage: repair.py tests/golden/repair.safetensors

Of a layer y = W x, W [N,n], on inputs X [tokens,n], the columns K are kept.
Their new values minimise
    |X_K W'^T - X W^T|^2 + damp mean_k(H_kk) |W' - W_K|^2,  H = X^T X, k of K
where that is not 0, solved as one stacked system, not by normal equations.
`error`: the sums of squared differences from the outputs of W on X, of (W_K, 0),
of (W', 0) and of zero outputs."""
import sys

import numpy as np

import st

SEED, N, COLS, TOKENS = 20261122, 10, 40, 300


def repaired(x, w, keep, damp):
    xk = x[:, keep]
    energy = (xk ** 2).sum(0)
    ridge = np.sqrt(damp * energy[energy > 0].mean())
    a = np.vstack([xk, ridge * np.eye(len(keep))])
    b = np.vstack([x @ w.T, ridge * w[:, keep].T])
    return np.linalg.lstsq(a, b, rcond=None)[0].T


def error(x, w, v, keep):
    return ((x @ w.T - x[:, keep] @ v.T) ** 2).sum()


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
    for damp in (0.01, 0.3):
        v = repaired(x, w, keep, damp)
        out[f'{damp}'] = v
        out[f'{damp}.error'] = np.array(
            [error(x, w, w[:, keep], keep), error(x, w, v, keep),
             ((x @ w.T) ** 2).sum()])
    st.save(path, out, {'script': 'repair.py', 'seed': str(SEED),
                        'versions': st.versions(np)})


main(sys.argv[1])
