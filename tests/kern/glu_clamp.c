/* The unit of gpt-oss's experts, against numbers that Python computed in double
 * (shown beside them), and its gradients, against central differences. */
#include "kern/glu_clamp.h"
#include "../lib/tap.h"

#include <math.h>

static double
unit_of(double gate, double up)
{
    const double g = fmin(gate, 7.0), u = fmax(fmin(up, 7.0), -7.0);

    return (u + 1.0) * g / (1.0 + exp(-1.702 * g));
}

/* The larger of two errors; a NaN is the largest. */
static double
worse(double off, double error)
{
    return error <= off ? off : isnan(error) ? INFINITY : error;
}

/* Expected values, in Python: g = min(g, 7); (max(min(u, 7), -7) + 1) * g / (1
 * + math.exp(-1.702 * g)) */
static void
test_values(void)
{
    const float gate[] = { 8.0f, 1.0f, -3.0f, 0.0f, NAN, 1.0f };
    const float up[] = { -9.0f, 0.5f, 20.0f, 1.0f, 1.0f, NAN };
    const double want[] = { -41.99971877, 1.26869365, -0.14457048, 0.0 };
    float out[6];
    double off = 0.0;

    glu_clamp_ref(out, gate, up, 6);
    for (size_t i = 0; i < 4; i++)
        off = worse(off, fabs(out[i] - want[i]));
    ok(off <= 4e-6, "the unit has Python's values (%.2g)", off);
    ok(isnan(out[4]) && isnan(out[5]), "a NaN comes out of the unit");
}

static void
test_gradients(void)
{
    enum { N = 2000 };
    const double h = 1e-4;
    double off = 0.0;
    int clamped = 0;

    for (size_t i = 0; i < N; i++) {
        const float gate = (float)(i % 50) * 0.401f - 10.0f;
        const float up = (float)(i / 50) * 0.507f - 10.0f, dout = 0.7f;
        float dg = gate, du = up;

        glu_clamp_bwd_ref(&dg, &du, &dout, &dg, &du, 1);
        off = worse(off,
            fabs(dg -
                0.7 * (unit_of(gate + h, up) - unit_of(gate - h, up)) /
                    (2.0 * h)));
        off = worse(off,
            fabs(du -
                0.7 * (unit_of(gate, up + h) - unit_of(gate, up - h)) /
                    (2.0 * h)));
        clamped += dg == 0.0f || du == 0.0f;
    }
    ok(off <= 2e-5, "the unit's gradients are central differences (%.2g)", off);
    ok(clamped > 100, "a clamped number has no gradient (%d)", clamped);
}

int
main(void)
{
    test_values();
    test_gradients();
    return done_testing();
}
