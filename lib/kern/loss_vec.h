/*
 * The fast text of the losses' kernels, included once an instruction set with
 * LOSS_KERN defined to the table's name.  Loops are over chunks of CHUNK
 * elements whose bodies the compiler vectorises; sums run in LANES fixed lanes
 * of double, so every set gives the same bits (no FMA contraction).
 */
#include "kern/loss.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define CHUNK 256
#define LANES 8

/* exp(x) for x <= ~88 within 2 ulp; 0 below -87.  Cody-Waite reduction and a
 * degree-6 polynomial.  NaN stays NaN. */
static inline float
fast_exp(float x)
{
    const float magic = 12582912.0f;        /* 1.5 * 2^23 */
    const float in = x;
    float t, r, p, scale;
    int32_t bits;

    x = x < -87.0f ? -87.0f : x;
    x = x > 88.0f ? 88.0f : x;
    t = x * 1.44269504f + magic;
    memcpy(&bits, &t, 4);
    bits = (int32_t)(((uint32_t)bits - 0x4b400000u + 127u) << 23);
    t -= magic;
    r = x - t * 0.693359375f;
    r = r - t * -2.12194440e-4f;
    p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    memcpy(&scale, &bits, 4);
    p *= scale;
    return in < -87.0f ? 0.0f : p;
}

static double
sum_chunk(const float *restrict x, size_t n)
{
    double lane[LANES] = { 0 };
    double s = 0.0;
    size_t i = 0;

    for (; i + LANES <= n; i += LANES)
        for (size_t j = 0; j < LANES; j++)
            lane[j] += (double)x[i + j];
    for (; i < n; i++)
        lane[i % LANES] += (double)x[i];
    for (size_t j = 0; j < LANES; j++)
        s += lane[j];
    return s;
}

/* Maximum of x[n]*c.  NaN is passed over: it spoils the sum that follows. */
static float
scaled_max(const float *restrict x, size_t n, float c)
{
    float lane[16], m;
    size_t i = 0;

    for (size_t j = 0; j < 16; j++)
        lane[j] = -INFINITY;
    for (; i + 16 <= n; i += 16)
        for (size_t j = 0; j < 16; j++) {
            const float y = x[i + j] * c;

            lane[j] = y > lane[j] ? y : lane[j];
        }
    for (; i < n; i++)
        lane[0] = x[i] * c > lane[0] ? x[i] * c : lane[0];
    m = lane[0];
    for (size_t j = 1; j < 16; j++)
        m = lane[j] > m ? lane[j] : m;
    return m;
}

static struct lse_part
lse_vec(const float *restrict z, size_t n, float inv_tau)
{
    struct lse_part r = { scaled_max(z, n, inv_tau), 0.0 };
    float e[CHUNK];

    for (size_t i = 0; i < n; i += CHUNK) {
        const size_t k = n - i < CHUNK ? n - i : CHUNK;

        for (size_t j = 0; j < k; j++)
            e[j] = fast_exp(z[i + j] * inv_tau - r.max);
        r.sum += sum_chunk(e, k);
    }
    return r;
}

static double
kd_grad_vec(float *restrict z, const float *restrict zt, size_t n, float tau,
    struct row_lse l, float w_ce, float w_kl)
{
    const float it = 1.0f / tau, wt = w_kl * tau, shift = l.st - l.tt;
    float kl[CHUNK];
    double sum = 0.0;

    for (size_t i = 0; i < n; i += CHUNK) {
        const size_t k = n - i < CHUNK ? n - i : CHUNK;

        for (size_t j = 0; j < k; j++) {
            const float a = z[i + j], b = zt[i + j];
            const float q = fast_exp(b * it - l.tt);
            const float p = fast_exp(a * it - l.st);

            kl[j] = q * ((b - a) * it + shift);
            z[i + j] = w_ce * fast_exp(a - l.s1) + wt * (p - q);
        }
        sum += sum_chunk(kl, k);
    }
    return sum;
}

static void
ce_grad_vec(float *restrict z, size_t n, float s1, float w_ce)
{
    for (size_t i = 0; i < n; i++)
        z[i] = w_ce * fast_exp(z[i] - s1);
}

static double
sumsq_vec(const float *restrict x, size_t n)
{
    double lane[LANES] = { 0 }, s = 0.0;
    size_t i = 0;

    for (; i + LANES <= n; i += LANES)
        for (size_t j = 0; j < LANES; j++)
            lane[j] += (double)x[i + j] * (double)x[i + j];
    for (; i < n; i++)
        lane[i % LANES] += (double)x[i] * (double)x[i];
    for (size_t j = 0; j < LANES; j++)
        s += lane[j];
    return s;
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
    double u[LANES] = { 0 }, w[LANES] = { 0 };
    size_t i = 0;

    for (; i + LANES <= n; i += LANES)
        for (size_t j = 0; j < LANES; j++) {
            const double y = b[i + j], diff = (double)a[i + j] - y;

            u[j] += diff * diff;
            w[j] += y * y;
        }
    for (; i < n; i++) {
        const double y = b[i], diff = (double)a[i] - y;

        u[i % LANES] += diff * diff;
        w[i % LANES] += y * y;
    }
    for (size_t j = 0; j < LANES; j++) {
        *num += u[j];
        *den += w[j];
    }
}

static void
diff_add_vec(float *restrict dx, const float *restrict a,
    const float *restrict b, size_t n, float c)
{
    for (size_t i = 0; i < n; i++)
        dx[i] += c * (a[i] - b[i]);
}

const struct loss_kern LOSS_KERN = {
    lse_vec, kd_grad_vec, ce_grad_vec, sumsq_vec, adamw_vec, ratio_vec,
    diff_add_vec
};
