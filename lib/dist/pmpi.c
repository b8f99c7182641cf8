/*
 * libretort-pmpi.so logs the messages of any MPI program, as log.h describes:
 *     RETORT_COMM_LOG=prefix LD_PRELOAD=libretort-pmpi.so mpirun ...
 * See retort(7).  Each MPI function below takes the place of MPI's own
 * (profiling interface), times the call and passes it on.  MPI does not tell
 * how many bytes a collective sends, so the log has the number that a ring
 * would send.
 */
#include "base/clock.h"
#include "dist/log.h"

#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The pointer and the flag are set in MPI_Init, before other threads may call
 * MPI; what log_of_all points to is under lock. */
static struct comm_log *log_of_all;
static int wait_for_all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void
begin_log(void)
{
    const char *prefix = getenv("RETORT_COMM_LOG");
    const char *old = getenv("RETORT_COMM_DEEPSPEED");
    const char *wait = getenv("RETORT_COMM_WAIT");
    char path[4096];
    int rank, n;

    if (prefix == NULL || *prefix == '\0')
        return;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &n);
    snprintf(path, sizeof path, rank > 0 ? "%s-%d" : "%s", prefix, rank);
    log_of_all = comm_log_open(path, (size_t)n,
        old != NULL && *old == '1' ? COMM_DEEPSPEED : 0);
    wait_for_all = wait != NULL && *wait == '1';
    if (log_of_all == NULL)
        perror(path);
}

/* A call under way.  begin: clock_now() when it began; wait: seconds that this
 * rank waited for the others before. */
struct timed {
    double begin, wait;
};

/* Begin to time a call.  comm: the group of a collective, whose ranks first
 * wait for each other if wait_for_all is set; MPI_COMM_NULL: the call is no
 * collective. */
static struct timed
start_call(MPI_Comm comm)
{
    const double t = clock_now();

    if (log_of_all != NULL && wait_for_all && comm != MPI_COMM_NULL)
        PMPI_Barrier(comm);
    return (struct timed){ clock_now(), clock_now() - t };
}

/* Log the call c.  r: MPI's return value, which is returned again. */
static int
end_timed(int r, const struct timed *c, MPI_Comm comm, enum comm_kind kind,
    const char *op, size_t whole, size_t shard, size_t wire)
{
    const double seconds = clock_now() - c->begin;
    int n;

    if (log_of_all == NULL)
        return r;
    PMPI_Comm_size(comm, &n);
    pthread_mutex_lock(&lock);
    comm_log_add(log_of_all,
        &(struct comm_event){ .op = op,
            .kind = kind,
            .group = comm == MPI_COMM_WORLD ? "world" : "other",
            .n = (size_t)n,
            .whole = whole,
            .shard = shard,
            .wire = wire,
            .seconds = seconds,
            .exposed = seconds,
            .wait = c->wait });
    pthread_mutex_unlock(&lock);
    return r;
}

static size_t
datatype_bytes(MPI_Datatype type, int count)
{
    int size = 0;

    PMPI_Type_size(type, &size);
    return (size_t)size * (size_t)(count > 0 ? count : 0);
}

static size_t
ranks_of(MPI_Comm comm)
{
    int n;

    PMPI_Comm_size(comm, &n);
    return (size_t)n;
}

static int
rank_of(MPI_Comm comm)
{
    int rank;

    PMPI_Comm_rank(comm, &rank);
    return rank;
}

static size_t
sum_of(const int *count, MPI_Comm comm)
{
    size_t sum = 0;

    for (size_t i = 0; i < ranks_of(comm); i++)
        sum += (size_t)count[i];
    return sum;
}

int
MPI_Init(int *argc, char ***argv)
{
    const int r = PMPI_Init(argc, argv);

    begin_log();
    return r;
}

int
MPI_Init_thread(int *argc, char ***argv, int wanted, int *got)
{
    const int r = PMPI_Init_thread(argc, argv, wanted, got);

    begin_log();
    return r;
}

int
MPI_Finalize(void)
{
    if (comm_log_close(log_of_all) < 0)
        perror("RETORT_COMM_LOG");
    log_of_all = NULL;
    return PMPI_Finalize();
}

int
MPI_Barrier(MPI_Comm comm)
{
    const struct timed c = start_call(MPI_COMM_NULL);
    const int r = PMPI_Barrier(comm);

    return end_timed(r, &c, comm, COMM_OTHER, "barrier", 0, 0, 0);
}

int
MPI_Bcast(void *p, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    const struct timed c = start_call(comm);
    const int r = PMPI_Bcast(p, count, type, root, comm);
    const size_t n = datatype_bytes(type, count);

    return end_timed(r, &c, comm, COMM_OTHER, "broadcast", n, n,
        rank_of(comm) == root ? n : 0);
}

int
MPI_Reduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op,
    int root, MPI_Comm comm)
{
    const struct timed c = start_call(comm);
    const int r = PMPI_Reduce(in, out, count, type, op, root, comm);
    const size_t n = datatype_bytes(type, count);

    return end_timed(r, &c, comm, COMM_OTHER, "reduce", n, n,
        rank_of(comm) == root ? 0 : n);
}

int
MPI_Allreduce(const void *in, void *out, int count, MPI_Datatype type,
    MPI_Op op, MPI_Comm comm)
{
    const struct timed c = start_call(comm);
    const int r = PMPI_Allreduce(in, out, count, type, op, comm);
    const size_t n = datatype_bytes(type, count), ranks = ranks_of(comm);

    return end_timed(r, &c, comm, COMM_ALL_REDUCE, "all_reduce", n, n / ranks,
        2 * (n - n / ranks));
}

int
MPI_Allgather(const void *in, int incount, MPI_Datatype intype, void *out,
    int outcount, MPI_Datatype outtype, MPI_Comm comm)
{
    const struct timed c = start_call(comm);
    const int r =
        PMPI_Allgather(in, incount, intype, out, outcount, outtype, comm);
    const size_t n = datatype_bytes(outtype, outcount), ranks = ranks_of(comm);

    return end_timed(r, &c, comm, COMM_ALL_GATHER, "all_gather_into_tensor",
        n * ranks, n, n * (ranks - 1));
}

int
MPI_Allgatherv(const void *in, int incount, MPI_Datatype intype, void *out,
    const int *outcount, const int *at, MPI_Datatype outtype, MPI_Comm comm)
{
    const struct timed c = start_call(comm);
    const int r =
        PMPI_Allgatherv(in, incount, intype, out, outcount, at, outtype, comm);
    const size_t all = sum_of(outcount, comm) * datatype_bytes(outtype, 1);
    const size_t own = datatype_bytes(outtype, outcount[rank_of(comm)]);

    return end_timed(r, &c, comm, COMM_ALL_GATHER, "all_gather_into_tensor",
        all, own, own * (ranks_of(comm) - 1));
}

int
MPI_Reduce_scatter(const void *in, void *out, const int *count,
    MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    const struct timed c = start_call(comm);
    const int r = PMPI_Reduce_scatter(in, out, count, type, op, comm);
    const size_t all = sum_of(count, comm) * datatype_bytes(type, 1);
    const size_t own = datatype_bytes(type, count[rank_of(comm)]);

    return end_timed(r, &c, comm, COMM_REDUCE_SCATTER, "reduce_scatter_tensor",
        all, own, all - own);
}

int
MPI_Reduce_scatter_block(const void *in, void *out, int count,
    MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    const struct timed c = start_call(comm);
    const int r = PMPI_Reduce_scatter_block(in, out, count, type, op, comm);
    const size_t n = datatype_bytes(type, count), ranks = ranks_of(comm);

    return end_timed(r, &c, comm, COMM_REDUCE_SCATTER, "reduce_scatter_tensor",
        n * ranks, n, n * (ranks - 1));
}

int
MPI_Alltoall(const void *in, int incount, MPI_Datatype intype, void *out,
    int outcount, MPI_Datatype outtype, MPI_Comm comm)
{
    const struct timed c = start_call(comm);
    const int r =
        PMPI_Alltoall(in, incount, intype, out, outcount, outtype, comm);
    const size_t n = datatype_bytes(outtype, outcount), ranks = ranks_of(comm);

    return end_timed(r, &c, comm, COMM_ALL_TO_ALL, "all_to_all_single",
        n * ranks, n, n * (ranks - 1));
}

int
MPI_Gather(const void *in, int incount, MPI_Datatype intype, void *out,
    int outcount, MPI_Datatype outtype, int root, MPI_Comm comm)
{
    const struct timed c = start_call(comm);
    const int r =
        PMPI_Gather(in, incount, intype, out, outcount, outtype, root, comm);
    const int own = rank_of(comm) == root;
    const size_t n = own ? datatype_bytes(outtype, outcount)
                         : datatype_bytes(intype, incount);

    return end_timed(r, &c, comm, COMM_OTHER, "gather", n, n, own ? 0 : n);
}

int
MPI_Scatter(const void *in, int incount, MPI_Datatype intype, void *out,
    int outcount, MPI_Datatype outtype, int root, MPI_Comm comm)
{
    const struct timed c = start_call(comm);
    const int r =
        PMPI_Scatter(in, incount, intype, out, outcount, outtype, root, comm);
    const int own = rank_of(comm) == root;
    const size_t n = own ? datatype_bytes(intype, incount)
                         : datatype_bytes(outtype, outcount);

    return end_timed(r, &c, comm, COMM_OTHER, "scatter", n, n,
        own ? n * (ranks_of(comm) - 1) : 0);
}

int
MPI_Send(const void *p, int count, MPI_Datatype type, int to, int tag,
    MPI_Comm comm)
{
    const struct timed c = start_call(MPI_COMM_NULL);
    const int r = PMPI_Send(p, count, type, to, tag, comm);
    const size_t n = to == MPI_PROC_NULL ? 0 : datatype_bytes(type, count);

    return end_timed(r, &c, comm, COMM_OTHER, "send", n, n, n);
}

int
MPI_Isend(const void *p, int count, MPI_Datatype type, int to, int tag,
    MPI_Comm comm, MPI_Request *request)
{
    const struct timed c = start_call(MPI_COMM_NULL);
    const int r = PMPI_Isend(p, count, type, to, tag, comm, request);
    const size_t n = to == MPI_PROC_NULL ? 0 : datatype_bytes(type, count);

    return end_timed(r, &c, comm, COMM_OTHER, "isend", n, n, n);
}

int
MPI_Recv(void *p, int count, MPI_Datatype type, int from, int tag,
    MPI_Comm comm, MPI_Status *status)
{
    const struct timed c = start_call(MPI_COMM_NULL);
    const int r = PMPI_Recv(p, count, type, from, tag, comm, status);
    const size_t n = datatype_bytes(type, count);

    return end_timed(r, &c, comm, COMM_OTHER, "recv", n, n, 0);
}

int
MPI_Sendrecv(const void *p, int count, MPI_Datatype type, int to, int tag,
    void *q, int qcount, MPI_Datatype qtype, int from, int qtag, MPI_Comm comm,
    MPI_Status *status)
{
    const struct timed c = start_call(MPI_COMM_NULL);
    const int r = PMPI_Sendrecv(p, count, type, to, tag, q, qcount, qtype, from,
        qtag, comm, status);
    const size_t n = to == MPI_PROC_NULL ? 0 : datatype_bytes(type, count);

    return end_timed(r, &c, comm, COMM_OTHER, "sendrecv", n, n, n);
}
