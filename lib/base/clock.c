/* Clocks: see clock.h */
#include "base/clock.h"

#include "base/dir.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

static double
seconds(clockid_t id)
{
    struct timespec t;

    if (clock_gettime(id, &t) < 0)
        return 0.0;
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double
clock_now(void)
{
    return seconds(CLOCK_MONOTONIC);
}

double
clock_cpu(void)
{
    return seconds(CLOCK_PROCESS_CPUTIME_ID);
}

/* Linux's file schedstat of a thread begins with both times in ns. */
struct clock_shares
clock_shares(void)
{
    struct clock_shares all = { 0.0, 0.0 };
    struct dir_list tasks;
    struct err e;

    if (dir_list("/proc/self/task", &tasks, &e) < 0)
        return all;
    for (size_t i = 0; i < tasks.n; i++) {
        char path[80];
        double run, waited;
        FILE *f;

        snprintf(path, sizeof path, "/proc/self/task/%.20s/schedstat",
            tasks.name[i]);
        if ((f = fopen(path, "r")) == NULL)
            continue;
        if (fscanf(f, "%lf %lf", &run, &waited) == 2) {
            all.run += 1e-9 * run;
            all.waited += 1e-9 * waited;
        }
        fclose(f);
    }
    dir_list_release(&tasks);
    return all;
}

double
clock_waited(const struct clock_shares *before)
{
    const struct clock_shares now = clock_shares();
    const double waited = fmax(now.waited - before->waited, 0.0);

    return waited / (fmax(now.run - before->run, 1e-9) + waited);
}
