/* The calls of MPI, or what stands for them in a build without it.  Private to
 * lib/dist. */
#ifndef DIST_OVER_MPI_H
#define DIST_OVER_MPI_H

#include "base/err.h"
#include "dist/dist.h"

#include <stddef.h>

/* Start MPI and make the groups, until mpi_stop.  *others: ranks of programs of
 * other names.  node_ranks: so many ranks one after another are a node; 0: MPI
 * knows. */
int mpi_start(struct dist_group *world, struct dist_group *node,
    struct dist_group *across, size_t *others, size_t node_ranks,
    struct err *e);
void mpi_stop(struct dist_group *world, struct dist_group *node,
    struct dist_group *across);
/* Ranks of g in groups of n, one after another; part->name is set. */
void mpi_part(struct dist_group *part, const struct dist_group *g, size_t n);
void mpi_part_free(struct dist_group *part);

/* Have the launcher end all ranks, this one with that status; does not return.
 * Any thread may call it. */
void mpi_abort(int status);

/* May any thread call MPI, one at a time? */
int mpi_any_thread(void);
void mpi_barrier(const struct dist_group *g);
void mpi_broadcast(const struct dist_group *g, void *p, size_t bytes,
    size_t root);
/* Send p [n] bytes to one rank while q [m] bytes arrive from another.  n or m
 * may be 0: that rank then does not take part. */
void mpi_exchange(const struct dist_group *g, size_t to, const void *p,
    size_t n, size_t from, void *q, size_t m);
/* Send p [n] numbers to a rank, or receive q [n] from a rank that sends as many
 * by the same channel, in the background.  Until mpi_finish, called once with
 * the number that is returned, p must not change and q is not valid. */
size_t mpi_send(const struct dist_group *g, size_t to, size_t channel,
    const float *p, size_t n);
size_t mpi_receive(const struct dist_group *g, size_t from, size_t channel,
    float *q, size_t n);
void mpi_finish(size_t message);
/* Wait until numbers from that rank can be received by the channel. */
void mpi_wait_for(const struct dist_group *g, size_t from, size_t channel);
/* Bytes that this rank has sent since the program began. */
size_t mpi_sent(void);

#endif
