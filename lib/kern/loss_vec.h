/*
 * The fast text of the losses' kernels, included once an instruction set with
 * its vectors (see rows_vec.h) and LOSS_KERN, the table's name.  Sums are in
 * double, each call's from its first element: their order depends on n alone.
 */
#include "kern/exp_vec.h"
#include "kern/kern.h"
#include "kern/loss.h"

#include <math.h>

static struct lse_part
lse_vec(const float *restrict z, size_t n, float inv_tau)
{
    const float m = kern.max(z, n);

    return (struct lse_part){ m * inv_tau, kern.expsum(z, n, m, inv_tau) };
}

static double
kd_grad_vec(float *restrict z, const float *restrict zt, size_t n, float tau,
    struct row_lse l, float w_ce, float w_kl)
{
    const vf it = v_set1(1.0f / tau), shift = v_set1(l.st - l.tt);
    const vf s1 = v_set1(l.s1), st = v_set1(l.st), tt = v_set1(l.tt);
    const vf ce = v_set1(w_ce), wt = v_set1(w_kl * tau);
    vd lo = d_zero(), hi = d_zero();

    for (size_t i = 0; i < n; i += VW) {
        const vf a = get(z, i, n), b = get(zt, i, n);
        const vf q = v_exp(v_sub(v_mul(b, it), tt));
        const vf p = v_exp(v_sub(v_mul(a, it), st));
        const vf kl = keep(v_mul(q, v_fma(v_sub(b, a), it, shift)), i, n);

        put(z, i, n, v_fma(ce, v_exp(v_sub(a, s1)), v_mul(wt, v_sub(p, q))));
        lo = d_add(lo, d_lo(kl));
        hi = d_add(hi, d_hi(kl));
    }
    return d_sum(d_add(lo, hi));
}

static void
ce_grad_vec(float *restrict z, size_t n, float s1, float w_ce)
{
    const vf s = v_set1(s1), ce = v_set1(w_ce);

    for (size_t i = 0; i < n; i += VW)
        put(z, i, n, v_mul(ce, v_exp(v_sub(get(z, i, n), s))));
}

static void
top_grad_vec(float *restrict z, size_t n, float s1, float w_ce, float tau,
    float rest, float b)
{
    const vf it = v_set1(1.0f / tau), r = v_set1(rest), s = v_set1(s1);
    const vf ce = v_set1(w_ce), kl = v_set1(b);

    for (size_t i = 0; i < n; i += VW) {
        const vf a = get(z, i, n);

        put(z, i, n,
            v_fma(ce, v_exp(v_sub(a, s)),
                v_mul(kl, v_exp(v_sub(v_mul(a, it), r)))));
    }
}

static double
sumsq_vec(const float *restrict x, size_t n)
{
    return kern.sumsq(x, n);
}

static void
adamw_vec(float *restrict p, float *restrict g, float *restrict m,
    float *restrict v, size_t n, const struct adamw_k *k)
{
    const float scale = k->scale, decay = k->decay, step = k->step;
    const float b1 = 1.0f - k->beta1, beta2 = k->beta2, b2 = 1.0f - k->beta2;
    const float root = k->root, eps = k->eps;

    for (size_t i = 0; i < n; i++) {
        const float gi = g[i] * scale;
        const float mi = m[i] + b1 * (gi - m[i]);
        const float vi = beta2 * v[i] + b2 * gi * gi;

        m[i] = mi;
        v[i] = vi;
        p[i] = p[i] * decay - step * mi / (sqrtf(vi) * root + eps);
        g[i] = 0.0f;
    }
}

static void
ratio_vec(const float *restrict a, const float *restrict b, size_t n,
    double *num, double *den)
{
    *num += kern.sqdist(a, b, n);
    *den += kern.sumsq(b, n);
}

static void
diff_add_vec(float *restrict dx, const float *restrict a,
    const float *restrict b, size_t n, float c)
{
    for (size_t i = 0; i < n; i++)
        dx[i] += c * (a[i] - b[i]);
}

const struct loss_kern LOSS_KERN = { lse_vec, kd_grad_vec, ce_grad_vec,
    top_grad_vec, sumsq_vec, adamw_vec, ratio_vec, diff_add_vec };
