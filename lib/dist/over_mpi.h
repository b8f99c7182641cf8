/* Private to lib/dist: the calls of MPI, and substitutes for them in a build
 * without MPI. */
#ifndef DIST_OVER_MPI_H
#define DIST_OVER_MPI_H

#include "base/err.h"
#include "dist/dist.h"

#include <stddef.h>

/* Start MPI and make the groups, valid until mpi_stop.  *others: number of
 * ranks of programs with other names.  node_ranks: this many consecutive ranks
 * count as a node; 0: ranks that share memory do. */
int mpi_start(struct dist_group *world, struct dist_group *node,
    struct dist_group *across, size_t *others, size_t node_ranks,
    struct err *e);
void mpi_stop(struct dist_group *world, struct dist_group *node,
    struct dist_group *across);
/* Split g into groups of n consecutive ranks; *part becomes this rank's.  The
 * caller sets part->name. */
void mpi_part(struct dist_group *part, const struct dist_group *g, size_t n);
void mpi_part_free(struct dist_group *part);

/* Have the launcher end all ranks, this one with `status`; does not return.
 * Any thread may call it. */
void mpi_abort(int status);

/* May threads other than the main one call MPI, one at a time? */
int mpi_any_thread(void);
void mpi_barrier(const struct dist_group *g);
void mpi_broadcast(const struct dist_group *g, void *p, size_t bytes,
    size_t root);
/* Send n bytes at p to rank `to` while m bytes arrive at q from rank `from`.  n
 * = 0: nothing is sent; m = 0: nothing arrives. */
void mpi_exchange(const struct dist_group *g, size_t to, const void *p,
    size_t n, size_t from, void *q, size_t m);
/* Begin to send p [n] to a rank, or to receive q [n] from a rank that sends as
 * many numbers by the same channel.  Returns a number for mpi_finish, which
 * must be called once; before that p must not change, and q is not valid. */
size_t mpi_send(const struct dist_group *g, size_t to, size_t channel,
    const float *p, size_t n);
size_t mpi_receive(const struct dist_group *g, size_t from, size_t channel,
    float *q, size_t n);
void mpi_finish(size_t message);
/* Wait until rank `from` has sent a message by the channel. */
void mpi_wait_for(const struct dist_group *g, size_t from, size_t channel);
/* Bytes that this rank has sent since the program began. */
size_t mpi_sent(void);

#endif
