/* The calls of MPI; see over_mpi.h.  When MPI itself fails, its default error
 * handler ends the program and the other ranks. */
#include "dist/over_mpi.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

/* Used by one thread at a time, as MPI is (wait_background in dist.c). */
static size_t sent;

size_t
mpi_sent(void)
{
    return sent;
}

#ifdef HAVE_MPI

#include "base/mem.h"
#include "base/note.h"

#include <assert.h>
#include <limits.h>
#include <mpi.h>
#include <stdint.h>

enum {
    TAG = 1,
    CHANNELS = 2,
    PIECE = 1 << 30 /* most bytes of a message: MPI's counts are ints */
};

static MPI_Comm
comm_of(const struct dist_group *g)
{
    return *(MPI_Comm *)g->comm;
}

/* Set g to the ranks of `from` that share memory (type 1) or that have this
 * color (type 0), in their order in `from`. */
static void
split_group(struct dist_group *g, MPI_Comm from, int type, int color,
    const char *name)
{
    MPI_Comm *c = xmalloc(sizeof *c);
    int rank, n;

    if (type)
        MPI_Comm_split_type(from, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, c);
    else
        MPI_Comm_split(from, color, 0, c);
    MPI_Comm_rank(*c, &rank);
    MPI_Comm_size(*c, &n);
    *g = (struct dist_group){ name, (size_t)rank, (size_t)n, c };
}

/* The color of a program called name: its FNV-1a hash. */
static int
color_of(const char *name)
{
    uint32_t h = 2166136261u;

    for (; *name != '\0'; name++)
        h = (h ^ (unsigned char)*name) * 16777619u;
    return (int)(h >> 1);
}

static void
free_group(struct dist_group *g)
{
    if (g->comm != NULL)
        MPI_Comm_free(g->comm);
    free(g->comm);
    *g = (struct dist_group){ g->name, 0, 1, NULL };
}

int
mpi_start(struct dist_group *world, struct dist_group *node,
    struct dist_group *across, size_t *others, size_t node_ranks, struct err *e)
{
    int level, all, is = 0;

    MPI_Initialized(&is);
    if (!is &&
        MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level) !=
            MPI_SUCCESS)
        return err_set(e, EX_SYS, "MPI does not start");
    /* a communicator of our own: libraries' messages stay apart */
    split_group(world, MPI_COMM_WORLD, 0, color_of(progname), "world");
    MPI_Comm_size(MPI_COMM_WORLD, &all);
    *others = (size_t)all - world->n;
    split_group(node, comm_of(world), node_ranks == 0,
        node_ranks > 0 ? (int)(world->rank / node_ranks) : 0, "node");
    split_group(across, comm_of(world), 0, (int)node->rank, "across");
    return 0;
}

void
mpi_stop(struct dist_group *world, struct dist_group *node,
    struct dist_group *across)
{
    free_group(across);
    free_group(node);
    free_group(world);
    MPI_Finalize();
}

void
mpi_part(struct dist_group *part, const struct dist_group *g, size_t n)
{
    split_group(part, comm_of(g), 0, (int)(g->rank / n), part->name);
}

void
mpi_part_free(struct dist_group *part)
{
    free_group(part);
}

void
mpi_abort(int status)
{
    /* if MPI hangs because another thread uses it, SIGALRM ends the process */
    signal(SIGALRM, SIG_DFL);
    alarm(5);
    MPI_Abort(MPI_COMM_WORLD, status);
    _exit(status);
}

int
mpi_any_thread(void)
{
    int level;

    MPI_Query_thread(&level);
    return level >= MPI_THREAD_SERIALIZED;
}

void
mpi_barrier(const struct dist_group *g)
{
    MPI_Barrier(comm_of(g));
}

void
mpi_broadcast(const struct dist_group *g, void *p, size_t bytes, size_t root)
{
    for (size_t i = 0; i < bytes; i += PIECE) {
        const size_t n = bytes - i < PIECE ? bytes - i : PIECE;

        MPI_Bcast((char *)p + i, (int)n, MPI_BYTE, (int)root, comm_of(g));
    }
}

void
mpi_exchange(const struct dist_group *g, size_t to, const void *p, size_t n,
    size_t from, void *q, size_t m)
{
    sent += n;
    for (size_t i = 0; i < n || i < m; i += PIECE) {
        const size_t a = i >= n ? 0 : n - i < PIECE ? n - i : PIECE;
        const size_t b = i >= m ? 0 : m - i < PIECE ? m - i : PIECE;

        MPI_Sendrecv(a > 0 ? (const char *)p + i : NULL, (int)a, MPI_BYTE,
            a > 0 ? (int)to : MPI_PROC_NULL, TAG, b > 0 ? (char *)q + i : NULL,
            (int)b, MPI_BYTE, b > 0 ? (int)from : MPI_PROC_NULL, TAG,
            comm_of(g), MPI_STATUS_IGNORE);
    }
}

/* Requests of messages under way; a free slot holds MPI_REQUEST_NULL. */
static MPI_Request *way;
static size_t nway;

/* Find or make a free slot for a message of n numbers; returns its index. */
static size_t
free_request(size_t n)
{
    size_t i = 0;

    assert(n <= INT_MAX);
    while (i < nway && way[i] != MPI_REQUEST_NULL)
        i++;
    if (i == nway)
        way = xreallocarray(way, ++nway, sizeof *way);
    return i;
}

size_t
mpi_send(const struct dist_group *g, size_t to, size_t channel, const float *p,
    size_t n)
{
    const size_t i = free_request(n);

    sent += n * sizeof *p;
    MPI_Isend(p, (int)n, MPI_FLOAT, (int)to, CHANNELS + (int)channel,
        comm_of(g), &way[i]);
    return i;
}

size_t
mpi_receive(const struct dist_group *g, size_t from, size_t channel, float *q,
    size_t n)
{
    const size_t i = free_request(n);

    MPI_Irecv(q, (int)n, MPI_FLOAT, (int)from, CHANNELS + (int)channel,
        comm_of(g), &way[i]);
    return i;
}

void
mpi_finish(size_t i)
{
    MPI_Wait(&way[i], MPI_STATUS_IGNORE);
}

void
mpi_wait_for(const struct dist_group *g, size_t from, size_t channel)
{
    MPI_Probe((int)from, CHANNELS + (int)channel, comm_of(g),
        MPI_STATUS_IGNORE);
}

#else

int
mpi_start(struct dist_group *world, struct dist_group *node,
    struct dist_group *across, size_t *others, size_t node_ranks, struct err *e)
{
    const char *n = getenv("OMPI_COMM_WORLD_SIZE");

    (void)world, (void)node, (void)across, (void)others, (void)node_ranks;
    if (n != NULL && n[0] == '1' && n[1] == '\0')
        return 0;
    return err_set(e, EX_SYS,
        "started over ranks, but built without Open MPI (libopenmpi-dev)");
}

/* The functions below are never called: in a build without MPI, groups have one
 * rank. */
void
mpi_stop(struct dist_group *world, struct dist_group *node,
    struct dist_group *across)
{
    (void)world, (void)node, (void)across;
}

void
mpi_part(struct dist_group *part, const struct dist_group *g, size_t n)
{
    (void)part, (void)g, (void)n;
}

void
mpi_part_free(struct dist_group *part)
{
    (void)part;
}

void
mpi_abort(int status)
{
    _exit(status);
}

int
mpi_any_thread(void)
{
    return 0;
}

void
mpi_barrier(const struct dist_group *g)
{
    (void)g;
}

void
mpi_broadcast(const struct dist_group *g, void *p, size_t bytes, size_t root)
{
    (void)g, (void)p, (void)bytes, (void)root;
}

void
mpi_exchange(const struct dist_group *g, size_t to, const void *p, size_t n,
    size_t from, void *q, size_t m)
{
    (void)g, (void)to, (void)p, (void)n, (void)from, (void)q, (void)m;
}

size_t
mpi_send(const struct dist_group *g, size_t to, size_t channel, const float *p,
    size_t n)
{
    (void)g, (void)to, (void)channel, (void)p, (void)n;
    return 0;
}

size_t
mpi_receive(const struct dist_group *g, size_t from, size_t channel, float *q,
    size_t n)
{
    (void)g, (void)from, (void)channel, (void)q, (void)n;
    return 0;
}

void
mpi_finish(size_t i)
{
    (void)i;
}

void
mpi_wait_for(const struct dist_group *g, size_t from, size_t channel)
{
    (void)g, (void)from, (void)channel;
}

#endif
