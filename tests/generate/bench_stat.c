/* Statistics of generate bench: quantiles as numpy.quantile has them, and an
 * interval as wide as the error of a ratio that is known. */
#include "base/rng.h"
#include "generate/bench_stat.h"
#include "../lib/tap.h"

enum { N = 100 };

int
main(void)
{
    double x[] = { 9.0, 1.0, 4.0, 2.5 }, a[N], b[N], one = 3.0;
    struct ratio r;
    double wide;

    /* numpy.quantile([9, 1, 4, 2.5], [0, .5, .99, 1]) */
    ok(quantile(x, 4, 0.0) == 1.0 && quantile(x, 4, 0.5) == 3.25 &&
            near(quantile(x, 4, 0.99), 8.85, 1e-12, 0) &&
            quantile(x, 4, 1.0) == 9.0,
        "quantiles lie linearly between two values");
    ok(quantile(&one, 1, 0.99) == 3.0 && mean_of(x, 4) == 4.125,
        "a single value is each quantile, and means are exact");
    for (size_t i = 0; i < N; i++)
        a[i] = 2.0 * (b[i] = 5.0 + rng_normal(1, i));
    r = ratio_of(a, b, N, 1, 0);
    ok(near(r.v, 2.0, 1e-12, 0) && near(r.low, 2.0, 1e-12, 0) &&
            near(r.high, 2.0, 1e-12, 0),
        "rounds that go together have no error");
    for (size_t i = 0; i < N; i++) {
        a[i] = 30.0 * (1.0 + 0.1 * rng_normal(2, i));
        b[i] = 10.0 * (1.0 + 0.1 * rng_normal(3, i));
    }
    r = ratio_of(a, b, N, 1, 0);
    /* error of the ratio: 3 * sqrt(2) * 0.1 / 10 */
    wide = (r.high - r.low) / (2 * 1.96 * 3 * 0.0141421);
    ok(wide >= 0.8 && wide <= 1.2 && r.low < 3.0 && r.high > 3.0,
        "95 %%: %.3f to %.3f, %.2f of what the errors make it", r.low, r.high,
        wide);
    r = ratio_of(a, b, N / 10, 10, 0);
    ok(r.low < r.v && r.v < r.high, "rounds of ten texts have an interval");
    return done_testing();
}
