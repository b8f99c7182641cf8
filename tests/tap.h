/* Test Anything Protocol for unit programs: ok(cond, "what %d", i) ...
 * return done_testing();  A test that dies or stops early is a failure. */
#ifndef TESTS_TAP_H
#define TESTS_TAP_H

#include <math.h>
#include <stdio.h>

static int tap_count, tap_failed, tap_good;

static char tap_what[1000];

#define ok(cond, ...) (tap_good = (cond) ? 1 : 0, \
    snprintf(tap_what, sizeof tap_what, __VA_ARGS__), \
    tap_ok(tap_good, __FILE__, __LINE__, tap_what))

static inline int
tap_ok(int good, const char *file, int line, const char *what)
{
    printf("%sok %d - %s\n", good ? "" : "not ", ++tap_count, what);
    if (!good)
        printf("# failed at %s:%d\n", file, line);
    tap_failed += !good;
    fflush(stdout);
    return good;
}

/* |a - b| <= atol + rtol |b|, both finite: a NaN is never near. */
static inline int
near(double a, double b, double atol, double rtol)
{
    if (isfinite(a) && isfinite(b) && fabs(a - b) <= atol + rtol * fabs(b))
        return 1;
    printf("# got %.9g, want %.9g (off by %.3g)\n", a, b, fabs(a - b));
    return 0;
}

#define done_testing() (printf("1..%d\n", tap_count), tap_failed > 0)
#endif
