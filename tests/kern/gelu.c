/* GELU of one vector, exact and by tanh, of every instruction set that this
 * machine has, against its formula in double, at odd sizes. */
#include "base/rng.h"
#include "kern/kern.h"
#include "../lib/kern_sets.h"
#include "../lib/tap.h"

#include <math.h>
#include <string.h>

enum { N = 131, ENDS = 8 };
static const size_t sizes[] = { 1, 7, 8, 17, 33, 131 };
static float x[N], dact[N], y[N];

/* The share of a that GELU keeps; *slope: GELU's derivative. */
static double
share_of(double a, int exact, double *slope)
{
    const double pi = acos(-1), c = 0.044715;
    const double z = sqrt(2 / pi) * (a + c * a * a * a);
    const double share = exact ? 0.5 * erfc(-a / sqrt(2)) : 0.5 * (1 + tanh(z));
    const double turn = exact
        ? exp(-a * a / 2) / sqrt(2 * pi)
        : 0.5 * (1 - tanh(z) * tanh(z)) * sqrt(2 / pi) * (1 + 3 * c * a * a);

    *slope = share + a * turn;
    return share;
}

/* The error by 1e-7 (1 + |want|); infinite if there is a NaN. */
static double
error_of(double got, double want)
{
    const double e = fabs(got - want) / (1 + fabs(want));

    return isnan(e) ? INFINITY : e * 1e7;
}

static void
test_numbers(const char *isa, int exact)
{
    double w = 0, wb = 0, slope;

    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const size_t n = sizes[s];

        memset(y, 0, sizeof y);
        kern.gelu(y, x, n, exact);
        for (size_t i = 0; i < n; i++)
            w = fmax(w, error_of(y[i], x[i] * share_of(x[i], exact, &slope)));
        for (size_t i = n; i < N; i++)
            w += y[i] != 0;
        memcpy(y, x, sizeof y);
        kern.gelu_bwd(y, dact, y, n, exact);
        for (size_t i = 0; i < n; i++) {
            share_of(x[i], exact, &slope);
            wb = fmax(wb, error_of(y[i], dact[i] * slope));
        }
        for (size_t i = n; i < N; i++)
            wb += y[i] != x[i];
    }
    ok(w <= 4, "%s gelu, exact %d (%.2g)", isa, exact, w);
    ok(wb <= 8, "%s gelu_bwd, exact %d, in place (%.2g)", isa, exact, wb);
}

/* Values of PyTorch 2.13 in double:
 *     torch.nn.functional.gelu(torch.tensor([...]).double())
 * and with approximate='tanh'. */
static void
test_ends(const char *isa)
{
    static const float from[ENDS] = { 0, 1, -1, 3, -3, -6, 30, NAN };
    static const double want[2][ENDS - 1] = {
        { 0, 0.8411919906082768, -0.15880800939172324, 2.996362607918227,
            -0.0036373920817729943, -8.43964897967453e-11, 30 },
        { 0, 0.841344746068543, -0.15865525393145702, 2.99595030590511,
            -0.00404969409489031, -5.919525869479969e-09, 30 }
    };
    float to[ENDS], d[ENDS];

    for (int exact = 0; exact < 2; exact++) {
        double w = 0;

        kern.gelu(to, from, ENDS, exact);
        for (int i = 0; i < ENDS - 1; i++)
            w = fmax(w, error_of(to[i], want[exact][i]));
        ok(w <= 3, "%s gelu, exact %d, of 0, 1, 3, -6, 30 (%.2g)", isa, exact,
            w);
        memcpy(d, from, sizeof d);
        kern.gelu_bwd(d, from, from, ENDS, exact);
        ok(isnan(to[ENDS - 1]) && isnan(d[ENDS - 1]),
            "%s gelu, exact %d: NaN stays NaN", isa, exact);
    }
    kern.gelu(to, from, ENDS, 1);
    ok(fabs(to[5] - want[1][5]) <= 1e-5 * fabs(want[1][5]),
        "%s exact gelu has five digits at -6 (%g)", isa, to[5]);
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
            test_numbers(kern_sets[i], 0);
            test_numbers(kern_sets[i], 1);
            test_ends(kern_sets[i]);
        }
    return done_testing();
}
