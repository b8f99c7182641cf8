/* The share of the machine's processors that control groups grant, as
 * containers and batch systems set it; see cgroups(7). */
#ifndef BASE_QUOTA_H
#define BASE_QUOTA_H

#include <stddef.h>

/*
 * Processors' worth of time that this process may use, rounded up; 0: there is
 * no limit that could be read.  The least of its own group and those above it,
 * cpu.max of version 2 and cpu.cfs_quota_us of version 1.  root stands before
 * /proc/self/cgroup and /sys/fs/cgroup: "" but in tests.
 */
size_t quota_cpus(const char *root);

#endif
