/* The sketch of a gradient keeps lengths and differences. */
#include "../lib/tap.h"
#include "student/sketch.h"
#include "base/rng.h"
#include "kern/kern.h"

#include <stdlib.h>

/* A gradient of many small numbers, and large ones in a column, as an outlying
 * channel has; each changed by `share` of itself times normal noise.  Returns
 * the length of the change divided by that of the gradient. */
static double
fill(struct tmodel *t, double share)
{
    double diff = 0.0, whole = 0.0;
    size_t k = 0;

    for (size_t i = 0; i < t->ngroup; i++)
        for (size_t j = 0; j < t->group[i].n; j++, k++) {
            const double x = rng_normal(1, k) * (j % 64 == 3 ? 100.0 : 1.0);
            const double y = x * share * rng_normal(2, k);

            t->group[i].g[j] = (float)(x + y);
            diff += y * y;
            whole += x * x;
        }
    return sqrt(diff / whole);
}

int
main(void)
{
    const struct config c = { .arch = "llama",
        .V = 4096,
        .d = 64,
        .L = 2,
        .H = 4,
        .KV = 2,
        .D = 16,
        .mlp = 192,
        .tied = 1 };
    static const double share[] = { 1e-3, 1e-2, 1.0 };
    struct tmodel t;
    double *a, *b;

    if (kern_init() != NULL)
        return 1;
    tmodel_layout(&t, &c, NULL, DT_F32);
    (void)fill(&t, 0.0);
    a = sketch_new(&t);
    for (size_t i = 0; i < 3; i++) {
        const double want = fill(&t, share[i]);

        b = sketch_new(&t);
        ok(near(sketch_distance(a, b), want, 0, 0.01),
            "changed by %g: %g by the sketch", want, sketch_distance(a, b));
        free(b);
    }
    t.group[1].g[7] = NAN;
    b = sketch_new(&t);
    ok(isnan(sketch_distance(a, b)), "NaN stays NaN");
    free(a);
    free(b);
    tmodel_release(&t);
    return done_testing();
}
