/*
 * Row kernels over the vector operations that the including file defines for
 * its instruction set (VW floats a vector).  Each call starts at its first
 * element, so the order of additions depends on n alone.  kern.h says what the
 * kernels do, rows_ref.c defines their results.
 */
#include "kern/delta_vec.h"
#include "kern/exp_vec.h"
#include "kern/loss.h"
#include "kern/quant_fit.h"

#include <math.h>
#include <string.h>

static void
widen_bf16(float *restrict out, const void *in, size_t n)
{
    const unsigned char *p = in;
    size_t i = 0;

    for (; i + VW <= n; i += VW)
        v_store(out + i, v_from_bf16(p + 2 * i));
    kern_ref.widen_bf16(out + i, p + 2 * i, n - i);
}

static void
widen_f16(float *restrict out, const void *in, size_t n)
{
    const unsigned char *p = in;
    size_t i = 0;

    for (; i + VW <= n; i += VW)
        v_store(out + i, v_from_f16(p + 2 * i));
    kern_ref.widen_f16(out + i, p + 2 * i, n - i);
}

static void
spread(float *restrict out, const float *restrict in,
    const unsigned char *restrict mask, size_t n)
{
    size_t i = 0;

    for (; i + VW <= n; i += VW)
        v_store(out + i, v_spread(h_load(in + i / 2), mask + i / 8));
    kern_ref.spread(out + i, in + i / 2, mask + i / 8, n - i);
}

static void
narrow_bf16(uint16_t *restrict out, const float *restrict in, size_t n)
{
    size_t i = 0;

    for (; i + VW <= n; i += VW)
        v_narrow_bf16(out + i, v_load(in + i));
    kern_ref.narrow_bf16(out + i, in + i, n - i);
}

static void
chance_bf16(uint16_t *restrict out, const float *restrict in,
    const uint16_t *restrict chance, size_t n)
{
    size_t i = 0;

    for (; i + VW <= n; i += VW)
        v_chance_bf16(out + i, v_load(in + i), chance + i);
    kern_ref.chance_bf16(out + i, in + i, chance + i, n - i);
}

static inline float
half_at(const unsigned char *p)
{
    uint16_t h;

    memcpy(&h, p, sizeof h); /* this processor is little-endian */
    return v_half(h);
}

static void
widen_q8_0(float *restrict out, const void *in, size_t n)
{
    const unsigned char *p = in;

    for (size_t b = 0; b < n / 32; b++, p += 34, out += 32) {
        const vf d = v_set1(half_at(p));

        for (size_t i = 0; i < 32; i += VW)
            v_store(out + i, v_mul(d, v_from_i8(p + 2 + i)));
    }
}

/* Unpack the 32 nibbles of a block into bytes, low halves first, and subtract
 * `sub` from each. */
static inline void
nibbles(unsigned char q[32], const unsigned char *p, int sub)
{
    for (size_t i = 0; i < 16; i++) {
        q[i] = (unsigned char)((p[i] & 15) - sub);
        q[i + 16] = (unsigned char)((p[i] >> 4) - sub);
    }
}

static void
widen_q4_0(float *restrict out, const void *in, size_t n)
{
    const unsigned char *p = in;
    unsigned char q[32];

    for (size_t b = 0; b < n / 32; b++, p += 18, out += 32) {
        const vf d = v_set1(half_at(p));

        nibbles(q, p + 2, 8);
        for (size_t i = 0; i < 32; i += VW)
            v_store(out + i, v_mul(d, v_from_i8(q + i)));
    }
}

/* Multiply and add with two roundings, as ggml and the reference do. */
static void
widen_q4_1(float *restrict out, const void *in, size_t n)
{
    const unsigned char *p = in;
    unsigned char q[32];

    for (size_t b = 0; b < n / 32; b++, p += 20, out += 32) {
        const vf d = v_set1(half_at(p)), m = v_set1(half_at(p + 2));

        nibbles(q, p + 4, 0);
        for (size_t i = 0; i < 32; i += VW)
            v_store(out + i, v_add(v_mul(v_from_i8(q + i), d), m));
    }
}

static void
scale_groups(float *restrict out, const signed char *restrict q, size_t n,
    size_t group, const float *restrict d, const float *restrict m)
{
    for (size_t i = 0; i < n; i += group, d++, m++) {
        const vf s = v_set1(*d), min = v_set1(*m);

        for (size_t k = i; k < i + group; k += VW)
            v_store(out + k, v_sub(v_mul(s, v_from_i8(q + k)), min));
    }
}

/* sumsq, dot and sqdist sum in two vectors of doubles, one for the lower and
 * one for the upper half of a vector of floats. */
static double
sumsq(const float *a, size_t n)
{
    vd lo = d_zero(), hi = d_zero();

    for (size_t i = 0; i < n; i += VW) {
        const vf x = get(a, i, n);
        const vd xl = d_lo(x), xh = d_hi(x);

        lo = d_fma(xl, xl, lo);
        hi = d_fma(xh, xh, hi);
    }
    return d_sum(d_add(lo, hi));
}

static double
dot(const float *a, const float *b, size_t n)
{
    vd lo = d_zero(), hi = d_zero();

    for (size_t i = 0; i < n; i += VW) {
        const vf x = get(a, i, n), y = get(b, i, n);

        lo = d_fma(d_lo(x), d_lo(y), lo);
        hi = d_fma(d_hi(x), d_hi(y), hi);
    }
    return d_sum(d_add(lo, hi));
}

static double
sqdist(const float *a, const float *b, size_t n)
{
    vd lo = d_zero(), hi = d_zero();

    for (size_t i = 0; i < n; i += VW) {
        const vf x = get(a, i, n), y = get(b, i, n);
        const vd l = d_sub(d_lo(x), d_lo(y)), h = d_sub(d_hi(x), d_hi(y));

        lo = d_fma(l, l, lo);
        hi = d_fma(h, h, hi);
    }
    return d_sum(d_add(lo, hi));
}

static float
dotf(const float *a, const float *b, size_t n)
{
    vf s0 = v_set1(0.0f), s1 = s0, s2 = s0, s3 = s0;
    size_t i = 0;

    for (; i + 4 * VW <= n; i += 4 * VW) {
        s0 = v_fma(v_load(a + i), v_load(b + i), s0);
        s1 = v_fma(v_load(a + i + VW), v_load(b + i + VW), s1);
        s2 = v_fma(v_load(a + i + 2 * VW), v_load(b + i + 2 * VW), s2);
        s3 = v_fma(v_load(a + i + 3 * VW), v_load(b + i + 3 * VW), s3);
    }
    for (; i < n; i += VW)
        s0 = v_fma(get(a, i, n), get(b, i, n), s0);
    return v_hsum(v_add(v_add(s0, s1), v_add(s2, s3)));
}

/* Add |x|, x, x^2, x^3, x^4 of the doubles x to s[0..4]; a = |x|. */
static inline void
add_powers(vd *s, vd a, vd x)
{
    const vd x2 = d_fma(x, x, d_zero());

    s[0] = d_add(s[0], a);
    s[1] = d_add(s[1], x);
    s[2] = d_add(s[2], x2);
    s[3] = d_fma(x2, x, s[3]);
    s[4] = d_fma(x2, x2, s[4]);
}

/* Go down all rows with one vector of columns, then with the next vector. */
static void
powers(double *sum, float *top, const float *x, size_t t, size_t ld, size_t n)
{
    for (size_t c = 0; c < n; c += VW) {
        vd lo[5], hi[5];
        vf m = get(top, c, n);
        double out[VW];

        for (size_t k = 0; k < 5; k++)
            lo[k] = hi[k] = d_zero();
        for (size_t i = 0; i < t; i++) {
            const vf v = get(x + i * ld, c, n);
            const vf a = v_max(v, v_sub(v_set1(0.0f), v));

            m = v_max(m, a);
            add_powers(lo, d_lo(a), d_lo(v));
            add_powers(hi, d_hi(a), d_hi(v));
        }
        put(top, c, n, m);
        for (size_t k = 0; k < 5; k++) {
            d_store(out, lo[k]);
            d_store(out + VW / 2, hi[k]);
            for (size_t j = 0; j < VW && c + j < n; j++)
                sum[k * n + c + j] += out[j];
        }
    }
}

static float
rstd_of(const float *x, size_t n, float eps)
{
    return (float)(1.0 / sqrt(sumsq(x, n) / (double)n + (double)eps));
}

static void
rmsnorm(float *y, const float *x, const float *w, size_t n, float eps)
{
    const vf r = v_set1(rstd_of(x, n, eps));

    for (size_t i = 0; i < n; i += VW)
        put(y, i, n, v_mul(v_mul(get(x, i, n), r), get(w, i, n)));
}

static float
rmsnorm_bwd(float *dx, const float *dy, const float *x, const float *w,
    size_t n, float eps, const float *res)
{
    const float r = rstd_of(x, n, eps);
    const vf vr = v_set1(r);
    vd lo = d_zero(), hi = d_zero();
    double s;
    vf c;

    for (size_t i = 0; i < n; i += VW) {
        const vf g = v_mul(get(dy, i, n), get(w, i, n)), v = get(x, i, n);

        lo = d_fma(d_lo(g), d_lo(v), lo);
        hi = d_fma(d_hi(g), d_hi(v), hi);
    }
    s = d_sum(d_add(lo, hi));
    c = v_set1((float)(s / (double)n * r * r));
    for (size_t i = 0; i < n; i += VW) {
        const vf g = v_mul(get(dy, i, n), get(w, i, n));
        vf d = v_mul(vr, v_fnma(c, get(x, i, n), g));

        if (res != NULL)
            d = v_add(get(res, i, n), d);
        put(dx, i, n, d);
    }
    return r;
}

static float
mean_of(const float *x, size_t n)
{
    vd lo = d_zero(), hi = d_zero();

    for (size_t i = 0; i < n; i += VW) {
        const vf v = get(x, i, n);

        lo = d_add(d_lo(v), lo);
        hi = d_add(d_hi(v), hi);
    }
    return (float)(d_sum(d_add(lo, hi)) / (double)n);
}

/* x[i] - mean, x[i + 1] - mean ..., as many as a vector has; 0 from x[n] on. */
static inline vf
centred(const float *x, size_t i, size_t n, float mean)
{
    float y[VW] = { 0 };

    if (i + VW <= n)
        return v_sub(get(x, i, n), v_set1(mean));
    for (size_t j = 0; i + j < n; j++)
        y[j] = x[i + j] - mean;
    return get(y, 0, VW);
}

/* LayerNorm's factor, 1 / sqrt(variance of x + eps). */
static float
centred_rstd(const float *x, size_t n, float mean, float eps)
{
    vd lo = d_zero(), hi = d_zero();

    for (size_t i = 0; i < n; i += VW) {
        const vf v = centred(x, i, n, mean);

        lo = d_fma(d_lo(v), d_lo(v), lo);
        hi = d_fma(d_hi(v), d_hi(v), hi);
    }
    return (float)(1.0 / sqrt(d_sum(d_add(lo, hi)) / (double)n + (double)eps));
}

static void
layernorm(float *y, const float *x, const float *w, const float *b, size_t n,
    float eps)
{
    const float mean = mean_of(x, n);
    const vf r = v_set1(centred_rstd(x, n, mean, eps));

    for (size_t i = 0; i < n; i += VW) {
        const vf z = v_mul(v_mul(centred(x, i, n, mean), r), get(w, i, n));

        put(y, i, n, b != NULL ? v_add(z, get(b, i, n)) : z);
    }
}

static float
layernorm_bwd(float *dx, const float *dy, const float *x, const float *w,
    size_t n, float eps, const float *res, float *mean)
{
    const float m = mean_of(x, n), r = centred_rstd(x, n, m, eps);
    const vf vr = v_set1(r);
    vd lo = d_zero(), hi = d_zero(), xlo = d_zero(), xhi = d_zero();
    vf c, cx;

    for (size_t i = 0; i < n; i += VW) {
        const vf g = v_mul(get(dy, i, n), get(w, i, n));
        const vf v = centred(x, i, n, m);

        lo = d_add(d_lo(g), lo);
        hi = d_add(d_hi(g), hi);
        xlo = d_fma(d_lo(g), d_lo(v), xlo);
        xhi = d_fma(d_hi(g), d_hi(v), xhi);
    }
    c = v_set1((float)(d_sum(d_add(lo, hi)) / (double)n));
    cx = v_set1((float)(d_sum(d_add(xlo, xhi)) / (double)n * r * r));
    for (size_t i = 0; i < n; i += VW) {
        const vf g = v_mul(get(dy, i, n), get(w, i, n));
        vf d = v_fnma(cx, centred(x, i, n, m), v_sub(g, c));

        d = v_mul(vr, d);
        if (res != NULL)
            d = v_add(get(res, i, n), d);
        put(dx, i, n, d);
    }
    *mean = m;
    return r;
}

static void
rope(float *x, const float *cs, size_t n, int dir)
{
    const size_t half = n / 2;
    const vf vdir = v_set1((float)dir);

    for (size_t i = 0; i < half; i += VW) {
        const vf c = get(cs, i, half);
        const vf s = v_mul(vdir, get(cs + half, i, half));
        const vf a = get(x, i, half), b = get(x + half, i, half);

        put(x, i, half, v_fnma(b, s, v_mul(a, c)));
        put(x + half, i, half, v_fma(a, s, v_mul(b, c)));
    }
}

#include "kern/units_vec.h"

/* tanh(x), relative error below 4e-7: a quotient of polynomials (Eigen's
 * ptanh), beyond whose range tanh is 1 in fp32. */
static inline vf
v_tanh(vf x)
{
    static const float odd[] = { 2.00018790482477e-13f, -8.60467152213735e-11f,
        5.12229709037114e-08f, 1.48572235717979e-05f, 6.37261928875436e-04f,
        4.89352455891786e-03f };
    static const float even[] = { 1.18534705686654e-04f, 2.26843463243900e-03f,
        4.89352518554385e-03f };
    vf sq, p = v_set1(-2.76076847742355e-16f);
    vf q = v_set1(1.19825839466702e-06f);

    x = v_min(v_set1(7.90531110763549805f),
        v_max(v_set1(-7.90531110763549805f), x));
    sq = v_mul(x, x);
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        p = v_fma(p, sq, v_set1(odd[i]));
    for (size_t i = 0; i < sizeof even / sizeof *even; i++)
        q = v_fma(q, sq, v_set1(even[i]));
    return v_div(v_mul(x, p), q);
}

static void
softcap(float *z, float cap, size_t n)
{
    const vf c = v_set1(cap), by = v_set1(1.0f / cap);

    for (size_t i = 0; i < n; i += VW)
        put(z, i, n, v_mul(c, v_tanh(v_mul(get(z, i, n), by))));
}

static void
softcap_bwd(float *dz, const float *z, float cap, size_t n)
{
    const vf by = v_set1(1.0f / cap);

    for (size_t i = 0; i < n; i += VW) {
        const vf t = v_mul(get(z, i, n), by), d = get(dz, i, n);

        put(dz, i, n, v_sub(d, v_mul(d, v_mul(t, t))));
    }
}

static void
add(float *y, const float *a, const float *b, size_t n)
{
    for (size_t i = 0; i < n; i += VW)
        put(y, i, n, v_add(get(a, i, n), get(b, i, n)));
}

static void
axpy(float *restrict y, float a, const float *restrict x, size_t n)
{
    const vf va = v_set1(a);

    for (size_t i = 0; i < n; i += VW)
        put(y, i, n, v_fma(va, get(x, i, n), get(y, i, n)));
}

static void
scale(float *y, float a, size_t n)
{
    const vf va = v_set1(a);

    for (size_t i = 0; i < n; i += VW)
        put(y, i, n, v_mul(va, get(y, i, n)));
}

static void
mul(float *restrict y, const float *restrict x, size_t n)
{
    for (size_t i = 0; i < n; i += VW)
        put(y, i, n, v_mul(get(y, i, n), get(x, i, n)));
}

static void
axmul(float *restrict y, float a, const float *x, const float *z, size_t n)
{
    const vf va = v_set1(a);

    for (size_t i = 0; i < n; i += VW)
        put(y, i, n,
            v_fma(v_mul(va, get(x, i, n)), get(z, i, n), get(y, i, n)));
}

static float
max(const float *x, size_t n)
{
    vf m0 = v_set1(-INFINITY), m1 = m0;
    size_t i = 0;

    for (; i + 2 * VW <= n; i += 2 * VW) {
        m0 = v_max(v_load(x + i), m0);
        m1 = v_max(v_load(x + i + VW), m1);
    }
    for (; i + VW <= n; i += VW)
        m0 = v_max(v_load(x + i), m0);
    if (i < n)
        m0 = v_max(v_load_part(x + i, n - i, -INFINITY), m0);
    return v_hmax(v_max(m0, m1));
}

static double
exp_any(float *out, const float *x, size_t n, float m, float s)
{
    const vf vm = v_set1(m), vs = v_set1(s);
    vd lo = d_zero(), hi = d_zero();

    for (size_t i = 0; i < n; i += VW) {
        const vf e = keep(v_exp(v_mul(v_sub(get(x, i, n), vm), vs)), i, n);

        if (out != NULL)
            put(out, i, n, e);
        lo = d_add(lo, d_lo(e));
        hi = d_add(hi, d_hi(e));
    }
    return d_sum(d_add(lo, hi));
}

static double
expsum(const float *x, size_t n, float m, float s)
{
    return exp_any(NULL, x, n, m, s);
}

static double
exp_row(float *out, const float *x, size_t n, float m, float s)
{
    return exp_any(out, x, n, m, s);
}

static void
exp_mul(float *restrict out, const float *restrict x, size_t n, float m,
    float s, float c, int adding)
{
    const vf vm = v_set1(m), vs = v_set1(s), vc = v_set1(c);

    for (size_t i = 0; i < n; i += VW) {
        const vf e = v_exp(v_mul(v_sub(get(x, i, n), vm), vs));

        put(out, i, n, adding ? v_fma(vc, e, get(out, i, n)) : v_mul(vc, e));
    }
}

static double
kl_sums(const float *zp, const float *zq, size_t n, float m, float s, double *w)
{
    const vf vm = v_set1(m), vs = v_set1(s);
    vd lo = d_zero(), hi = d_zero(), wl = d_zero(), wh = d_zero();

    for (size_t i = 0; i < n; i += VW) {
        const vf p = get(zp, i, n), q = get(zq, i, n);
        const vf e = keep(v_exp(v_mul(v_sub(p, vm), vs)), i, n);
        const vd el = d_lo(e), eh = d_hi(e);

        lo = d_add(lo, el);
        hi = d_add(hi, eh);
        wl = d_fma(el, d_sub(d_lo(p), d_lo(q)), wl);
        wh = d_fma(eh, d_sub(d_hi(p), d_hi(q)), wh);
    }
    *w = d_sum(d_add(wl, wh));
    return d_sum(d_add(lo, hi));
}

static void
attn_ds(float *restrict s, float *restrict dp, size_t n, float lse, float delta)
{
    const vf vl = v_set1(lse), vdel = v_set1(delta);

    for (size_t i = 0; i < n; i += VW) {
        const vf p = v_exp(v_sub(get(s, i, n), vl));

        put(dp, i, n, v_mul(p, v_sub(get(dp, i, n), vdel)));
        put(s, i, n, p);
    }
}

void
ROWS(struct kern *k)
{
    k->widen_bf16 = widen_bf16;
    k->widen_f16 = widen_f16;
    k->widen_q8_0 = widen_q8_0;
    k->spread = spread;
    k->widen_q4_0 = widen_q4_0;
    k->widen_q4_1 = widen_q4_1;
    k->scale_groups = scale_groups;
    k->narrow_bf16 = narrow_bf16;
    k->chance_bf16 = chance_bf16;
    k->rmsnorm = rmsnorm;
    k->rmsnorm_bwd = rmsnorm_bwd;
    k->layernorm = layernorm;
    k->layernorm_bwd = layernorm_bwd;
    k->rope = rope;
    k->silu_mul = silu_mul;
    k->silu_mul_bwd = silu_mul_bwd;
    k->gelu_mul = gelu_mul;
    k->gelu_mul_bwd = gelu_mul_bwd;
    k->gelu = gelu;
    k->gelu_bwd = gelu_bwd;
    k->xielu = xielu;
    k->xielu_bwd = xielu_bwd;
    k->softcap = softcap;
    k->softcap_bwd = softcap_bwd;
    k->add = add;
    k->axpy = axpy;
    k->scale = scale;
    k->mul = mul;
    k->axmul = axmul;
    k->dot = dot;
    k->sumsq = sumsq;
    k->sqdist = sqdist;
    k->dotf = dotf;
    k->powers = powers;
    k->max = max;
    k->expsum = expsum;
    k->exp = exp_row;
    k->exp_mul = exp_mul;
    k->kl_sums = kl_sums;
    k->attn_ds = attn_ds;
    k->delta = delta_token;
    k->delta_bwd = delta_token_bwd;
    k->loss = &LOSS_KERN;
}
