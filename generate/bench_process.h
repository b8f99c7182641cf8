/*
 * A model of generate bench in a process of its own, so that its peak of memory
 * can be measured.  The process writes times into memory that it shares with
 * the program.
 */
#ifndef GENERATE_BENCH_PROCESS_H
#define GENERATE_BENCH_PROCESS_H

#include "bench_plan.h"
#include "bench_stat.h"
#include "how.h"
#include "model/files/model.h"

#include <stddef.h>

struct bench_process {
    struct model m; /* opened by the caller, who closes it */
    int pid, to, from;
    size_t bytes;   /* most bytes that it will take, as planned */
    size_t threads; /* compute threads */
    size_t peak;    /* bytes, after the last turn */
};

/* Start the process and make its engine.  *p and *how must outlive the process.
 * Dies on errors; if the process has died, with its exit status. */
void bench_process_start(struct bench_process *b, const struct bench_plan *p,
    const struct how *how);
/* Run n requests of level k, from number `from` on, and record them in times
 * [n], which lies in shared memory.  Returns the seconds that the turn took. */
double bench_process_turn(struct bench_process *b, size_t k, size_t from,
    size_t n, struct bench_times *times);
void bench_process_end(struct bench_process *b);

#endif
