/* The losses' kernels in plain double arithmetic; see loss.h. */
#include "kern/loss.h"
#include "kern/kern.h"

#include <math.h>

static struct lse_part
lse_ref(const float *restrict z, size_t n, float inv_tau)
{
    struct lse_part r = { -INFINITY, 0.0 };

    for (size_t i = 0; i < n; i++)
        if (!(z[i] * inv_tau <= r.max)) /* true for NaN, too */
            r.max = z[i] * inv_tau;
    for (size_t i = 0; i < n; i++)
        r.sum += exp((double)(z[i] * inv_tau) - r.max);
    return r;
}

static double
kd_grad_ref(float *restrict z, const float *restrict zt, size_t n, float tau,
    struct row_lse l, float w_ce, float w_kl)
{
    const double it = 1.0 / tau;
    double kl = 0.0;

    for (size_t i = 0; i < n; i++) {
        const double lq = zt[i] * it - l.tt, lp = z[i] * it - l.st;
        const double q = exp(lq);

        kl += q * (lq - lp);
        z[i] = (float)(w_ce * exp((double)z[i] - l.s1) +
            (double)w_kl * tau * (exp(lp) - q));
    }
    return kl;
}

/* min(x, 0); NaN for NaN. */
static double
below(double x)
{
    return x >= 0.0 ? 0.0 : x;
}

/* The number x such that, with diff = log(p/q) and m = beta p + (1 - beta) q,
 *   log(p/m) = below(diff) - x      log(q/m) = below(-diff) - x */
static double
log_mix(double diff, double beta)
{
    return beta == 1.0
        ? below(diff)
        : log(beta * exp(below(diff)) + (1.0 - beta) * exp(below(-diff)));
}

static struct mix_part
js_sums_ref(const float *restrict z, const float *restrict zt, size_t n,
    float tau, struct row_lse l, float beta)
{
    const double it = 1.0 / tau;
    struct mix_part r = { 0.0, 0.0, 0.0, 0.0 };

    for (size_t i = 0; i < n; i++) {
        const double lp = zt[i] * it - l.tt, lq = z[i] * it - l.st;
        const double mix = log_mix(lp - lq, beta);

        r.p += exp(lp);
        r.q += exp(lq);
        r.kl += exp(lp) * (below(lp - lq) - mix);
        r.own += exp(lq) * (below(lq - lp) - mix);
    }
    return r;
}

static void
js_grad_ref(float *restrict z, const float *restrict zt, size_t n, float tau,
    struct row_lse l, float beta, float own, float w_ce, float w)
{
    const double it = 1.0 / tau;

    for (size_t i = 0; i < n; i++) {
        const double lp = zt[i] * it - l.tt, lq = z[i] * it - l.st;
        const double share = below(lq - lp) - log_mix(lp - lq, beta);

        z[i] = (float)(w_ce * exp((double)z[i] - l.s1) +
            w * exp(lq) * (share - own));
    }
}

static void
ce_grad_ref(float *restrict z, size_t n, float s1, float w_ce)
{
    for (size_t i = 0; i < n; i++)
        z[i] = (float)(w_ce * exp((double)z[i] - s1));
}

static void
top_grad_ref(float *restrict z, size_t n, float s1, float w_ce, float tau,
    float rest, float b)
{
    const double it = 1.0 / tau;

    for (size_t i = 0; i < n; i++)
        z[i] =
            (float)(w_ce * exp((double)z[i] - s1) + b * exp(z[i] * it - rest));
}

static double
sumsq_ref(const float *restrict x, size_t n)
{
    double s = 0.0;

    for (size_t i = 0; i < n; i++)
        s += (double)x[i] * x[i];
    return s;
}

static void
adamw_ref(float *restrict p, float *restrict g, float *restrict m,
    float *restrict v, size_t n, const struct adamw_k *k)
{
    for (size_t i = 0; i < n; i++) {
        const double gi = (double)g[i] * k->scale;

        m[i] = (float)(m[i] + k->rest1 * (gi - m[i]));
        v[i] = (float)(k->beta2 * (double)v[i] + k->rest2 * gi * gi);
        p[i] = (float)((double)p[i] * k->decay -
            k->step * (double)m[i] / (sqrt((double)v[i]) * k->root + k->eps));
        g[i] = 0.0f;
    }
}

static void
ratio_ref(const float *restrict a, const float *restrict b, size_t n,
    double *num, double *den)
{
    for (size_t i = 0; i < n; i++) {
        const double diff = (double)a[i] - b[i];

        *num += diff * diff;
        *den += (double)b[i] * b[i];
    }
}

static void
diff_add_ref(float *restrict dx, const float *restrict a,
    const float *restrict b, size_t n, float c)
{
    for (size_t i = 0; i < n; i++)
        dx[i] += c * (a[i] - b[i]);
}

double
lse_join(const struct lse_part *part, size_t n, size_t stride)
{
    double max = -INFINITY, sum = 0.0;

    for (size_t i = 0; i < n; i++)
        if (!(part[i * stride].max <= max))
            max = part[i * stride].max;
    if (max == -INFINITY)
        return max;
    for (size_t i = 0; i < n; i++)
        sum += part[i * stride].sum * exp(part[i * stride].max - max);
    return max + log(sum);
}

const struct loss_kern loss_kern_ref = { lse_ref, kd_grad_ref, js_sums_ref,
    js_grad_ref, ce_grad_ref, top_grad_ref, sumsq_ref, adamw_ref, ratio_ref,
    diff_add_ref };

const struct loss_kern *
loss_kern(void)
{
    return kern.loss;
}
