/* The share of the machine's processors that control groups grant, as
 * containers and batch systems set it; see cgroups(7). */
#ifndef BASE_QUOTA_H
#define BASE_QUOTA_H

#include <stddef.h>

/*
 * Number of processors whose time this process may use, rounded up; 0: no limit
 * could be read.  It is the lowest limit of the process's own group and of
 * those above it: cpu.max of version 2, cpu.cfs_quota_us of version 1.  root is
 * put before /proc/self/cgroup and /sys/fs/cgroup: "" except in tests.
 */
size_t quota_cpus(const char *root);

#endif
