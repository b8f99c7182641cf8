/*
 * Binds a process to processors and its memory to a NUMA node (hwloc).  The
 * binding also holds for threads made later and memory touched later; mapped
 * files stay where they were first read.
 */
#ifndef BASE_NUMA_H
#define BASE_NUMA_H

#include "base/err.h"

#include <stddef.h>

/* Bind the process, before it has threads or buffers, to a list of processors
 * ("0-3,8") and to the memory of a NUMA node, and without a list to the
 * processors of that node; NULL: anywhere.  Node "rank" stands for the node of
 * process `rank` of `ranks` on this machine: the nodes are taken in order, each
 * by a run of ranks; ranks 0: "rank" is refused.  EX_USAGE when the machine has
 * no such processors or node; where the system cannot bind, a note says so. */
int numa_bind(const char *cpus, const char *node, size_t rank, size_t ranks,
    struct err *e);

/* text: where the process runs, as "processors 0-1 of 0-3, memory node 0 of 2";
 * why: the warning if its memory lies on another node than its processors, or
 * on several nodes; else "". */
struct numa_state {
    char text[200], why[200];
};
void numa_describe(struct numa_state *p);

#endif
