/* Test Anything Protocol for unit programs: ok(cond, "what %d", i) ...
 * return done_testing();  A test that dies or stops early is a failure. */
#ifndef TESTS_LIB_TAP_H
#define TESTS_LIB_TAP_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int tap_count, tap_failed, tap_good;

static char tap_what[1000];

#define ok(cond, ...)                                     \
    (tap_good = (cond) ? 1 : 0,                           \
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

/* Count a test that cannot run here as passed; tests/skips lists the reasons
 * that are allowed. */
static inline void
tap_skip(const char *what, const char *why)
{
    printf("ok %d - %s # SKIP %s\n", ++tap_count, what, why);
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

/* The maximum of the earlier distances, `most`, and the next one, `off`; a NaN
 * counts as infinity, so that no later distance hides it. */
static inline double
farther(double most, double off)
{
    return off <= most ? most : isnan(off) ? INFINITY : off;
}

/* The largest difference of got [n] and want [n]. */
static inline double
farthest(const float *got, const double *want, size_t n)
{
    double most = 0.0;

    for (size_t i = 0; i < n; i++)
        most = farther(most, fabs(got[i] - want[i]));
    return most;
}

static char tap_folder[] = "/tmp/retort-test-XXXXXX";
static pid_t tap_owner;

static inline void
tap_clean(void)
{
    char command[100];

    if (getpid() != tap_owner) /* a child of the test */
        return;
    snprintf(command, sizeof command, "rm -r %s", tap_folder);
    if (chdir("/") != 0 || system(command) != 0)
        fprintf(stderr, "%s could not be removed\n", tap_folder);
}

/* Call it first in the main of a test that writes files: if the test is run by
 * hand and not by scripts/check, it changes to a new folder that is removed at
 * the end. */
static inline void
tap_scratch(void)
{
    char tests[4096];

    if (getenv("RETORT_SCRATCH"))
        return;
    if (!realpath("tests", tests) || !mkdtemp(tap_folder) ||
        chdir(tap_folder) != 0 || symlink(tests, "tests") != 0) {
        printf("Bail out! no folder of its own: run it at the top of the "
               "source tree\n");
        exit(1);
    }
    tap_owner = getpid();
    atexit(tap_clean);
}

#define done_testing() (printf("1..%d\n", tap_count), tap_failed > 0)
#endif
