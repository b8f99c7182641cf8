/*
 * The ranks of a program that mpirun or srun started, and what they tell one
 * another.  A program without such a launcher, or on one rank, has groups of
 * one, of which every call does nothing at once.
 *
 * A collective is called by all ranks of its group, in the same order and with
 * the same sizes.  What it computes is fixed to the bit by its arguments and
 * the number of ranks: it depends neither on who comes first nor on how
 * messages are cut.  A rank that dies ends them all, by the launcher.
 *
 * dist.c has the ranks and what they gather, sum.c the sums over them, pair.c
 * what passes between two, over_mpi.c the only calls of MPI; watch.h finds a
 * rank that is stopped or slow.
 */
#ifndef DIST_DIST_H
#define DIST_DIST_H

#include "base/err.h"

#include <stddef.h>

/* A group of ranks 0..n-1, one of which is this process. */
struct dist_group {
    const char *name; /* name of the group in logs */
    size_t rank, n;
    void *comm; /* private; NULL for one rank */
};

/* Call once, before threads are started and before files are written.  Starts
 * MPI if the environment is a launcher's (OMPI_COMM_WORLD_SIZE, PMIX_RANK or
 * PMI_RANK is set), else nothing.  -1 and *e (EX_SYS) when MPI fails, or when
 * this build has none and the launcher has started more than one; (EX_USAGE)
 * RETORT_NODE is no number. */
int dist_begin(struct err *e);
/* Called by all ranks at a regular end.  When a program ends without it the
 * launcher ends the other ranks. */
void dist_end(void);

/* Have the launcher end all ranks at once with that status, also those whose
 * shell still waits for another program of a pipeline.  Any thread may call it,
 * whatever the others do, if there are several ranks. */
void dist_abort(int status);

/* From here on log each call (dist/log.h; how: COMM_*) to files that begin with
 * prefix on rank 0 and with PREFIX-RANK on others.  With a log or a timeline
 * (base/timeline.h) all ranks of a group wait for each other before each
 * collective, so that the wait is measured separately. */
int dist_log(const char *prefix, int how, struct err *e);
/* Write the tables; those of a program on one rank are empty. */
int dist_log_end(struct err *e);

/* Three groups: all ranks of this program; the ranks of this node; the ranks
 * that have this rank's number on their own nodes.  (mpirun may start several
 * programs, as `mpirun -n N teacher ... : -n M student ...`; each name is a
 * program.)  Valid from dist_begin to dist_end, and groups of one before and
 * after.  With RETORT_NODE=n in the environment, n ranks one after another
 * count as a node, for trials on one machine. */
const struct dist_group *dist_world(void);
const struct dist_group *dist_node(void);
const struct dist_group *dist_across(void);
/* Number of ranks of other programs. */
size_t dist_others(void);
/* Cut g into groups of n consecutive ranks, n a divisor of g->n; *part becomes
 * this rank's group.  All ranks of g call it, and dist_part_free. */
void dist_part(struct dist_group *part, const struct dist_group *g, size_t n,
    const char *name);
void dist_part_free(struct dist_group *part);
/* Number of threads this rank runs: `asked`; if that is 0, one for each
 * processor that the rank is bound to, else its share of the node's
 * processors. */
size_t dist_threads(size_t asked);
/* numa_bind (base/numa.h) for this rank of its node, before there are threads
 * and buffers; NULL, NULL: it stays where its launcher bound it.  The first
 * rank of a node notes where the node's ranks run; a single rank that was not
 * bound says so with -v only. */
int dist_place(const char *cpus, const char *node, struct err *e);

void dist_barrier(const struct dist_group *g);
/* Copy p [bytes] of rank root to all other ranks. */
void dist_broadcast(const struct dist_group *g, void *p, size_t bytes,
    size_t root);
/* Send elements at[r]..at[r+1] of rank r's x to all others.  x [at[n]] elements
 * of `size` bytes; at [n+1] rises from 0, parts may be empty.  If g is the
 * world and all nodes have the same number of ranks, it gathers across the
 * nodes first and then in each, so that a byte comes to a node once; the log
 * has a line for both. */
void dist_all_gather(const struct dist_group *g, void *x, size_t size,
    const size_t *at);
/* dist_all_gather of one element per rank: element r is rank r's. */
void dist_all_gather_one(const struct dist_group *g, void *x, size_t size);
/* dist_all_gather in the background, by a thread.  Nobody may touch x from
 * `begin` until `end`, which waits for the gather, or until the next `begin`.
 * There is one gather at a time; other calls wait for its end.  Unless
 * dist_overlap has succeeded, `begin` does the whole gather.  The log says how
 * much of the gather was hidden. */
int dist_overlap(struct err *e);
int dist_overlaps(void); /* has dist_overlap succeeded? */
void dist_gather_begin(const struct dist_group *g, void *x, size_t size,
    const size_t *at);
void dist_gather_end(void);

/*
 * Sums over ranks, element by element:
 *   DIST_RING  in fp32, in the order c+1, c+2, ... n-1, 0, ... c for the part
 *              of rank c, as the ring passes it on
 *   DIST_TREE  in fp32, in the order of dist_tree
 *   DIST_BF16  the same order; what others send is rounded to bfloat16
 */
enum dist_sum { DIST_RING, DIST_TREE, DIST_BF16 };
/* Sum x [at[n]] over all ranks: afterwards elements at[r]..at[r+1]-1 of rank
 * r's x are the sums; its other elements are undefined. */
void dist_reduce_scatter(const struct dist_group *g, float *x, const size_t *at,
    enum dist_sum how);
/* Make x [n] of every rank the sum: dist_reduce_scatter, then
 * dist_all_gather. */
void dist_all_reduce(const struct dist_group *g, float *x, size_t n,
    enum dist_sum how);

/* Copy p [bytes] of rank `from` to p of rank `to`.  Called by both; on other
 * ranks it does nothing. */
void dist_pass(const struct dist_group *g, size_t from, size_t to, void *p,
    size_t bytes);
/* Add x [n] of rank `from` to x of rank `to`. */
void dist_pass_sum(const struct dist_group *g, size_t from, size_t to, float *x,
    size_t n);

/* Send x [n], n at most INT_MAX, to another rank, which receives n numbers by
 * the same channel with dist_receive; messages of a channel keep their order.
 * These calls are not collective.  x must not change until dist_posted is
 * called, once, with what dist_post returned.  The log has the time of both
 * calls; a receiver's wait is its wait for the sender. */
struct posted {
    size_t sending, n; /* number of the message in over_mpi.h; elements of x */
    double seconds;    /* duration of dist_post; 0: calls are not logged */
};
struct posted dist_post(const struct dist_group *g, size_t to, size_t channel,
    const float *x, size_t n);
void dist_posted(const struct dist_group *g, const struct posted *p);
void dist_receive(const struct dist_group *g, size_t from, size_t channel,
    float *x, size_t n);

/* Cut sums into messages of at most this many elements, 1..2^26 (default 2^16).
 * The bits of a sum do not depend on it.  For tests. */
void dist_segment(size_t elements);
/* Bytes of the buffer that sums keep after first use, in a group of n ranks. */
size_t dist_bytes(size_t n);

/*
 * The order of sums that does not depend on how many ranks there are.  Units
 * 0..n-1 are summed by a tree whose lowest bit is at its root:
 *   S(i,k) = S(i,2k) + S(i+k,2k) if i + k < n, else unit i; the sum is S(0,1)
 * so that S(r,R) is the sum of the units r, r+R, r+2R, ... that rank r of R (a
 * power of two) has, and the ranks' sums are the units of a tree of R.
 *
 * add(ctx, i, j) is called n-1 times and adds what stands at unit j to what
 * stands at unit i, i < j; the sum ends up at unit 0.
 */
void dist_tree(size_t n, void (*add)(void *ctx, size_t i, size_t j), void *ctx);

/* Split `total` elements evenly over n ranks: at [n+1], each at[i] a multiple
 * of `align`, or `total`. */
void dist_split(size_t total, size_t n, size_t align, size_t *at);

#endif
