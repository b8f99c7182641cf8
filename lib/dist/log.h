/*
 * A log of collectives: a line for each, a table, and sums.
 *
 * The lines and the table look like DeepSpeed's
 * (deepspeed/utils/comms_logging.py 0.16.1), with these numbers corrected:
 *   - the message of an all-gather is the whole array, not a rank's part of it,
 *     so that it can be compared with a reduce-scatter's;
 *   - a reduce-scatter's bandwidth is not multiplied by n;
 *   - an all-reduce moves its array once, not twice;
 *   - n is the number of ranks of the group, not of all ranks.
 * As in nccl-tests, algbw = S/t with S the whole array, and busbw = algbw times
 * a factor: (n-1)/n for all-gather, reduce-scatter and all-to-all, 2(n-1)/n for
 * all-reduce, 1 for others.  The time does not contain the wait for other
 * ranks.  With COMM_DEEPSPEED all numbers are DeepSpeed's.
 *
 * log.c writes the log; pmpi.c is a library that logs any MPI program.
 */
#ifndef DIST_LOG_H
#define DIST_LOG_H

#include <stddef.h>

enum comm_kind {
    COMM_ALL_GATHER,
    COMM_REDUCE_SCATTER,
    COMM_ALL_REDUCE,
    COMM_ALL_TO_ALL,
    COMM_OTHER
};

struct comm_event {
    const char *op; /* DeepSpeed's name of the call; must outlive the log */
    enum comm_kind kind;
    const char *group; /* name of the group; must outlive the log */
    size_t n;          /* ranks of the group */
    /* whole: bytes of the whole array; shard: of a rank's part of it; wire:
     * sent by this rank. */
    size_t whole, shard, wire;
    double seconds; /* duration */
    double exposed; /* part of these seconds in which the rank did nothing
                     * else */
    double wait;    /* seconds before, in which this rank waited for the
                     * others */
};

struct comm_log;
enum { COMM_DEEPSPEED = 1 };
/* Write PREFIX.log from now on, and at the end PREFIX.tsv, PREFIX-log2.tsv and
 * PREFIX.json.  ranks: number of ranks of the world; how: 0 or COMM_DEEPSPEED.
 * NULL and errno: PREFIX.log cannot be written. */
struct comm_log *comm_log_open(const char *prefix, size_t ranks, int how);
void comm_log_add(struct comm_log *l, const struct comm_event *e);
/*
 * Write the tables at the end of PREFIX.log and to:
 *   PREFIX.tsv       a line for each op, group and size: count, bytes, sum of
 *                    milliseconds, means of milliseconds and bandwidths without
 *                    the fastest and the slowest tenth, and milliseconds
 *                    exposed, hidden and waited
 *   PREFIX-log2.tsv  a line for each op and message size, rounded down to a
 *                    power of two: count, bytes, milliseconds
 *   PREFIX.json      the lines of both files as objects, whose members are the
 *                    columns, in the arrays "messages" and "log2", beside the
 *                    number "ranks"
 * -1 and errno: something was not written.
 */
int comm_log_close(struct comm_log *l);

#endif
