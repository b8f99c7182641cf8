/*
 * The ranks of a program that mpirun or srun started, and the messages between
 * them.  A program without such a launcher, or on one rank, has groups of one
 * rank; with these every call returns at once.
 *
 * A collective is called by all ranks of its group, in the same order and with
 * the same sizes.  Its result is fixed to the bit by its arguments and the
 * number of ranks: it depends neither on which rank comes first nor on how
 * messages are cut.  When a rank dies, the launcher ends all.
 *
 * dist.c has the ranks and gathers, sum.c sums over ranks, pair.c messages
 * between two; only over_mpi.c calls MPI.  watch.h finds a rank that is stopped
 * or slow.
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

/* Call once, before threads are started and files are written.  Starts MPI if a
 * launcher started the program (OMPI_COMM_WORLD_SIZE, PMIX_RANK or PMI_RANK is
 * set), else nothing.  -1 and EX_SYS: MPI fails, or this build has no MPI and
 * there are several ranks; EX_USAGE: RETORT_NODE is no number. */
int dist_begin(struct err *e);
/* Called by all ranks at a regular end.  If a program ends without this call,
 * the launcher ends the other ranks. */
void dist_end(void);

/* Have the launcher end all ranks at once with that status, even ranks whose
 * shell still waits for another program of a pipeline.  Call it only if there
 * are several ranks.  Any thread may, whatever other threads do. */
void dist_abort(int status);

/* From here on log each call (dist/log.h; how: 0 or COMM_DEEPSPEED).  The
 * files' names begin with prefix on rank 0, with PREFIX-RANK on others.  With a
 * log or a timeline (base/timeline.h), all ranks of a group wait for each other
 * before each collective, so that this wait is measured separately. */
int dist_log(const char *prefix, int how, struct err *e);
/* Write the log's tables; on one rank they are empty. */
int dist_log_end(struct err *e);

/* Three groups of ranks, set by dist_begin; before it and after dist_end each
 * holds this rank alone:
 *   dist_world   all ranks of this program (mpirun may start several programs,
 *                as `mpirun -n N teacher ... : -n M student ...`; each name is
 *                a program)
 *   dist_node    the ranks of this node; with RETORT_NODE=n in the environment,
 *                for trials on one machine, n consecutive ranks count as a node
 *   dist_across  the ranks that have this rank's number on their own nodes */
const struct dist_group *dist_world(void);
const struct dist_group *dist_node(void);
const struct dist_group *dist_across(void);
/* Number of ranks of other programs. */
size_t dist_others(void);
/* Cut g into groups of n consecutive ranks; n divides g->n.  *part becomes this
 * rank's group.  All ranks of g call dist_part, and later dist_part_free. */
void dist_part(struct dist_group *part, const struct dist_group *g, size_t n,
    const char *name);
void dist_part_free(struct dist_group *part);
/* Number of threads that this rank should run: `asked`, unless that is 0.  If
 * asked is 0: a rank alone on its node gets 0 (see pool_new); any other one
 * gets the number of processors it may use, or, if it may use all of the
 * machine's, its share of them. */
size_t dist_threads(size_t asked);
/* numa_bind (base/numa.h) for this rank, as process of its node, before there
 * are threads and buffers.  cpus and node NULL: the rank stays where the
 * launcher bound it; if it is alone on its node, a note of that needs -v.
 * Otherwise the first rank of a node notes where the node's ranks run. */
int dist_place(const char *cpus, const char *node, struct err *e);

void dist_barrier(const struct dist_group *g);
/* Copy p [bytes] of rank root to all other ranks. */
void dist_broadcast(const struct dist_group *g, void *p, size_t bytes,
    size_t root);
/* Send elements at[r]..at[r+1]-1 of rank r's x to all others.  x has at[n]
 * elements of `size` bytes.  `at` [n+1] rises from 0; parts may be empty.  If g
 * is the world, and there are several nodes with the same number (> 1) of ranks
 * each, the ranks gather across the nodes first and then in each node, so that
 * a byte is sent to a node once; the log has a line for each of these two
 * gathers. */
void dist_all_gather(const struct dist_group *g, void *x, size_t size,
    const size_t *at);
/* dist_all_gather of an array with one element for each rank: rank r sends
 * element r. */
void dist_all_gather_one(const struct dist_group *g, void *x, size_t size);
/* dist_all_gather in the background, by a thread.  dist_overlap starts the
 * thread; before it succeeds, dist_gather_begin does the whole gather.  Nobody
 * may touch x from dist_gather_begin to dist_gather_end, which waits for the
 * gather.  There is one gather at a time: the next dist_gather_begin, and any
 * other call, waits for its end.  The log says how much of its time was
 * hidden. */
int dist_overlap(struct err *e);
int dist_overlaps(void); /* has dist_overlap succeeded? */
void dist_gather_begin(const struct dist_group *g, void *x, size_t size,
    const size_t *at);
void dist_gather_end(void);

/*
 * Sums over ranks, element by element:
 *   DIST_RING  in fp32, as partial sums go round the ring: the part of rank c
 *              adds the ranks in the order c+1, c+2, ... n-1, 0, ... c
 *   DIST_TREE  in fp32, in the order of dist_tree
 *   DIST_BF16  in the order of dist_tree; what other ranks send is rounded to
 *              bfloat16
 */
enum dist_sum { DIST_RING, DIST_TREE, DIST_BF16 };
/* Sum x, of at[g->n] elements, over all ranks.  Afterwards elements
 * at[r]..at[r+1]-1 of rank r's x are sums, and its other elements are
 * undefined. */
void dist_reduce_scatter(const struct dist_group *g, float *x, const size_t *at,
    enum dist_sum how);
/* Make x [n] of every rank the sum over all: dist_reduce_scatter, then
 * dist_all_gather. */
void dist_all_reduce(const struct dist_group *g, float *x, size_t n,
    enum dist_sum how);

/* Copy p [bytes] of rank `from` to p of rank `to`.  Both call it; a call on
 * another rank does nothing. */
void dist_pass(const struct dist_group *g, size_t from, size_t to, void *p,
    size_t bytes);
/* Add x [n] of rank `from` to x of rank `to`.  Called as dist_pass. */
void dist_pass_sum(const struct dist_group *g, size_t from, size_t to, float *x,
    size_t n);

/* Messages between two ranks, not collective.  dist_post sends x [n], n <=
 * INT_MAX, to a rank, which gets the n numbers by dist_receive with the same
 * channel; the messages of a channel keep their order.  x must not change until
 * dist_posted has been called, once, with what dist_post returned.  The log has
 * the time of both calls; a receiver's wait is the time until the sender
 * sends. */
struct posted {
    size_t sending, n; /* sending: the message's number (mpi_send); n: elements
                        * of x */
    double seconds;    /* duration of dist_post; 0: calls are not logged */
};
struct posted dist_post(const struct dist_group *g, size_t to, size_t channel,
    const float *x, size_t n);
void dist_posted(const struct dist_group *g, const struct posted *p);
void dist_receive(const struct dist_group *g, size_t from, size_t channel,
    float *x, size_t n);

/* Bytes of the buffer that is kept from the first sum over n ranks on. */
size_t dist_bytes(size_t n);

/*
 * An order of summing that does not depend on how many ranks there are.  Units
 * 0..n-1 are summed by a tree in which units that differ in the lowest bit of
 * their number meet last:
 *   S(i,k) = S(i,2k) + S(i+k,2k) if i + k < n, else unit i; the sum is S(0,1).
 * Rank r of R, a power of two, has the units r, r+R, r+2R, ...; their sum is
 * S(r,R).  The sums of the R ranks are then the units of a tree of R.
 *
 * add(ctx, i, j), i < j, is called n-1 times and adds the sum at unit j to the
 * sum at unit i; the whole sum ends up at unit 0.
 */
void dist_tree(size_t n, void (*add)(void *ctx, size_t i, size_t j), void *ctx);

/* Split `total` elements evenly over n ranks: set the n + 1 elements of `at`,
 * each to a multiple of `align` or to `total`. */
void dist_split(size_t total, size_t n, size_t align, size_t *at);

#endif
