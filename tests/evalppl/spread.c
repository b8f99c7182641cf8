/* Percentiles, against what sort and awk say of the same numbers. */
#include "../../evalppl/spread.h"
#include "../lib/tap.h"
#include "base/mem.h"
#include "base/rng.h"
#include "model/pass/head.h"

#include <string.h>

static const double share[] = { 0, 0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9,
    0.95, 0.99, 0.999, 1 };
enum { SHARES = sizeof(share) / sizeof(*share) };

/* awk's answers: linear between the neighbours of the place 1 + (n - 1) q. */
static int
ask(double *want)
{
    FILE *p = popen("LC_ALL=C sort -g numbers | awk '{ v[NR] = $1 } END { "
                    "split(\"0 .001 .01 .05 .1 .25 .5 .75 .9 .95 .99 .999 1\", "
                    "q, \" \"); for (i = 1; i <= 13; i++) { at = 1 + q[i] * "
                    "(NR - 1); k = int(at); if (k == NR) k--; if (NR == 1) k = "
                    "1; printf \"%.17g\\n\", v[k] * (k + 1 - at) + (NR > 1 ? "
                    "v[k + 1] * (at - k) : 0) } }'",
        "r");
    int n = 0;

    while (p != NULL && n < SHARES && fscanf(p, "%lf", &want[n]) == 1)
        n++;
    return p != NULL && pclose(p) == 0 && n == SHARES;
}

/* Put n predictions of two models beside the base into a spread, m at a
 * time. */
static void
test(size_t n, size_t m)
{
    struct spread *s = spread_new(3, 0, 1, 1);
    struct unit units[2] = { { .source = 0 }, { .source = 1 } };
    struct eval e = { .units.unit = units };
    FILE *f = fopen("numbers", "w");
    double want[SHARES];
    float *v;
    size_t count, part = 0;
    int good = 1;

    for (size_t at = 0; at < n; at += m) {
        const size_t now = n - at < m ? n - at : m;
        size_t *unit = xcalloc(now, sizeof(*unit));

        spread_begin(s, now);
        for (size_t k = 0; k < now; k++) {
            const struct pair_score p = { .nll_p = 1.0,
                .nll_q = 1.0,
                .kl = rng_unit(3, 2 * (at + k)) * 5.0 - 1.0 };
            const struct pair_score soft = { .back = -p.kl };

            fprintf(f, "%.17g\n", (double)(float)p.kl);
            spread_put(s, 1, k, &soft, NULL);
            spread_put(s, 2, k, &p, &soft);
            unit[k] = (at + k) % 3 == 0;
            part += unit[k];
        }
        spread_end(s, &e, unit, now);
        free(unit);
    }
    fclose(f);
    ok(ask(want), "sort and awk rank %zu numbers, %zu at a time", n, m);
    v = spread_sorted(s, NONE, 2, S_KL, &count);
    for (size_t i = 0; i < SHARES; i++)
        good = good && near(spread_rank(v, count, share[i]), want[i], 1e-12, 0);
    ok(good && count == n, "percentiles of %zu numbers are those of awk", n);
    free(v);
    v = spread_sorted(s, NONE, 2, S_BACKT, &count);
    ok(near(v[0], -want[SHARES - 1], 1e-12, 0),
        "another series of %zu numbers has its own", n);
    free(v);
    v = spread_sorted(s, 1, 2, S_KL, &count);
    ok(count == part, "a source of %zu numbers has only its own", n);
    free(v);
    spread_free(s);
}

int
main(void)
{
    tap_scratch();
    test(1, 1);
    test(2, 1);
    test(1000, 64);
    test(4097, 4096);
    return done_testing();
}
