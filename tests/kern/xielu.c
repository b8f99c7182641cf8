/* xIELU of every instruction set that this machine has, against its formula in
 * double, at odd sizes. */
#include "base/rng.h"
#include "kern/kern.h"
#include "../lib/kern_sets.h"
#include "../lib/tap.h"

#include <math.h>
#include <string.h>

enum { N = 131 };
static const size_t sizes[] = { 1, 7, 8, 17, 33, 131 };
static float x[N], dact[N], y[N];

/* eps is so large that many numbers are between it and 0. */
static const struct xielu wide = { 0.7f, 1.3f, 0.4f, -0.25f };

static double
unit(double a, const struct xielu *u)
{
    return u->beta * a +
        (a > 0 ? u->p * a * a : u->n * (expm1(fmin(a, u->eps)) - a));
}

static double
slope(double a, const struct xielu *u)
{
    return u->beta +
        (a > 0               ? 2 * u->p * a
                : a > u->eps ? -u->n
                             : u->n * expm1(a));
}

/* The largest error by 1e-7 (1 + |want|); infinite if there is a NaN. */
static double
error_of(double got, double want)
{
    const double e = fabs(got - want) / (1 + fabs(want));

    return isnan(e) ? INFINITY : e * 1e7;
}

static void
test_numbers(const char *isa)
{
    double w = 0, wb = 0, ws = 0, sum[2], p, q;

    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const size_t n = sizes[s];

        memset(y, 0, sizeof y);
        kern.xielu(y, x, n, &wide);
        for (size_t i = 0; i < n; i++)
            w = fmax(w, error_of(y[i], unit(x[i], &wide)));
        for (size_t i = n; i < N; i++)
            w += y[i] != 0;
        p = q = 0;
        memcpy(y, x, sizeof y);
        kern.xielu_bwd(y, dact, y, n, &wide, sum);
        for (size_t i = 0; i < n; i++) {
            wb = fmax(wb, error_of(y[i], dact[i] * slope(x[i], &wide)));
            p += x[i] > 0 ? dact[i] * (double)x[i] * x[i] : 0;
            q += x[i] > 0 ? 0 : dact[i] * (expm1(fmin(x[i], wide.eps)) - x[i]);
        }
        for (size_t i = n; i < N; i++)
            wb += y[i] != x[i];
        ws = fmax(ws, fmax(error_of(sum[0], p), error_of(sum[1], q)));
    }
    ok(w <= 8, "%s xielu (%.2g)", isa, w);
    ok(wb <= 8, "%s xielu_bwd, in place (%.2g)", isa, wb);
    ok(ws <= 20, "%s the gradients of p and n (%.2g)", isa, ws);
}

static void
test_ends(const char *isa)
{
    /* alpha_p and alpha_n of 0; values of another implementation */
    const struct xielu plain = { (float)log(2), (float)(0.5 + log(2)), 0.5f,
        -1e-6f };
    const float from[] = { 2, -2, -200, -1e-3f, 0, NAN };
    double small;
    float to[6], d[6] = { 1, 1, 1, 1, 1, 1 };
    double sum[2];

    kern.xielu(to, from, 6, &plain);
    ok(error_of(to[0], 3.772588722239781) < 3 &&
            error_of(to[1], 0.35462209218399154) < 3 &&
            error_of(to[2], unit(-200, &plain)) < 3,
        "%s xielu of 2, -2 and -200", isa);
    small = unit(from[3], &plain);
    ok(fabs(to[3] - small) <= 1e-6 * fabs(small),
        "%s xielu has six digits near 0 (%g of %g)", isa, to[3], small);
    kern.xielu_bwd(d, d, from, 6, &plain, sum);
    ok(error_of(to[4], unit(0, &plain)) < 1 &&
            error_of(d[4], slope(0, &plain)) < 3,
        "%s 0 belongs to the numbers below 0", isa);
    ok(isnan(to[5]) && isnan(d[5]) && isnan(sum[1]), "%s NaN stays NaN", isa);
}

int
main(void)
{
    for (size_t i = 0; i < N; i++) {
        x[i] = (float)rng_normal(5, i) * (i % 3 ? 1 : 4);
        dact[i] = (float)rng_normal(6, i);
    }
    for (size_t i = 0; i < KERN_SETS; i++)
        if (kern_sets_use(kern_sets[i])) {
            test_numbers(kern_sets[i]);
            test_ends(kern_sets[i]);
        }
    return done_testing();
}
