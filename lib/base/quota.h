/* How many processors control groups grant, as containers and batch systems set
 * it; see cgroups(7). */
#ifndef BASE_QUOTA_H
#define BASE_QUOTA_H

#include <stddef.h>

/*
 * Number of processors whose time this process may use, rounded up; 0: no limit
 * could be read.  It is the lowest of the limits of its control group and of
 * the groups above that: cpu.max in version 2, cpu.cfs_quota_us in version 1.
 * root: put before /proc/self/cgroup and /sys/fs/cgroup; "" except in tests.
 */
size_t quota_cpus(const char *root);

#endif
