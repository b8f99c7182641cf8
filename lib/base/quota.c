/* CPU quotas of control groups; see quota.h. */
#include "base/quota.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 1e6 /* processors; a larger limit is ignored */

/* Lower *least to quota / period processors, if that is less. */
static void
lower_to_quota(double quota, double period, double *least)
{
    const double cpus = quota / period;

    if (quota > 0.0 && period > 0.0 && cpus < *least)
        *least = cpus;
}

/* Read the numbers in a file, at most two; returns how many. */
static int
read_numbers(const char *dir, const char *name, double v[2])
{
    char *path = xasprintf("%s/%s", dir, name);
    FILE *f = fopen(path, "r");
    int n = f ? fscanf(f, "%lf %lf", &v[0], &v[1]) : 0;

    if (f)
        fclose(f);
    free(path);
    return n;
}

/* Apply the limits of a group.  Version 2: a file "quota period", in which
 * quota may be the word max.  Version 1: two files; quota may be -1. */
static void
group_limit(const char *dir, double *least)
{
    double v[2], w[2];

    if (read_numbers(dir, "cpu.max", v) == 2)
        lower_to_quota(v[0], v[1], least);
    if (read_numbers(dir, "cpu.cfs_quota_us", v) >= 1 &&
        read_numbers(dir, "cpu.cfs_period_us", w) >= 1)
        lower_to_quota(v[0], w[0], least);
}

/* Apply the limits of group `path` below a mount, and of all groups above it.
 * A container may find its own group at the mount itself, whatever `path`
 * is. */
static void
path_limits(const char *root, const char *mount, const char *path,
    double *least)
{
    char *dir = xasprintf("%s/sys/fs/cgroup%s%s", root, mount, path);
    const size_t top = strlen(dir) - strlen(path);
    char *slash;

    group_limit(dir, least);
    while ((slash = strrchr(dir + top, '/')) != NULL) {
        *slash = '\0';
        group_limit(dir, least);
    }
    free(dir);
}

/* Is `cpu` one of the words, separated by commas, in list[n]? */
static int
has_cpu(const char *list, size_t n)
{
    for (size_t i = 0; i + 3 <= n; i++)
        if (memcmp(list + i, "cpu", 3) == 0 && (i == 0 || list[i - 1] == ',') &&
            (i + 3 == n || list[i + 3] == ','))
            return 1;
    return 0;
}

/* Apply the limits of the group in a line "number:controllers:path" of
 * /proc/self/cgroup.  In version 2 the controllers are empty. */
static void
line_limits(const char *root, const char *line, double *least)
{
    static const char *const mount[2][2] = { { "", "/unified" },
        { "/cpu", "/cpu,cpuacct" } };
    const char *list = strchr(line, ':');
    const char *path = list ? strchr(list + 1, ':') : NULL;
    int old;

    if (!path || path[1] != '/')
        return;
    list++;
    old = path > list;
    if (old && !has_cpu(list, (size_t)(path - list)))
        return;
    for (int i = 0; i < 2; i++)
        path_limits(root, mount[old][i], path + 1, least);
}

size_t
quota_cpus(const char *root)
{
    char *path = xasprintf("%s/proc/self/cgroup", root);
    FILE *f = fopen(path, "r");
    double least = MOST;
    char line[4096];

    free(path);
    if (!f)
        return 0;
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        line_limits(root, line, &least);
    }
    fclose(f);
    if (!(least < MOST))
        return 0;
    return (size_t)least + (least > (double)(size_t)least);
}
