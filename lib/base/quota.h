/* Processors and memory that this process may use.  Control groups, which
 * containers and batch systems set, may allow less than the machine has; see
 * cgroups(7).  The lowest limit counts, of the process's control group and all
 * groups above it.
 *
 * root: put before the names of files in /proc and /sys; "" except in tests. */
#ifndef BASE_QUOTA_H
#define BASE_QUOTA_H

#include <stddef.h>

/* Number of processors whose time this process may use, rounded up; 0: no limit
 * could be read.  Files: cpu.max in version 2, cpu.cfs_quota_us in version 1.
 */
size_t quota_cpus(const char *root);

/* Bytes of memory.  all: what this process may use (memory.max, or
 * memory.limit_in_bytes in version 1); available: what a program that starts
 * now would find free, without swapping.  SIZE_MAX if it cannot be read. */
struct memory {
    size_t all, available;
};
struct memory quota_memory(const char *root);

#endif
