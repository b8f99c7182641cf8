/*
 * A log of collectives: a line for each, a table, and what they add up to.
 *
 * Lines and table are laid out as DeepSpeed's (deepspeed/utils/comms_logging.py
 * 0.16.1), whose numbers are corrected:
 *   - the message of an all-gather is the whole array, not a rank's part of it,
 *     so that it can be compared with a reduce-scatter's;
 *   - a reduce-scatter's bandwidth is not multiplied by n once more;
 *   - an all-reduce moves its array, not twice that;
 *   - n is that of the group, not of all ranks.
 * By the rule of nccl-tests, algbw = S/t with S the whole array, and busbw =
 * algbw times (n-1)/n for all-gather, reduce-scatter and all-to-all, 2(n-1)/n
 * for all-reduce, 1 for others.  The time does not contain the wait for other
 * ranks.  With COMM_DEEPSPEED all numbers are DeepSpeed's.
 *
 * log.c writes, pmpi.c is a library that logs any program of MPI.
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
    const char *op; /* DeepSpeed's name; not copied, outlives the log */
    enum comm_kind kind;
    const char *group; /* its name; not copied either */
    size_t n;          /* ranks of the group */
    /* Bytes of the whole array, of a rank's part of it, sent by this rank. */
    size_t whole, shard, wire;
    double seconds; /* that it took */
    double exposed; /* seconds of these in which the rank did nothing else */
    double wait;    /* seconds before it until all ranks had come */
};

struct comm_log;
enum { COMM_DEEPSPEED = 1 };
/* Writes PREFIX.log now, and PREFIX.tsv, -log2.tsv and .json at the end.
 * ranks: of the world; how: 0 or COMM_DEEPSPEED.  NULL and errno: PREFIX.log
 * cannot be written. */
struct comm_log *comm_log_open(const char *prefix, size_t ranks, int how);
void comm_log_add(struct comm_log *l, const struct comm_event *e);
/*
 * The table, and:
 *   PREFIX.tsv       a line an op, group and size: how often, bytes, and
 *                    milliseconds: all, averages without the tenth at each
 *                    end, exposed, hidden, waited
 *   PREFIX-log2.tsv  a line an op and power of two, of messages not smaller:
 *                    how often, bytes, milliseconds
 *   PREFIX.json      the lines of both as objects, of the same names, in the
 *                    arrays "messages" and "log2", beside the number "ranks"
 * -1, and errno: something was not written. */
int comm_log_close(struct comm_log *l);

#endif
