/*
 * On which processors a process runs, and where its memory lies (hwloc).
 * Threads made later run there too, and memory touched later lies there; files
 * that are mapped lie where they were first read.
 */
#ifndef BASE_PLACE_H
#define BASE_PLACE_H

#include "base/err.h"

#include <stddef.h>

/* Bind the process, before it has threads or buffers, to a list of processors
 * ("0-3,8") and to the memory and, without a list, the processors of a NUMA
 * node; NULL: anywhere.  Node "rank" is that of process `rank` of `ranks` on
 * this machine, which take the nodes in order, a run of ranks each; ranks 0:
 * there is no such node.  EX_USAGE when they are not there; notes and goes on
 * where the system does not bind. */
int place(const char *cpus, const char *node, size_t rank, size_t ranks,
    struct err *e);

/* Where the process is, as "processors 0-1 of 0-3, memory node 0 of 2"; what is
 * wrong with it as `why`, or "": that processors and memory are of different
 * nodes, or of several. */
struct placed {
    char text[200], why[200];
};
void place_now(struct placed *p);

#endif
