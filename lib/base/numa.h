/*
 * Binds a process to processors, and its memory to a NUMA node (hwloc).  The
 * binding also holds for threads and memory that come later.  Pages of mapped
 * files stay where they were first read.
 */
#ifndef BASE_NUMA_H
#define BASE_NUMA_H

#include "base/err.h"

#include <stddef.h>

/* Bind the process, before it has threads or buffers.  If cpus and node are
 * both NULL, nothing is bound.
 * cpus: list of processors, such as "0-3,8"; NULL: those of the node.
 * node: NUMA node for its memory; NULL: any.  "rank": the node of process
 * number `rank` of `ranks` on this machine: consecutive processes share a node,
 * and the nodes are taken in order.  If ranks is 0, "rank" is refused.
 * EX_USAGE: the machine has no such processors or node.  If the system cannot
 * bind, a note says so. */
int numa_bind(const char *cpus, const char *node, size_t rank, size_t ranks,
    struct err *e);

/* text: where the process runs, as "processors 0-1 of 0-3, memory node 0 of 2".
 * why: a warning if its memory is on another node than its processors, or on
 * several; else "". */
struct numa_state {
    char text[200], why[200];
};
void numa_describe(struct numa_state *p);

#endif
