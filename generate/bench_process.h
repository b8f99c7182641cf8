/*
 * A model of generate bench in a process of its own, so that its peak of memory
 * can be measured.  The process writes times into memory that it shares with
 * the program.
 */
#ifndef GENERATE_BENCH_PROCESS_H
#define GENERATE_BENCH_PROCESS_H

#include "bench_plan.h"
#include "bench_stat.h"
#include "common.h"
#include "model/model.h"

#include <stddef.h>

struct bench_process {
    struct model m; /* opened by the caller, who closes it */
    int pid, to, from;
    size_t bytes;   /* most bytes that it will take, as planned */
    size_t threads; /* compute threads */
    size_t peak;    /* bytes, after the last turn */
};

/* Start the process and make its engine.  p and how outlive it.  Dies on
 * errors; if the process has died, with its exit status. */
void bench_process_start(struct bench_process *b, const struct bench_plan *p,
    const struct common *how);
/* Run requests from .. from + n - 1 of level k and record them in times [n],
 * which lie in shared memory.  Returns the seconds that it took. */
double bench_process_turn(struct bench_process *b, size_t k, size_t from,
    size_t n, struct bench_times *times);
void bench_process_end(struct bench_process *b);

#endif
