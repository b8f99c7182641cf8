/* RMSNorm and LayerNorm of every instruction set that this machine has, against
 * a second implementation in double, at odd sizes. */
#include "kern/kern.h"
#include "../lib/kern_sets.h"
#include "../lib/rows.h"
#include "../lib/tap.h"

static float a[N], b[N], c[N], y[N];

static void
test_norm(const char *isa)
{
    double w = 0.0, wb = 0.0, wr = 0.0, want[N];

    for (size_t s = 0; s < NSIZES; s++) {
        const size_t n = sizes[s];
        double ss = 0.0, dot = 0.0, r;
        float rr;

        for (size_t i = 0; i < n; i++)
            ss += (double)a[i] * a[i];
        r = 1.0 / sqrt(ss / (double)n + 1e-5);
        for (size_t i = 0; i < n; i++) {
            want[i] = a[i] * r * b[i];
            dot += (double)c[i] * b[i] * a[i];
        }
        kern.rmsnorm(y, a, b, n, 1e-5f);
        w = fmax(w, worst(y, want, n));
        for (size_t i = 0; i < n; i++)
            want[i] = b[i] +
                r * (c[i] * (double)b[i] - a[i] * r * r * dot / (double)n);
        rr = kern.rmsnorm_bwd(y, c, a, b, n, 1e-5f, b);
        wb = fmax(wb, worst(y, want, n));
        wr = fmax(wr, fabs(rr - r) / r * 1e7);
    }
    ok(w <= 5, "%s rmsnorm (%.2g)", isa, w);
    ok(wb <= 20 && wr <= 5, "%s rmsnorm_bwd (%.2g %.2g)", isa, wb, wr);
}

/* Numbers that are far from a mean of 0, with a bias and without. */
static void
test_layernorm(const char *isa)
{
    double w = 0.0, wb = 0.0, wr = 0.0, want[N];
    float x[N], mean;

    for (size_t i = 0; i < N; i++)
        x[i] = a[i] + 3.0f;
    for (size_t s = 0; s < NSIZES; s++) {
        const size_t n = sizes[s];
        double m = 0.0, ss = 0.0, sum = 0.0, dot = 0.0, r;
        float rr;

        for (size_t i = 0; i < n; i++)
            m += x[i] / (double)n;
        for (size_t i = 0; i < n; i++)
            ss += (x[i] - m) * (x[i] - m);
        r = 1.0 / sqrt(ss / (double)n + 1e-5);
        for (size_t i = 0; i < n; i++) {
            want[i] = (x[i] - m) * r * b[i];
            sum += (double)c[i] * b[i];
            dot += (double)c[i] * b[i] * (x[i] - m);
        }
        kern.layernorm(y, x, b, NULL, n, 1e-5f);
        w = fmax(w, n > 1 ? worst(y, want, n) : fabsf(y[0]));
        for (size_t i = 0; i < n; i++)
            want[i] += c[i];
        kern.layernorm(y, x, b, c, n, 1e-5f);
        w = fmax(w, n > 1 ? worst(y, want, n) : 0);
        for (size_t i = 0; i < n; i++) {
            const double g = c[i] * (double)b[i] - sum / (double)n;

            want[i] = b[i] + r * (g - (x[i] - m) * r * r * dot / (double)n);
        }
        rr = kern.layernorm_bwd(y, c, x, b, n, 1e-5f, b, &mean);
        wb = fmax(wb, worst(y, want, n));
        wr = fmax(wr, fmax(fabs(rr - r) / r, fabs(mean - m) / m) * 1e7);
    }
    ok(w <= 5, "%s layernorm (%.2g)", isa, w);
    ok(wb <= 20 && wr <= 5, "%s layernorm_bwd (%.2g %.2g)", isa, wb, wr);
}

static void
test_nan_norms(const char *isa)
{
    int good = 1;

    for (size_t at = 0; at < N; at += 13) {
        const float was = a[at];

        a[at] = NAN;
        kern.rmsnorm(y, a, b, N, 1e-5f);
        good &= isnan(y[0]) && isnan(y[N - 1]);
        kern.layernorm(y, a, b, c, N, 1e-5f);
        good &= isnan(y[0]) && isnan(y[N - 1]);
        a[at] = was;
    }
    ok(good, "%s NaN comes out of norms", isa);
}

int
main(void)
{
    fill(a, N, 1, 2.0);
    fill(b, N, 2, 1.0);
    fill(c, N, 3, 1.0);
    for (size_t i = 0; i < KERN_SETS; i++) {
        if (!kern_sets_use(kern_sets[i]))
            continue;
        test_norm(kern_sets[i]);
        test_layernorm(kern_sets[i]);
        test_nan_norms(kern_sets[i]);
    }
    return done_testing();
}
