/* Row kernels of every instruction set that this machine has, against a second
 * implementation in double, at odd sizes. */
#include "base/mem.h"
#include "kern/kern.h"
#include "../lib/kern_sets.h"
#include "../lib/rows.h"
#include "../lib/tap.h"
#include "kern/rope.h"

#include <float.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* depths of products: whole vectors or not, one block along k or several */
static const size_t depths[] = { 1, 2, 7, 8, 15, 16, 17, 31, 33, 64, 100, 131,
    288, 300, 577, 700, 768, 1283, 1536 };
enum { NDEPTHS = sizeof depths / sizeof *depths };

static float a[N], b[N], c[N], y[N], y2[N];

static double
sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

static void
test_elementwise(const char *isa)
{
    double w[8] = { 0 }, want[N], want2[N];

    for (size_t s = 0; s < NSIZES; s++) {
        const size_t n = sizes[s];

        for (size_t i = 0; i < n; i++)
            want[i] = a[i] * sigmoid(a[i]) * b[i];
        kern.silu_mul(y, a, b, n);
        w[0] = fmax(w[0], worst(y, want, n));
        for (size_t i = 0; i < n; i++) {
            const double g = sigmoid(a[i]);

            want[i] = c[i] * (double)b[i] * (g + a[i] * g * (1.0 - g));
            want2[i] = c[i] * a[i] * g;
        }
        kern.silu_mul_bwd(y, y2, c, a, b, n);
        w[1] = fmax(w[1], fmax(worst(y, want, n), worst(y2, want2, n)));
        for (size_t i = 0; i < n; i++)
            want[i] = (double)a[i] + b[i];
        kern.add(y, a, b, n);
        w[2] = fmax(w[2], worst(y, want, n));
        for (size_t i = 0; i < n; i++)
            want[i] = c[i] + 1.7f * (double)a[i];
        memcpy(y, c, sizeof y);
        kern.axpy(y, 1.7f, a, n);
        w[3] = fmax(w[3], worst(y, want, n));
        for (size_t i = 0; i < n; i++)
            want[i] = c[i] * 1.7f;
        memcpy(y, c, sizeof y);
        kern.scale(y, 1.7f, n);
        w[4] = fmax(w[4], worst(y, want, n));
        for (size_t i = 0; i < n; i++)
            want[i] = c[i] * (double)b[i];
        memcpy(y, c, sizeof y);
        kern.mul(y, b, n);
        w[5] = fmax(w[5], worst(y, want, n));
        for (size_t i = 0; i < n; i++)
            want[i] = c[i] + 1.7f * (double)a[i] * b[i];
        memcpy(y, c, sizeof y);
        kern.axmul(y, 1.7f, a, b, n);
        w[6] = fmax(w[6], worst(y, want, n));
        memcpy(y, c, sizeof y);
        kern.scale(y, 0.5f, n);
        for (size_t i = n; i < N; i++)
            w[7] += y[i] != c[i];
    }
    ok(w[0] <= 6, "%s silu_mul (%.2g)", isa, w[0]);
    ok(w[1] <= 10, "%s silu_mul_bwd (%.2g)", isa, w[1]);
    ok(w[2] <= 1 && w[3] <= 2 && w[4] <= 1 && w[5] <= 1 && w[6] <= 3,
        "%s add axpy scale mul axmul (%.2g %.2g %.2g %.2g %.2g)", isa, w[2],
        w[3], w[4], w[5], w[6]);
    ok(w[7] == 0, "%s nothing is written past n", isa);
}

static void
test_sums(const char *isa)
{
    double w[5] = { 0 };
    int good = 1;

    for (size_t s = 0; s < NSIZES; s++) {
        const size_t n = sizes[s];
        double d = 0.0, q = 0.0, e = 0.0, top = -INFINITY;

        for (size_t i = 0; i < n; i++) {
            d += (double)a[i] * b[i];
            q += (double)a[i] * a[i];
            e += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
            top = fmax(top, a[i]);
        }
        w[0] = fmax(w[0], fabs(kern.dot(a, b, n) - d));
        w[1] = fmax(w[1], fabs(kern.sumsq(a, n) - q));
        w[2] = fmax(w[2], fabs(kern.sqdist(a, b, n) - e));
        w[3] = fmax(w[3], fabs(kern.dotf(a, b, n) - d));
        good &= kern.max(a, n) == (float)top;
    }
    ok(w[0] <= 1e-12 && w[1] <= 1e-12 && w[2] <= 1e-12,
        "%s dot sumsq sqdist in double (%.2g %.2g %.2g)", isa, w[0], w[1],
        w[2]);
    ok(w[3] <= 1e-4, "%s dotf (%.2g)", isa, w[3]);
    ok(good && kern.max(a, 0) == -INFINITY, "%s: the maximum is found", isa);
}

/* Powers of the columns of some rows; nothing past n is written. */
static void
test_powers(const char *isa)
{
    double off = 0.0, past = 0.0;
    int same = 1;

    for (size_t s = 0; s < NSIZES; s++) {
        const size_t n = sizes[s] < 40 ? sizes[s] : 40, ld = 41, t = N / ld;
        double sum[5 * 40 + 1];
        float top[41];

        for (size_t i = 0; i < 5 * n + 1; i++)
            sum[i] = 7.0;
        for (size_t i = 0; i <= n; i++)
            top[i] = i % 2 ? 1e6f : 0.0f;
        kern.powers(sum, top, a, t, ld, n);
        past += fabs(sum[5 * n] - 7.0) + (top[n] != (n % 2 ? 1e6f : 0.0f));
        for (size_t k = 0; k < n; k++) {
            double want[5] = { 7.0, 7.0, 7.0, 7.0, 7.0 };
            float most = k % 2 ? 1e6f : 0.0f;

            for (size_t i = 0; i < t; i++) {
                const double v = a[i * ld + k];

                want[0] += fabs(v);
                for (int p = 1; p < 5; p++)
                    want[p] += pow(v, p);
                most = fmaxf(most, (float)fabs(v));
            }
            for (size_t p = 0; p < 5; p++)
                off = farther(off,
                    fabs(sum[p * n + k] - want[p]) / (1.0 + fabs(want[p])));
            same &= top[k] == most;
        }
    }
    ok(off <= 1e-13, "%s powers of columns (%.2g)", isa, off);
    ok(same && past == 0.0, "%s and their largest, nothing past n", isa);
}

/* |got - x.w|, summed in double, over the most that k roundings to fp32 can add
 * up to: k u sum |x w|, u half of FLT_EPSILON (Higham, Accuracy and Stability
 * of Numerical Algorithms, eq. 3.5).  Infinite if got is NaN. */
static double
dot_error(float got, const float *x, const float *w, size_t k)
{
    double sum = 0.0, size = 0.0, e;

    for (size_t l = 0; l < k; l++) {
        sum += (double)x[l] * w[l];
        size += fabs((double)x[l] * w[l]);
    }
    e = fabs(got - sum) / ((double)k * (FLT_EPSILON / 2) * size);
    return isnan(e) ? INFINITY : e;
}

/* Few rows of x times rows of w: against double, and with the bits of
 * gemm_nt. */
static void
test_dots(const char *isa)
{
    static const size_t rows[] = { 1, 2, 3, 4, 5, 9, 16 };
    enum { LD = 53 };
    double off = 0.0;
    int same = 1, kept = 1;

    for (size_t s = 0; s < NDEPTHS * 7; s++) {
        const size_t m = rows[s % 7], n = 1 + s * 5 % LD;
        const size_t k = depths[s / 7], ldw = k + s % 4;
        float *x = xmalloc(m * k * sizeof *x);
        float *w = xmalloc(n * ldw * sizeof *w);
        float *z = xcalloc(m * LD, sizeof *z);
        float *want = xcalloc(m * LD, sizeof *want);

        fill(x, m * k, 10 + s, 1.0);
        fill(w, n * ldw, 1000 + s, 1.0);
        kern.dots(m, n, k, x, w, ldw, z, LD);
        kern.gemm_nt(m, n, k, x, k, w, ldw, GEMM_SET, want, LD);
        for (size_t i = 0; i < m * LD; i++) {
            if (i % LD >= n) {
                kept &= z[i] == 0.0f;
                continue;
            }
            same &= memcmp(&want[i], &z[i], sizeof *z) == 0;
            off =
                fmax(off, dot_error(z[i], x + i / LD * k, w + i % LD * ldw, k));
        }
        free(x);
        free(w);
        free(z);
        free(want);
    }
    ok(off <= 1.0, "%s dots err by their roundings at most (%.2g of these)",
        isa, off);
    ok(same, "%s dots have the bits of gemm_nt", isa);
    ok(kept, "%s dots write nothing past n", isa);
}

/* Store x in w, at any address, as r says: rows in fp32 or bf16, dense or 2:4.
 * wide gets the stored numbers in fp32, with zeros for those left out. */
static void
store(unsigned char *w, unsigned char *mask, float *wide, const float *x,
    const struct kern_rows *r, size_t n, size_t k, uint64_t seed)
{
    static const unsigned char two[] = { 3, 5, 6, 9, 10, 12 };
    uint16_t half;

    memset(mask, 0, n * r->mask_stride);
    for (size_t j = 0; j < n; j++) {
        unsigned char *p = w + j * r->stride;

        for (size_t l = 0; l < (k + 3) / 4 * 4; l++) {
            unsigned char *m = mask + j * r->mask_stride + l / 8;
            float v = l < k ? x[j * k + l] : 1.0f;

            if (l % 4 == 0)
                *m |=
                    (unsigned char)(two[rng_u64(seed, j * k + l) % 6] << l % 8);
            if (r->mask != NULL && !(*m >> l % 8 & 1)) {
                if (l < k)
                    wide[j * k + l] = 0.0f;
                continue;
            }
            if (r->half) {
                kern.narrow_bf16(&half, &v, 1);
                memcpy(p, &half, 2);
                kern.widen_bf16(&v, &half, 1);
            } else {
                memcpy(p, &v, 4);
            }
            if (l < k)
                wide[j * k + l] = v;
            p += r->half ? 2 : 4;
        }
    }
}

static void
test_dots_stored(const char *isa)
{
    enum { LD = 53 };
    int same = 1, kept = 1;

    for (size_t s = 0; s < 4 * NDEPTHS * 7; s++) {
        const size_t m = 1 + s % 7, n = 1 + s * 5 % LD, type = s / 7 % 4;
        const size_t k = depths[s / 28];
        float *x = xmalloc(m * k * sizeof *x), *w = xmalloc(n * k * sizeof *w);
        float *want = xcalloc(m * LD, sizeof *want),
              *z = xcalloc(m * LD, sizeof *z);
        unsigned char *p = xmalloc(n * (k + 3) * 4 + 1);
        unsigned char *mask = xmalloc(n * (k + 7) / 8 + n);
        struct kern_rows r = { p + 1, type & 2 ? mask : NULL,
            (k + 3) * (type & 1 ? 2 : 4), (k + 7) / 8, type & 1 };

        fill(x, m * k, 10 + s, 1.0);
        fill(w, n * k, 1000 + s, 1.0);
        store(p + 1, mask, w, w, &r, n, k, s);
        kern.dots(m, n, k, x, w, k, want, LD);
        kern.dots_stored(m, n, k, x, &r, z, LD);
        for (size_t i = 0; i < m * LD; i++) {
            same &= i % LD >= n || memcmp(&want[i], &z[i], sizeof *z) == 0;
            kept &= i % LD < n || z[i] == 0.0f;
        }
        free(x);
        free(w);
        free(want);
        free(z);
        free(p);
        free(mask);
    }
    ok(same, "%s dots of stored rows have the bits of dots", isa);
    ok(kept, "%s dots of stored rows write nothing past n", isa);
}

/* Every mask of a byte, and rows of every length up to 64. */
static void
test_spread(const char *isa)
{
    static const unsigned char two[] = { 3, 5, 6, 9, 10, 12 };
    float in[40], out[72];
    unsigned char mask[8];
    int good = 1;

    fill(in, 40, 77, 1.0);
    for (size_t s = 0; s < 36 * 65; s++) {
        const size_t n = s / 36;
        const float *next = in;

        for (size_t i = 0; i < 8; i++)
            mask[i] = (unsigned char)(two[(s + i) % 6] |
                two[(s / 6 + i / 2) % 6] << 4);
        for (size_t i = 0; i < 72; i++)
            out[i] = 9.0f;
        kern.spread(out, in, mask, n);
        for (size_t i = 0; i < n; i++)
            good &= out[i] == (mask[i / 8] >> i % 8 & 1 ? *next++ : 0.0f);
        good &= out[n] == 9.0f;
    }
    ok(good, "%s: two of four are spread", isa);
}

static void
test_exp(const char *isa)
{
    double w = 0.0, ws = 0.0, wm = 0.0, wk = 0.0, want[N];
    float x[3];

    for (double v = -87.0; v < 88.5; v += 0.00917) {
        double sum;

        x[0] = (float)v;
        sum = kern.exp(y, x, 1, 0.0f, 1.0f);
        w = fmax(w, fabs(y[0] / exp(x[0]) - 1.0));
        ws = fmax(ws, fabs(sum - y[0]));
    }
    ok(w <= 1.5e-7 && ws == 0, "%s exp (%.2g)", isa, w);
    x[0] = -INFINITY;
    x[1] = 200.0f;
    x[2] = -103.0f;
    kern.exp(y, x, 3, 0.0f, 1.0f);
    ok(y[0] < 1e-44f && y[1] == INFINITY && y[2] >= 0.0f && y[2] < 3e-45f,
        "%s exp at the ends", isa);
    w = ws = 0.0;
    for (size_t s = 0; s < NSIZES; s++) {
        const size_t n = sizes[s];
        const float top = kern.max(a, n);
        double sum = 0.0, sw = 0.0, gw, g;

        for (size_t i = 0; i < n; i++) {
            want[i] = exp((a[i] - (double)top) / 3.0);
            sum += want[i];
            sw += want[i] * ((double)a[i] - b[i]);
        }
        ws = fmax(ws, fabs(kern.expsum(a, n, top, 1.0f / 3.0f) / sum - 1.0));
        ws = fmax(ws, fabs(kern.exp(y, a, n, top, 1.0f / 3.0f) / sum - 1.0));
        w = fmax(w, worst(y, want, n));
        g = kern.kl_sums(a, b, n, top, 1.0f / 3.0f, &gw);
        wk = fmax(wk, fmax(fabs(g / sum - 1.0), fabs(gw - sw) / sum));
        for (size_t i = 0; i < n; i++)
            want[i] = c[i] - 0.7f * want[i];
        memcpy(y, c, sizeof y);
        kern.exp_mul(y, a, n, top, 1.0f / 3.0f, -0.7f, 1);
        wm = fmax(wm, worst(y, want, n));
        for (size_t i = 0; i < n; i++)
            want[i] = 2.0 * exp(a[i] - (double)top);
        kern.exp_mul(y, a, n, top, 1.0f, 2.0f, 0);
        wm = fmax(wm, worst(y, want, n));
    }
    ok(w <= 3 && ws <= 2e-7, "%s exp and its sum (%.2g %.2g)", isa, w, ws);
    ok(wm <= 5, "%s exp_mul (%.2g)", isa, wm);
    ok(wk <= 5e-7, "%s kl_sums (%.2g)", isa, wk);
    memcpy(y, a, sizeof y);
    memcpy(y2, b, sizeof y2);
    kern.attn_ds(y, y2, N, 0.3f, 0.2f);
    for (size_t i = 0; i < N; i++)
        want[i] = exp(a[i] - (double)0.3f);
    w = worst(y, want, N);
    for (size_t i = 0; i < N; i++)
        want[i] *= b[i] - (double)0.2f;
    ok(w <= 4 && worst(y2, want, N) <= 5, "%s: attn_ds agrees with double",
        isa);
}

static void
test_nan(const char *isa)
{
    int good = 1;

    for (size_t at = 0; at < N; at += 13) {
        const float was = a[at];
        double w, sum[5 * N] = { 0 };

        a[at] = NAN;
        kern.silu_mul(y, a, b, N);
        good &= isnan(y[at]);
        good &= isnan(kern.expsum(a, N, kern.max(a, N), 1.0f));
        good &= isnan(kern.kl_sums(a, b, N, 1.0f, 1.0f, &w)) && isnan(w);
        good &= isnan(kern.exp(y, a, N, 1.0f, 1.0f)) && isnan(y[at]);
        good &= isnan(kern.dot(a, b, N)) && isnan(kern.dotf(a, b, N));
        kern.dots(1, 1, N, a, b, N, y, 1);
        good &= isnan(y[0]);
        good &= isnan(kern.sqdist(a, b, N)) && isnan(kern.sumsq(a, N));
        kern.powers(sum, y, a, 1, N, N);
        good &= isnan(sum[at]) && isnan(sum[4 * N + at]);
        a[at] = was;
    }
    ok(good, "%s NaN comes out of every kernel", isa);
}

static void
test_rope(const char *isa)
{
    const struct kern_rope_opt o = { .theta = 10000.0 };
    double freq[40], w = 0.0, want[N];
    float cs[80];

    for (size_t D = 2; D <= 80; D += 6) {
        rope_freq(freq, D, &o, 1);
        rope_table(cs, freq, D, 41, 1, 1.0);
        for (size_t i = 0; i < D / 2; i++) {
            const double t = 41.0 * pow(10000.0, -(double)(2 * i) / (double)D);

            want[i] = a[i] * cos(t) - a[i + D / 2] * sin(t);
            want[i + D / 2] = a[i + D / 2] * cos(t) + a[i] * sin(t);
        }
        memcpy(y, a, sizeof y);
        kern.rope(y, cs, D, 1);
        w = fmax(w, worst(y, want, D));
        kern.rope(y, cs, D, -1);
        for (size_t i = 0; i < D; i++)
            want[i] = a[i];
        w = fmax(w, worst(y, want, D));
    }
    ok(w <= 5, "%s rope and back (%.2g)", isa, w);
}

/* Bytes of 4 blocks, and the numbers that GGUF says they are. */
static void
test_widen(const char *isa)
{
    unsigned char q[4 * 34 + 1];
    float got[128];
    int good = 1;

    for (size_t i = 0; i < sizeof q; i++)
        q[i] = (unsigned char)rng_u64(9, i);
    for (size_t k = 0; k < 4; k++) { /* scale 1.5, offset -0.25 */
        q[34 * k] = 0x00;
        q[34 * k + 1] = 0x3e;
    }
    kern.widen_q8_0(got, q, 128);
    for (size_t i = 0; i < 128; i++)
        good &= got[i] == 1.5f * (signed char)q[i / 32 * 34 + 2 + i % 32];
    ok(good, "%s: q8_0 is widened exactly", isa);
    good = 1;
    for (size_t k = 0; k < 4; k++) {
        q[18 * k] = 0x00;
        q[18 * k + 1] = 0x3e;
    }
    kern.widen_q4_0(got, q, 128);
    for (size_t i = 0; i < 128; i++) {
        const int v = q[i / 32 * 18 + 2 + i % 16];

        good &= got[i] == 1.5f * ((i % 32 < 16 ? v & 15 : v >> 4) - 8);
    }
    ok(good, "%s: q4_0 is widened exactly", isa);
    good = 1;
    for (size_t k = 0; k < 4; k++)
        memcpy(q + 20 * k, "\x00\x3e\x00\xb4", 4);
    kern.widen_q4_1(got, q, 128);
    for (size_t i = 0; i < 128; i++) {
        const int v = q[i / 32 * 20 + 4 + i % 16];

        good &= got[i] == 1.5f * (i % 32 < 16 ? v & 15 : v >> 4) - 0.25f;
    }
    ok(good, "%s: q4_1 is widened exactly", isa);
}

static void
test_halves(const char *isa)
{
    int good = 1, nan = 1;

    for (uint32_t h = 0; h < 0x10000; h++) {
        const uint16_t in[17] = { [0] = (uint16_t)h, [16] = (uint16_t)h };
        const int e = (int)(h >> 10 & 31), m = (int)(h & 0x3ff);
        const double want = (h & 0x8000 ? -1.0 : 1.0) *
            (e == 31    ? INFINITY
                    : e ? ldexp(1024 + m, e - 25)
                        : ldexp(m, -24));
        float out[17];
        uint16_t back[2];

        kern.widen_f16(out, in, 17);
        if (e == 31 && m != 0)
            nan &= isnan(out[0]) && isnan(out[16]);
        else
            good &= out[0] == want && out[16] == want;
        kern.widen_bf16(out, in, 17);
        out[1] = out[16];
        kern.narrow_bf16(back, out, 2);
        if (isnan(out[0]))
            nan &= (back[0] & 0x7f80) == 0x7f80 && (back[0] & 0x7f);
        else
            good &= back[0] == h && back[1] == h;
    }
    ok(good && nan, "%s every half, every bf16", isa);
    {
        const float in[4] = { 1.00390625f, 1.01171875f, 1.00390637f, 3.4e38f };
        uint16_t out[4];

        kern.narrow_bf16(out, in, 4);
        ok(out[0] == 0x3f80 && out[1] == 0x3f82 && out[2] == 0x3f81 &&
                out[3] == 0x7f80,
            "%s narrow_bf16 rounds to even", isa);
    }
}

/* Random bits; in a seventh of the results the exponent is one of the two
 * largest or the two smallest. */
static uint32_t
any_bits(uint64_t i)
{
    const uint64_t r = rng_u64(7, i);
    const uint32_t u = (uint32_t)(r >> 32);

    if (r % 7 != 0)
        return u;
    return r % 2 != 0 ? u | 0x7f000000 : u & 0x80ffffff;
}

/* Every kernel set narrows with the bits of plain C, for any number of
 * elements. */
static void
test_narrow(const char *isa)
{
    enum { MOST = 4099 };
    static float in[MOST];
    static uint16_t chance[MOST], out[2][MOST + 1];
    size_t narrow = 0, by_chance = 0;
    struct kern plain;

    kern_force("ref");
    plain = kern;
    kern_force(isa);
    for (size_t i = 0; i < MOST; i++) {
        const uint32_t u = any_bits(i);

        memcpy(in + i, &u, sizeof u);
        chance[i] = (uint16_t)rng_u64(8, i);
    }
    for (size_t n = 0; n <= MOST; n = n < 70 ? n + 1 : n + 1343) {
        out[0][n] = out[1][n] = 0x1234;
        kern.narrow_bf16(out[0], in, n);
        plain.narrow_bf16(out[1], in, n);
        narrow += memcmp(out[0], out[1], (n + 1) * 2) != 0;
        kern.chance_bf16(out[0], in, chance, n);
        plain.chance_bf16(out[1], in, chance, n);
        by_chance += memcmp(out[0], out[1], (n + 1) * 2) != 0;
    }
    ok(narrow == 0, "%s narrow_bf16 has the bits of plain C", isa);
    ok(by_chance == 0, "%s chance_bf16 too", isa);
}

/* Results worked out by hand.  1 + 3/4 of a unit in the last place of bf16 is
 * rounded up by chances of a quarter (0x4000) and more.  A number that would
 * become infinite, an infinite one and NaN are cut. */
static void
test_chance(const char *isa)
{
    const float in[6] = { 1.005859375f, 1.005859375f, -1.005859375f, FLT_MAX,
        INFINITY, NAN };
    const uint16_t chance[6] = { 0x3fff, 0x4000, 0x4000, 0xffff, 0xffff,
        0xffff };
    uint16_t out[6];

    kern.chance_bf16(out, in, chance, 6);
    ok(out[0] == 0x3f80 && out[1] == 0x3f81 && out[2] == 0xbf81 &&
            out[3] == 0x7f7f && out[4] == 0x7f80 && (out[5] & 0x7fff) == 0x7fc0,
        "%s chance_bf16: %x %x %x %x %x %x", isa, out[0], out[1], out[2],
        out[3], out[4], out[5]);
}

static int
equal_freq(double x, double want)
{
    return fabs(x / want - 1.0) <= 1e-8;
}

/* The frequencies of yarn, longrope and a longer text, as
 * scripts/oracle/rope.py computes them in double. */
static void
test_long_freq(void)
{
    static const float shorter[] = { 1.0f, 1.25f, 1.5f, 2.0f };
    static const float longer[] = { 1.5f, 4.0f, 9.0f, 32.0f };
    struct kern_rope_opt o = { .kind = KERN_ROPE_YARN,
        .theta = 150000.0,
        .factor = 32.0,
        .low = 1.0,
        .high = 32.0,
        .orig = 4096.0 };
    double f[64];

    rope_freq(f, 64, &o, 1);
    ok(equal_freq(f[8], 5.08132748e-2) && equal_freq(f[16], 4.56483919e-4) &&
            equal_freq(f[31], 3.02351143e-7),
        "yarn has corners between dimensions");
    o = (struct kern_rope_opt){ .kind = KERN_ROPE_YARN,
        .theta = 1e6,
        .factor = 16.0,
        .low = 1.0,
        .high = 32.0,
        .orig = 16384.0,
        .whole = 1 };
    rope_freq(f, 128, &o, 1);
    ok(equal_freq(f[16], 3.16227766e-2) && equal_freq(f[32], 3.38235294e-4) &&
            equal_freq(f[48], 1.97642354e-6),
        "yarn has corners at whole dimensions");
    ok(equal_freq(rope_yarn_scale(32.0, 1.0), 1.346573590) &&
            rope_yarn_scale(1.0, 1.0) == 1.0,
        "yarn scales cosines by the factor's logarithm");
    o = (struct kern_rope_opt){ .kind = KERN_ROPE_DYNAMIC,
        .theta = 1e4,
        .factor = 2.0,
        .orig = 4096.0 };
    rope_freq(f, 128, &o, 8192);
    ok(equal_freq(f[1], pow(30527.736749, -2.0 / 128.0)) && rope_by_length(&o),
        "dynamic rope has another base in a longer text");
    rope_freq(f, 128, &o, 4096);
    ok(equal_freq(f[1], pow(1e4, -2.0 / 128.0)),
        "dynamic rope keeps its base up to max_position_embeddings");
    o = (struct kern_rope_opt){ .kind = KERN_ROPE_LONGROPE,
        .theta = 1e4,
        .orig = 8.0,
        .near = shorter,
        .far = longer };
    rope_freq(f, 8, &o, 8);
    ok(equal_freq(f[2], 0.01 / 1.5), "longrope divides by the short factors");
    rope_freq(f, 8, &o, 9);
    ok(equal_freq(f[2], 0.01 / 9.0), "longrope divides by the long factors");
}

/* softcap and its gradient against tanh in double, at lengths around those of
 * vectors. */
static void
test_softcap(const char *isa)
{
    enum { MOST = 37 };
    float z[MOST], dz[MOST];
    double w = 0.0, g = 0.0;

    for (size_t n = 1; n <= MOST; n++) {
        for (size_t i = 0; i < n; i++) {
            z[i] = (float)(40.0 * pow((double)i / MOST - 0.5, 3.0) * (double)n);
            dz[i] = 1.5f;
        }
        kern.softcap(z, 3.0f, n);
        kern.softcap_bwd(dz, z, 3.0f, n);
        for (size_t i = 0; i < n; i++) {
            const double x =
                (float)(40.0 * pow((double)i / MOST - 0.5, 3.0) * (double)n);
            const double t = tanh(x / 3.0);

            w = fmax(w, fabs(z[i] - 3.0 * t) / fmax(fabs(t), 1e-6));
            g = fmax(g, fabs(dz[i] - 1.5 * (1.0 - t * t)));
        }
    }
    ok(w <= 2e-6, "%s softcap is cap tanh(z/cap) (%.2g)", isa, w);
    ok(g <= 3e-6, "%s softcap_bwd is its gradient (%.2g)", isa, g);
    z[0] = NAN;
    kern.softcap(z, 3.0f, 1);
    ok(isnan(z[0]), "%s softcap keeps a NaN", isa);
}

/* Values of transformers' formulas, worked out by hand. */
static void
test_freq(void)
{
    const struct kern_rope_opt lin = { .kind = KERN_ROPE_LINEAR,
        .theta = 10000.0,
        .factor = 4.0 };
    const struct kern_rope_opt l3 = { .kind = KERN_ROPE_LLAMA3,
        .theta = 500000.0,
        .factor = 32.0,
        .low = 1.0,
        .high = 4.0,
        .orig = 8192.0 };
    double f[32], mix;
    const double mid = pow(500000.0, -36.0 / 64.0);

    rope_freq(f, 64, &lin, 1);
    ok(near(f[0], 0.25, 1e-12, 0) && near(f[16], 0.0025, 1e-12, 0),
        "linear rope divides the frequencies");
    rope_freq(f, 64, &l3, 1);
    ok(near(f[0], 1.0, 1e-12, 0), "llama3 rope: short waves stay");
    ok(near(f[31], pow(500000.0, -62.0 / 64.0) / 32.0, 1e-15, 1e-12),
        "llama3 rope: long waves slow down");
    /* f[18], of wavelength 2 pi / mid = 10089, is past the border of 8192;
     * f[17] lies between the borders */
    ok(near(f[18], mid / 32.0, 1e-12, 1e-12), "llama3 rope: the border");
    mix =
        (8192.0 * pow(500000.0, -34.0 / 64.0) / 6.283185307179586 - 1.0) / 3.0;
    ok(near(f[17], pow(500000.0, -34.0 / 64.0) * ((1.0 - mix) / 32.0 + mix),
           1e-15, 1e-12),
        "llama3 rope: between");
}

int
main(void)
{
    setenv("RETORT_KERNELS", "sse9", 1);
    ok(kern_init() != NULL && kern_init() != NULL,
        "an unknown set in the environment is refused each time");
    fill(a, N, 1, 2.0);
    fill(b, N, 2, 1.0);
    fill(c, N, 3, 1.0);
    test_freq();
    test_long_freq();
    for (size_t i = 0; i < KERN_SETS; i++) {
        if (!kern_sets_use(kern_sets[i]))
            continue;
        test_elementwise(kern_sets[i]);
        test_sums(kern_sets[i]);
        test_powers(kern_sets[i]);
        test_dots(kern_sets[i]);
        test_dots_stored(kern_sets[i]);
        test_spread(kern_sets[i]);
        test_exp(kern_sets[i]);
        test_nan(kern_sets[i]);
        test_rope(kern_sets[i]);
        test_softcap(kern_sets[i]);
        test_widen(kern_sets[i]);
        test_narrow(kern_sets[i]);
        test_chance(kern_sets[i]);
        test_halves(kern_sets[i]);
    }
    ok(kern_force("sse9") != NULL, "an unknown kernel set is refused");
    return done_testing();
}
