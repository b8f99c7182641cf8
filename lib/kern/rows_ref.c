/* Row kernels in plain C: the definition that vector versions are compared
 * with.  Sums are in index order, and in double, but for dotf and the products,
 * which sum in fp32. */
#include "kern/rows_ref.h"
#include "kern/gemm.h"
#include "kern/kern.h"
#include "kern/int.h"
#include "kern/delta.h"
#include "kern/loss.h"
#include "kern/quant_fit.h"

#include <math.h>
#include <string.h>

static float
float_of_bits(uint32_t u)
{
    float f;

    memcpy(&f, &u, sizeof f);
    return f;
}

float
half_to_float(uint16_t h)
{
    const uint32_t sign = (uint32_t)(h & 0x8000) << 16;
    const uint32_t e = h >> 10 & 31, m = h & 0x3ff;

    if (e == 31) /* infinity, NaN */
        return float_of_bits(sign | 0x7f800000u | m << 13);
    if (e == 0) { /* zero, subnormal: m * 2^-24 */
        const float f = (float)m * 0x1p-24f;

        return sign ? -f : f;
    }
    return float_of_bits(sign | (e + 112) << 23 | m << 13);
}

static void
widen_f32(float *restrict out, const void *in, size_t n)
{
    memcpy(out, in, n * sizeof *out);
}

static void
widen_bf16(float *restrict out, const void *in, size_t n)
{
    const unsigned char *p = in;

    for (size_t i = 0; i < n; i++)
        out[i] = float_of_bits((uint32_t)load16(p + 2 * i) << 16);
}

static void
widen_f16(float *restrict out, const void *in, size_t n)
{
    const unsigned char *p = in;

    for (size_t i = 0; i < n; i++)
        out[i] = half_to_float(load16(p + 2 * i));
}

static void
spread_ref(float *restrict out, const float *restrict in,
    const unsigned char *restrict mask, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const int one = mask[i / 8] >> i % 8 & 1;

        out[i] = one ? *in : 0.0f;
        in += one;
    }
}

static void
widen_q8_0(float *restrict out, const void *in, size_t n)
{
    const unsigned char *p = in;

    for (size_t b = 0; b < n / 32; b++, p += 34, out += 32) {
        const float d = half_to_float(load16(p));

        for (size_t i = 0; i < 32; i++)
            out[i] = d * (float)(signed char)p[2 + i];
    }
}

static void
widen_q4_0(float *restrict out, const void *in, size_t n)
{
    const unsigned char *p = in;

    for (size_t b = 0; b < n / 32; b++, p += 18, out += 32) {
        const float d = half_to_float(load16(p));

        for (size_t i = 0; i < 16; i++) {
            out[i] = d * (float)((p[2 + i] & 15) - 8);
            out[i + 16] = d * (float)((p[2 + i] >> 4) - 8);
        }
    }
}

static void
widen_q4_1(float *restrict out, const void *in, size_t n)
{
    const unsigned char *p = in;

    for (size_t b = 0; b < n / 32; b++, p += 20, out += 32) {
        const float d = half_to_float(load16(p));
        const float m = half_to_float(load16(p + 2));

        for (size_t i = 0; i < 16; i++) {
            out[i] = (float)(p[4 + i] & 15) * d + m;
            out[i + 16] = (float)(p[4 + i] >> 4) * d + m;
        }
    }
}

static void
scale_groups(float *restrict out, const signed char *restrict q, size_t n,
    size_t group, const float *restrict d, const float *restrict m)
{
    for (size_t i = 0; i < n; i++)
        out[i] = d[i / group] * (float)q[i] - m[i / group];
}

static void
narrow_bf16(uint16_t *restrict out, const float *restrict in, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t u;

        memcpy(&u, in + i, sizeof u);
        if ((u & 0x7fffffffu) > 0x7f800000u)
            out[i] = (uint16_t)(u >> 16 | 0x40);
        else
            out[i] = (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
    }
}

static void
chance_bf16(uint16_t *restrict out, const float *restrict in,
    const uint16_t *restrict chance, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t u;

        memcpy(&u, in + i, sizeof u);
        if (((u + chance[i]) & 0x7f800000) != 0x7f800000)
            u += chance[i];
        out[i] = (uint16_t)(u >> 16);
    }
}

static uint16_t
half_of_float(float x)
{
    uint32_t u, m, shift, half;
    uint16_t sign;

    memcpy(&u, &x, sizeof u);
    sign = (uint16_t)(u >> 16 & 0x8000);
    u &= 0x7fffffffu;
    if (u > 0x7f800000u) /* NaN */
        return (uint16_t)(sign | 0x7e00 | (u >> 13 & 0x3ff));
    if (u >= 0x477ff000u) /* 65520 and more round to infinity */
        return (uint16_t)(sign | 0x7c00);
    if (u >= 0x38800000u) /* 2^-14 and more: normal */
        return (
            uint16_t)(sign | ((u - 0x38000000u + 0xfff + (u >> 13 & 1)) >> 13));
    if (u < 0x33000000u) /* less than half of 2^-24 */
        return sign;
    m = (u & 0x7fffff) | 0x800000;
    shift = 126 - (u >> 23);
    half = m >> shift;
    m &= (1u << shift) - 1;
    return (uint16_t)(sign |
        (half +
            (m > 1u << (shift - 1) || (m == 1u << (shift - 1) && (half & 1)))));
}

static void
narrow_f16(uint16_t *restrict out, const float *restrict in, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = half_of_float(in[i]);
}

static double
sumsq(const float *a, size_t n)
{
    double s = 0.0;

    for (size_t i = 0; i < n; i++)
        s += (double)a[i] * a[i];
    return s;
}

static float
rstd_of(const float *x, size_t n, float eps)
{
    return (float)(1.0 / sqrt(sumsq(x, n) / (double)n + (double)eps));
}

static void
rmsnorm(float *y, const float *x, const float *w, size_t n, float eps)
{
    const float r = rstd_of(x, n, eps);

    for (size_t i = 0; i < n; i++)
        y[i] = x[i] * r * w[i];
}

static float
rmsnorm_bwd(float *dx, const float *dy, const float *x, const float *w,
    size_t n, float eps, const float *res)
{
    const float r = rstd_of(x, n, eps);
    double s = 0.0;
    float c;

    for (size_t i = 0; i < n; i++)
        s += (double)dy[i] * w[i] * x[i];
    c = (float)(s / (double)n * r * r);
    for (size_t i = 0; i < n; i++) {
        const float g = r * (dy[i] * w[i] - c * x[i]);

        dx[i] = res != NULL ? res[i] + g : g;
    }
    return r;
}

static float
mean_of(const float *x, size_t n)
{
    double s = 0.0;

    for (size_t i = 0; i < n; i++)
        s += x[i];
    return (float)(s / (double)n);
}

/* LayerNorm's factor, 1 / sqrt(variance of x + eps). */
static float
centred_rstd(const float *x, size_t n, float mean, float eps)
{
    double s = 0.0;

    for (size_t i = 0; i < n; i++)
        s += (double)(x[i] - mean) * (x[i] - mean);
    return (float)(1.0 / sqrt(s / (double)n + (double)eps));
}

static void
layernorm(float *y, const float *x, const float *w, const float *b, size_t n,
    float eps)
{
    const float mean = mean_of(x, n), r = centred_rstd(x, n, mean, eps);

    for (size_t i = 0; i < n; i++)
        y[i] = (x[i] - mean) * r * w[i] + (b != NULL ? b[i] : 0.0f);
}

static float
layernorm_bwd(float *dx, const float *dy, const float *x, const float *w,
    size_t n, float eps, const float *res, float *mean)
{
    const float m = mean_of(x, n), r = centred_rstd(x, n, m, eps);
    double s = 0.0, sx = 0.0;
    float c, cx;

    for (size_t i = 0; i < n; i++) {
        s += (double)dy[i] * w[i];
        sx += (double)dy[i] * w[i] * (x[i] - m);
    }
    c = (float)(s / (double)n);
    cx = (float)(sx / (double)n * r * r);
    for (size_t i = 0; i < n; i++) {
        const float g = r * (dy[i] * w[i] - c - cx * (x[i] - m));

        dx[i] = res != NULL ? res[i] + g : g;
    }
    *mean = m;
    return r;
}

static void
rope(float *x, const float *cs, size_t n, int dir)
{
    const size_t half = n / 2;

    for (size_t i = 0; i < half; i++) {
        const float c = cs[i], s = (float)dir * cs[half + i];
        const float a = x[i], b = x[i + half];

        x[i] = a * c - b * s;
        x[i + half] = b * c + a * s;
    }
}

static void
silu_mul(float *act, const float *g, const float *u, size_t n)
{
    for (size_t i = 0; i < n; i++)
        act[i] = g[i] / (1.0f + expf(-g[i])) * u[i];
}

static void
silu_mul_bwd(float *dg, float *du, const float *dact, const float *g,
    const float *u, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const float a = g[i], b = u[i], d = dact[i];
        const float sig = 1.0f / (1.0f + expf(-a));
        const float silu = a * sig;

        dg[i] = d * b * (sig + silu * (1.0f - sig));
        du[i] = d * silu;
    }
}

static void
gelu_mul(float *act, const float *g, const float *u, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const float a = g[i], z2 = GELU_Z2 * (a + GELU_CUBE * a * a * a);

        act[i] = a / (1.0f + expf(-z2)) * u[i];
    }
}

static void
gelu_mul_bwd(float *dg, float *du, const float *dact, const float *g,
    const float *u, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const float a = g[i], b = u[i], d = dact[i];
        const float z2 = GELU_Z2 * (a + GELU_CUBE * a * a * a);
        const float sig = 1.0f / (1.0f + expf(-z2)), gelu = a * sig;
        const float slope = GELU_Z2 * (1.0f + 3.0f * GELU_CUBE * a * a);

        dg[i] = d * b * (sig + gelu * (1.0f - sig) * slope);
        du[i] = d * gelu;
    }
}

/* GELU is a share(a) and has this slope. */
static float
gelu_share(float a, int exact, float *slope)
{
    const float z2 = GELU_Z2 * (a + GELU_CUBE * a * a * a);
    const float share =
        exact ? 0.5f * erfcf(-a * sqrtf(0.5f)) : 1.0f / (1.0f + expf(-z2));
    const float turn = exact
        ? 0.39894228f * expf(-0.5f * a * a)
        : share * (1.0f - share) * GELU_Z2 * (1.0f + 3.0f * GELU_CUBE * a * a);

    *slope = share + a * turn;
    return share;
}

static void
gelu(float *act, const float *x, size_t n, int exact)
{
    float slope;

    for (size_t i = 0; i < n; i++)
        act[i] = x[i] * gelu_share(x[i], exact, &slope);
}

static void
gelu_bwd(float *dx, const float *dact, const float *x, size_t n, int exact)
{
    float slope;

    for (size_t i = 0; i < n; i++) {
        gelu_share(x[i], exact, &slope);
        dx[i] = dact[i] * slope;
    }
}

static void
xielu(float *act, const float *x, size_t n, const struct xielu *u)
{
    for (size_t i = 0; i < n; i++) {
        const float a = x[i], e = expm1f(a > u->eps ? u->eps : a);

        act[i] = u->beta * a + (a > 0.0f ? u->p * a * a : u->n * (e - a));
    }
}

static void
xielu_bwd(float *dx, const float *dact, const float *x, size_t n,
    const struct xielu *u, double sum[2])
{
    double p = 0.0, q = 0.0;

    for (size_t i = 0; i < n; i++) {
        const float a = x[i], d = dact[i];
        const float e = expm1f(a > u->eps ? u->eps : a);

        if (a > 0.0f)
            p += (double)d * (a * a);
        else
            q += (double)d * (e - a);
        dx[i] = d *
            (u->beta +
                (a > 0.0f            ? 2.0f * u->p * a
                        : a > u->eps ? -u->n
                                     : u->n * e));
    }
    sum[0] = p;
    sum[1] = q;
}

static void
softcap(float *z, float cap, size_t n)
{
    for (size_t i = 0; i < n; i++)
        z[i] = cap * tanhf(z[i] / cap);
}

static void
softcap_bwd(float *dz, const float *z, float cap, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const float t = z[i] / cap;

        dz[i] *= 1.0f - t * t;
    }
}

static void
add_ref(float *y, const float *a, const float *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = a[i] + b[i];
}

static void
axpy(float *restrict y, float a, const float *restrict x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] += a * x[i];
}

static void
scale(float *y, float a, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] *= a;
}

static void
mul(float *restrict y, const float *restrict x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] *= x[i];
}

static void
axmul(float *restrict y, float a, const float *x, const float *z, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] += a * x[i] * z[i];
}

static double
dot(const float *a, const float *b, size_t n)
{
    double s = 0.0;

    for (size_t i = 0; i < n; i++)
        s += (double)a[i] * b[i];
    return s;
}

static float
dotf(const float *a, const float *b, size_t n)
{
    float s = 0.0f;

    for (size_t i = 0; i < n; i++)
        s += a[i] * b[i];
    return s;
}

static void
dots(size_t m, size_t n, size_t k, const float *x, const float *w, size_t ldw,
    float *y, size_t ldy)
{
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++)
            y[i * ldy + j] = dotf(x + i * k, w + j * ldw, k);
}

static void
dots_stored(size_t m, size_t n, size_t k, const float *x,
    const struct kern_rows *w, float *y, size_t ldy)
{
    for (size_t i = 0; i < m; i++, x += k, y += ldy)
        for (size_t j = 0; j < n; j++) {
            const unsigned char *p = w->data + j * w->stride;
            const unsigned char *mask =
                w->mask != NULL ? w->mask + j * w->mask_stride : NULL;

            y[j] = 0.0f;
            for (size_t c = 0; c < k; c++) {
                float v = 0.0f;

                if (mask == NULL || mask[c / 8] >> c % 8 & 1) {
                    (w->half ? widen_bf16 : widen_f32)(&v, p, 1);
                    p += w->half ? 2 : 4;
                }
                y[j] += x[c] * v;
            }
        }
}

static double
sqdist(const float *a, const float *b, size_t n)
{
    double s = 0.0;

    for (size_t i = 0; i < n; i++) {
        const double d = (double)a[i] - b[i];

        s += d * d;
    }
    return s;
}

static void
powers(double *sum, float *top, const float *x, size_t t, size_t ld, size_t n)
{
    for (size_t i = 0; i < t; i++, x += ld)
        for (size_t c = 0; c < n; c++) {
            const double v = x[c];

            sum[c] += fabs(v);
            sum[n + c] += v;
            sum[2 * n + c] += v * v;
            sum[3 * n + c] += v * v * v;
            sum[4 * n + c] += v * v * v * v;
            top[c] = fmaxf(top[c], fabsf(x[c]));
        }
}

static float
max(const float *x, size_t n)
{
    float m = -INFINITY;

    for (size_t i = 0; i < n; i++)
        m = x[i] > m ? x[i] : m;
    return m;
}

static double
expsum(const float *x, size_t n, float m, float s)
{
    double sum = 0.0;

    for (size_t i = 0; i < n; i++)
        sum += expf((x[i] - m) * s);
    return sum;
}

static double
exp_row(float *out, const float *x, size_t n, float m, float s)
{
    double sum = 0.0;

    for (size_t i = 0; i < n; i++) {
        out[i] = expf((x[i] - m) * s);
        sum += out[i];
    }
    return sum;
}

static void
exp_mul(float *restrict out, const float *restrict x, size_t n, float m,
    float s, float c, int adding)
{
    for (size_t i = 0; i < n; i++) {
        const float e = c * expf((x[i] - m) * s);

        out[i] = adding ? out[i] + e : e;
    }
}

static double
kl_sums(const float *zp, const float *zq, size_t n, float m, float s, double *w)
{
    double sum = 0.0, sw = 0.0;

    for (size_t i = 0; i < n; i++) {
        const double p = expf((zp[i] - m) * s);

        sum += p;
        sw += p * ((double)zp[i] - zq[i]);
    }
    *w = sw;
    return sum;
}

static void
attn_ds(float *restrict s, float *restrict dp, size_t n, float lse, float delta)
{
    for (size_t i = 0; i < n; i++) {
        s[i] = expf(s[i] - lse);
        dp[i] = s[i] * (dp[i] - delta);
    }
}

#define KERN_REF                                                              \
    {                                                                         \
        .name = "ref", .gemm_nt = gemm_nt_ref, .gemm_nn = gemm_nn_ref,        \
        .gemm_tn = gemm_tn_ref, .gemm_double = gemm_double_ref, .dots = dots, \
        .dots_stored = dots_stored, .widen_bf16 = widen_bf16,                 \
        .widen_f16 = widen_f16, .widen_q8_0 = widen_q8_0,                     \
        .widen_q4_0 = widen_q4_0, .widen_q4_1 = widen_q4_1,                   \
        .scale_groups = scale_groups, .spread = spread_ref,                   \
        .narrow_bf16 = narrow_bf16, .narrow_f16 = narrow_f16,                 \
        .rmsnorm = rmsnorm, .rmsnorm_bwd = rmsnorm_bwd,                       \
        .layernorm = layernorm, .layernorm_bwd = layernorm_bwd, .rope = rope, \
        .silu_mul = silu_mul, .silu_mul_bwd = silu_mul_bwd,                   \
        .gelu_mul = gelu_mul, .gelu_mul_bwd = gelu_mul_bwd, .gelu = gelu,     \
        .gelu_bwd = gelu_bwd, .xielu = xielu, .xielu_bwd = xielu_bwd,         \
        .softcap = softcap, .softcap_bwd = softcap_bwd, .add = add_ref,       \
        .axpy = axpy, .scale = scale, .mul = mul, .axmul = axmul, .dot = dot, \
        .sumsq = sumsq, .sqdist = sqdist, .dotf = dotf, .powers = powers,     \
        .max = max, .expsum = expsum, .exp = exp_row, .exp_mul = exp_mul,     \
        .kl_sums = kl_sums, .attn_ds = attn_ds, .delta = delta_ref,           \
        .delta_bwd = delta_bwd_ref, .loss = &loss_kern_ref,                   \
        .ints = &int_kern_ref, .chance_bf16 = chance_bf16,                    \
        .fit = &fit_kern_ref                                                  \
    }

const struct kern kern_ref = KERN_REF;
struct kern kern = KERN_REF;
