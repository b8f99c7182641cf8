/* The limit on processors that control groups impose, which containers and
 * batch systems set; see cgroups(7). */
#ifndef BASE_QUOTA_H
#define BASE_QUOTA_H

#include <stddef.h>

/*
 * Number of processors whose time this process may use, rounded up; 0: no limit
 * could be read.  The lowest limit counts, of the process's control group and
 * all groups above it: cpu.max in version 2, cpu.cfs_quota_us in version 1.
 * root: put before /proc/self/cgroup and /sys/fs/cgroup; "" except in tests.
 */
size_t quota_cpus(const char *root);

#endif
