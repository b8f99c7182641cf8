/* Limits of control groups; see quota.h. */
#include "base/quota.h"
#include "base/mem.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 1e6 /* processors; a larger limit is ignored */

/* The lowest limits found so far. */
struct limits {
    double cpus;
    double all, available; /* bytes of memory */
};

static void
lower(double *least, double x)
{
    if (x >= 0.0 && x < *least)
        *least = x;
}

/* Lower *least to quota / period processors, if that is less. */
static void
lower_to_quota(double quota, double period, double *least)
{
    if (quota > 0.0 && period > 0.0)
        lower(least, quota / period);
}

static FILE *
open_in(const char *dir, const char *name)
{
    char *path = xasprintf("%s/%s", dir, name);
    FILE *f = fopen(path, "r");

    free(path);
    return f;
}

/* Read the numbers in a file, at most two; returns how many. */
static int
read_numbers(const char *dir, const char *name, double v[2])
{
    FILE *f = open_in(dir, name);
    int n = f ? fscanf(f, "%lf %lf", &v[0], &v[1]) : 0;

    if (f)
        fclose(f);
    return n;
}

/* Return the number behind the word `key` at the beginning of a line of a file,
 * or `none`. */
static double
number_behind(const char *dir, const char *name, const char *key, double none)
{
    const size_t n = strlen(key);
    FILE *f = open_in(dir, name);
    double x = none;
    char line[200];

    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, key, n) == 0 && line[n] == ' ')
            x = strtod(line + n, NULL);
    if (f)
        fclose(f);
    return x;
}

/* Lower *l to the limit on memory of the control group whose files are in dir.
 *   limit   the file with the limit
 *   held    the file with the number of bytes in use
 *   cache   the line of memory.stat with the bytes of cached files that nobody
 *           has read lately: they are in use too, but the kernel frees them
 *           when a program needs memory */
static void
memory_limits(const char *dir, const char *limit, const char *held,
    const char *cache, struct limits *l)
{
    double most[2], now[2], left;

    if (read_numbers(dir, limit, most) < 1)
        return;
    lower(&l->all, most[0]);
    if (read_numbers(dir, held, now) < 1)
        return;
    left = most[0] - now[0] + number_behind(dir, "memory.stat", cache, 0.0);
    lower(&l->available, left < 0.0 ? 0.0 : left);
}

/* Lower *l to the limits of the control group whose files are in dir.  The
 * limit on processor time is two numbers.  Version 2 has both in the file
 * cpu.max, "quota period", where the word max instead of the quota means no
 * limit; version 1 has a file for each, and a quota of -1 means no limit. */
static void
group_limit(const char *dir, struct limits *l)
{
    double v[2], w[2];

    if (read_numbers(dir, "cpu.max", v) == 2)
        lower_to_quota(v[0], v[1], &l->cpus);
    if (read_numbers(dir, "cpu.cfs_quota_us", v) >= 1 &&
        read_numbers(dir, "cpu.cfs_period_us", w) >= 1)
        lower_to_quota(v[0], w[0], &l->cpus);
    memory_limits(dir, "memory.max", "memory.current", "inactive_file", l);
    memory_limits(dir, "memory.limit_in_bytes", "memory.usage_in_bytes",
        "total_inactive_file", l);
}

/* Lower *l to the limits of group `path` below a mount, and of all groups above
 * it.
 * A container may find its own group at the mount itself, whatever `path`
 * is. */
static void
path_limits(const char *root, const char *mount, const char *path,
    struct limits *l)
{
    char *dir = xasprintf("%s/sys/fs/cgroup%s%s", root, mount, path);
    const size_t top = strlen(dir) - strlen(path);
    char *slash;

    group_limit(dir, l);
    while ((slash = strrchr(dir + top, '/')) != NULL) {
        *slash = '\0';
        group_limit(dir, l);
    }
    free(dir);
}

/* Is `word` one of the words, separated by commas, in list[n]? */
static int
has_word(const char *list, size_t n, const char *word)
{
    const size_t len = strlen(word);

    for (size_t i = 0; i + len <= n; i++)
        if (memcmp(list + i, word, len) == 0 &&
            (i == 0 || list[i - 1] == ',') &&
            (i + len == n || list[i + len] == ','))
            return 1;
    return 0;
}

/* Lower *l to the limits of the group in a line "number:controllers:path" of
 * /proc/self/cgroup.  In version 2 the controllers are empty. */
static void
line_limits(const char *root, const char *line, struct limits *l)
{
    static const struct {
        const char *controller, *mount;
    } places[] = { { "", "" }, { "", "/unified" }, { "cpu", "/cpu" },
        { "cpu", "/cpu,cpuacct" }, { "memory", "/memory" } };
    const char *list = strchr(line, ':');
    const char *path = list ? strchr(list + 1, ':') : NULL;

    if (!path || path[1] != '/')
        return;
    list++;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (has_word(list, (size_t)(path - list), places[i].controller))
            path_limits(root, places[i].mount, path + 1, l);
}

/* Read the limits of all control groups of this process. */
static struct limits
read_limits(const char *root)
{
    struct limits l = { MOST, (double)SIZE_MAX, (double)SIZE_MAX };
    FILE *f = open_in(root, "proc/self/cgroup");
    char line[4096];

    while (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        line_limits(root, line, &l);
    }
    if (f)
        fclose(f);
    return l;
}

size_t
quota_cpus(const char *root)
{
    const double least = read_limits(root).cpus;

    if (!(least < MOST))
        return 0;
    return (size_t)least + (least > (double)(size_t)least);
}

static size_t
to_bytes(double x)
{
    return x < (double)SIZE_MAX ? (size_t)x : SIZE_MAX;
}

struct memory
quota_memory(const char *root)
{
    struct limits l = read_limits(root);

    lower(&l.all,
        1024.0 * number_behind(root, "proc/meminfo", "MemTotal:", -1.0));
    lower(&l.available,
        1024.0 * number_behind(root, "proc/meminfo", "MemAvailable:", -1.0));
    lower(&l.available, l.all);
    return (struct memory){ to_bytes(l.all), to_bytes(l.available) };
}
