/* Processor time by parts of a program; see profile.h. */
#include "base/profile.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/note.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { PARTS = 64 };

static struct {
    const char *_Atomic file; /* NULL: off.  Atomic: a thread that reads a
                               * stream may run before pool_new sets it */
    /* used by the main thread only, down to `started` */
    size_t threads;
    size_t steps, tokens;     /* tokens since the first profile_step */
    double wall, cpu;         /* clocks at the first profile_step; until then,
                               * at the program's start */
    double wall_end, cpu_end; /* clocks at the last profile_step */
    int started;
    struct {
        /* All threads add to the counters; no order is needed. */
        const char *_Atomic name; /* filled from the front; NULL: unused */
        _Atomic uint64_t calls, ns, flop, bytes, exps;
    } part[PARTS];
} profile;

double
profile_begin(void)
{
    struct timespec t;

    if (profile.file == NULL)
        return 0.0;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Index of the part called name, which is added if it is new; the last index if
 * there is no room for it. */
static size_t
find_part(const char *name)
{
    for (size_t i = 0; i < PARTS; i++) {
        const char *is = NULL;

        if (atomic_compare_exchange_strong(&profile.part[i].name, &is, name) ||
            strcmp(is, name) == 0)
            return i;
    }
    return PARTS - 1;
}

void
profile_end(const char *name, double begin, double flop, double bytes)
{
    size_t i;

    if (profile.file == NULL)
        return;
    i = find_part(name);
    profile.part[i].ns += (uint64_t)((profile_begin() - begin) * 1e9);
    profile.part[i].calls++;
    profile.part[i].flop += (uint64_t)flop;
    profile.part[i].bytes += (uint64_t)bytes;
}

void
profile_exps(const char *name, double exps)
{
    if (profile.file != NULL)
        profile.part[find_part(name)].exps += (uint64_t)exps;
}

/* Write lines of keys and values, then a table of the parts. */
static void
report_profile(void)
{
    FILE *f = fopen(profile.file, "w");
    struct rusage ru = { 0 };

    if (f == NULL) {
        warn("%s:", profile.file);
        return;
    }
    getrusage(RUSAGE_SELF, &ru);
    fprintf(f,
        "# program %s\n# threads %zu\n# steps %zu\n# tokens %zu\n"
        "# wall %.6f\n# cpu %.6f\n# peak %.1f\n",
        progname, profile.threads, profile.steps, profile.tokens,
        profile.wall_end - profile.wall, profile.cpu_end - profile.cpu,
        (double)ru.ru_maxrss / 1e3 * 1.024);
    fprintf(f, "part\tcalls\tseconds\tGflop\tGB\tGexp\n");
    for (size_t i = 0; i < PARTS && profile.part[i].name != NULL; i++)
        fprintf(f, "%s\t%llu\t%.6f\t%.6f\t%.6f\t%.6f\n", profile.part[i].name,
            (unsigned long long)profile.part[i].calls,
            1e-9 * (double)profile.part[i].ns,
            1e-9 * (double)profile.part[i].flop,
            1e-9 * (double)profile.part[i].bytes,
            1e-9 * (double)profile.part[i].exps);
    if (fclose(f) != 0)
        warn("%s:", profile.file);
}

static void
clocks(double *wall, double *cpu)
{
    *wall = clock_now();
    *cpu = clock_cpu();
}

void
profile_init(size_t threads)
{
    const char *file = getenv("RETORT_PROFILE");

    if (profile.file != NULL || file == NULL || *file == '\0')
        return;
    profile.threads = threads;
    clocks(&profile.wall, &profile.cpu);
    clocks(&profile.wall_end, &profile.cpu_end);
    profile.file = file;
    if (atexit(report_profile) != 0)
        warn("%s: there will be no profile", file);
}

void
profile_step(size_t tokens)
{
    if (profile.file == NULL)
        return;
    clocks(&profile.wall_end, &profile.cpu_end);
    if (profile.started) {
        profile.steps++;
        profile.tokens += tokens;
        return;
    }
    profile.started = 1;
    profile.wall = profile.wall_end;
    profile.cpu = profile.cpu_end;
    for (size_t i = 0; i < PARTS; i++) {
        profile.part[i].calls = profile.part[i].ns = 0;
        profile.part[i].flop = profile.part[i].bytes = 0;
        profile.part[i].exps = 0;
    }
}
