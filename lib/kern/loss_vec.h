/*
 * The template of the fast kernels of losses.  Included once for each
 * instruction set, with its vectors (see rows_vec.h) and LOSS_KERN, the table's
 * name.  Sums are in double and start at a call's first element, so their order
 * depends on n alone.
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
    /* are the two softmaxes of the student, at 1 and at tau, the same? */
    const int same = tau == 1.0f && l.s1 == l.st;
    vd lo = d_zero(), hi = d_zero();

    for (size_t i = 0; i < n; i += VW) {
        const vf a = get(z, i, n), b = get(zt, i, n);
        const vf q = v_exp(v_sub(v_mul(b, it), tt));
        const vf p = v_exp(v_sub(v_mul(a, it), st));
        const vf kl = keep(v_mul(q, v_fma(v_sub(b, a), it, shift)), i, n);
        const vf r = same ? p : v_exp(v_sub(a, s1));

        put(z, i, n, v_fma(ce, r, v_mul(wt, v_sub(p, q))));
        lo = d_add(lo, d_lo(kl));
        hi = d_add(hi, d_hi(kl));
    }
    return d_sum(d_add(lo, hi));
}

/*
 * log(x) of a normal x > 0, relative error below 2e-7: x = 2^n m, 2/3 <= m <
 * 4/3, and log(m) = 2 artanh(s), s = (m - 1)/(m + 1), by its series.
 */
static inline vf
v_log(vf x)
{
    vf n, m = v_split(x, &n), f = v_sub(m, v_set1(1.0f));
    const vf s = v_div(f, v_add(m, v_set1(1.0f))), s2 = v_mul(s, s);
    vf p = v_set1(2.0f / 11.0f);

    p = v_fma(p, s2, v_set1(2.0f / 9.0f));
    p = v_fma(p, s2, v_set1(2.0f / 7.0f));
    p = v_fma(p, s2, v_set1(2.0f / 5.0f));
    p = v_fma(p, s2, v_set1(2.0f / 3.0f));
    p = v_fma(v_mul(p, s2), s, v_add(s, s));
    return v_fma(n, v_set1(0.693147180559945309f), p);
}

/* The number x such that log(p/m) = down - x and log(q/m) = up - x, with diff =
 * log(p/q), down = min(diff, 0), up = min(-diff, 0). */
static inline vf
log_mix(vf down, vf up, float beta)
{
    if (beta == 1.0f)
        return down;
    return v_log(v_fma(v_set1(beta), v_exp(down),
        v_mul(v_set1(1.0f - beta), v_exp(up))));
}

static inline vd
both_halves(vf a)
{
    return d_add(d_lo(a), d_hi(a));
}

static struct mix_part
js_sums_vec(const float *restrict z, const float *restrict zt, size_t n,
    float tau, struct row_lse l, float beta)
{
    const vf it = v_set1(1.0f / tau), shift = v_set1(l.st - l.tt);
    const vf st = v_set1(l.st), tt = v_set1(l.tt), zero = v_set1(0.0f);
    vd p = d_zero(), q = d_zero(), kl = d_zero(), own = d_zero();

    for (size_t i = 0; i < n; i += VW) {
        const vf a = get(z, i, n), b = get(zt, i, n);
        const vf diff = v_fma(v_sub(b, a), it, shift);
        const vf down = v_min(zero, diff), up = v_min(zero, v_sub(zero, diff));
        const vf mix = log_mix(down, up, beta);
        const vf ep = keep(v_exp(v_sub(v_mul(b, it), tt)), i, n);
        const vf eq = keep(v_exp(v_sub(v_mul(a, it), st)), i, n);

        p = d_add(p, both_halves(ep));
        q = d_add(q, both_halves(eq));
        kl = d_add(kl, both_halves(v_mul(ep, v_sub(down, mix))));
        own = d_add(own, both_halves(v_mul(eq, v_sub(up, mix))));
    }
    return (struct mix_part){ d_sum(p), d_sum(q), d_sum(kl), d_sum(own) };
}

static void
js_grad_vec(float *restrict z, const float *restrict zt, size_t n, float tau,
    struct row_lse l, float beta, float own, float w_ce, float w)
{
    const vf it = v_set1(1.0f / tau), shift = v_set1(l.st - l.tt);
    const vf s1 = v_set1(l.s1), st = v_set1(l.st), mean = v_set1(own);
    const vf ce = v_set1(w_ce), wq = v_set1(w), zero = v_set1(0.0f);

    for (size_t i = 0; i < n; i += VW) {
        const vf a = get(z, i, n), b = get(zt, i, n);
        const vf diff = v_fma(v_sub(b, a), it, shift);
        const vf down = v_min(zero, diff), up = v_min(zero, v_sub(zero, diff));
        const vf share = v_sub(up, log_mix(down, up, beta));
        const vf q = v_mul(wq, v_exp(v_sub(v_mul(a, it), st)));

        put(z, i, n,
            v_fma(ce, v_exp(v_sub(a, s1)), v_mul(q, v_sub(share, mean))));
    }
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
    const float b1 = k->rest1, beta2 = k->beta2, b2 = k->rest2;
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

const struct loss_kern LOSS_KERN = { lse_vec, kd_grad_vec, js_sums_vec,
    js_grad_vec, ce_grad_vec, top_grad_vec, sumsq_vec, adamw_vec, ratio_vec,
    diff_add_vec };
