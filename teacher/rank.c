/* A process as one of several ranks: see rank.h. */
#include "rank.h"
#include "shard.h"
#include "student_tokenizer.h"
#include "teacher.h"
#include "base/mem.h"
#include "base/note.h"
#include "cli/die.h"
#include "cli/place.h"
#include "cli/prog.h"
#include "dist/alike.h"
#include "dist/watch.h"
#include "format/ckpt.h"
#include "kern/kern.h"
#include "model/pass/compute.h"
#include "model/config/experts_config.h"
#include "msg/addr.h"
#include "shard/source.h"

#include <stdlib.h>
#include <string.h>

size_t
rank_together(const struct args *a)
{
    return a->tensor * a->context;
}

/* Assign streams to ranks.  There is one stream if --output has no %r; else one
 * for each reader, if mpirun started other programs too; else one for each rank
 * or group of ranks. */
static void
deal_streams(struct teacher *t)
{
    const struct args *a = t->a;
    const struct dist_group *g = dist_world();
    const size_t together = rank_together(a), workers = g->n / together;
    const size_t streams = !addr_has_rank(a->out) ? 1
        : dist_others() > 0                       ? dist_others()
                                                  : workers;
    const size_t each = workers > streams ? workers / streams : 1;

    if (g->n % together != 0)
        die(EX_USAGE,
            "--%s %zu: does not divide %zu ranks: start a multiple of it",
            a->tensor > 1 ? "tensor" : "context-ranks", together, g->n);
    if (streams % workers != 0 && workers % streams != 0)
        die(EX_USAGE,
            "-o %s: there are %zu readers for %zu %s: start numbers of which "
            "one divides the other",
            a->out, streams, workers,
            together > 1 ? "groups of ranks" : "ranks");
    if (each > 1 && together > 1)
        die(EX_USAGE,
            "there are %zu groups of %zu ranks for %zu streams: start %zu "
            "ranks",
            workers, together, streams, g->n / streams);
    t->lanes = streams > workers ? streams / workers : 1;
    t->first = g->rank / (each * together) * t->lanes;
    dist_part(&t->team, g, each * together, "team");
    if (g->n > 1)
        note("%zu ranks, %zu of them on this node; %zu of a stream, "
             "%zu streams of a rank",
            g->n, dist_node()->n, t->team.n, t->lanes);
}

/* Die if ranks differ in options, kernels or program version. */
static void
check_same_options(const struct teacher *t)
{
    static const char *const own[] = { "threads", "cpus", "numa", "model",
        "student", "student-tokenizer", NULL };
    struct buf b = { 0 };
    struct err e;

    buf_addf(&b, "version\t%s\n", prog_version());
    opt_write(&b, t->options, own);
    buf_addf(&b, "kernels (RETORT_KERNELS)\t%s\n", kern_name());
    if (dist_alike(dist_world(), b.p, EX_USAGE, &e) < 0)
        die_err(&e);
    buf_release(&b);
}

void
rank_same_model(const struct teacher *t)
{
    char hash[33], *text;
    struct err e;

    if (dist_world()->n == 1)
        return;
    if (dist_hash(t->a->model, ckpt_hash_model, hash, &e) < 0)
        die_err(&e);
    text = xasprintf("--model\t%s\n", hash);
    if (dist_alike(dist_world(), text, EX_USAGE, &e) < 0)
        die_err(&e);
    free(text);
}

void
rank_same_student(const struct teacher *t)
{
    struct buf b = { 0 };
    struct err e;

    if (dist_world()->n == 1)
        return;
    buf_addf(&b, "--student-tokenizer\t%s\n--student\tthe blocks",
        t->student != NULL ? student_tokenizer_hash(t->student) : "none");
    for (size_t i = 0; i < t->m.c.L; i++)
        if (t->tap[i])
            buf_addf(&b, " %zu", i);
    buf_addc(&b, '\n');
    if (dist_alike(dist_world(), b.p, EX_USAGE, &e) < 0)
        die_err(&e);
    buf_release(&b);
}

void
rank_begin(struct teacher *t)
{
    struct err e;

    t->team = (struct dist_group){ "team", 0, 1, NULL };
    t->lanes = 1;
    t->run = &t->m;
    if (!t->a->mpi &&
        (rank_together(t->a) > 1 || t->a->shard != SHARD_NONE ||
            t->a->comm_log != NULL))
        die(EX_USAGE,
            "--tensor, --context-ranks, --shard and --comm-log need ranks: "
            "start "
            "them by mpirun and give --mpi");
    if ((t->a->tensor > 1) + (t->a->context > 1) + (t->a->shard != SHARD_NONE) >
        1)
        die(EX_USAGE,
            "--tensor, --context-ranks and --shard exclude each other: give "
            "one");
    if (t->a->overlap && t->a->shard == SHARD_NONE)
        die(EX_USAGE, "--overlap gathers parts of --shard: give that too");
    if (t->a->mpi && dist_begin(&e) < 0)
        die_err(&e);
    prog_rank(dist_world()->rank);
    setup_begin(&t->a->setup);
    check_same_options(t);
    if (!t->a->mpi)
        return;
    if (watch_begin(t->a->rank_timeout, 0, "", &e) < 0)
        die_err(&e);
    if ((t->a->comm_log != NULL && dist_log(t->a->comm_log, 0, &e) < 0) ||
        (t->a->overlap && dist_overlap(&e) < 0))
        die_err(&e);
    deal_streams(t);
}

void
rank_end(struct teacher *t)
{
    struct err e;

    if (!t->a->mpi)
        return;
    if (t->a->comm_log != NULL && dist_log_end(&e) < 0)
        die_err(&e);
    share_release(&t->share);
    shard_free(t->shard);
    dist_part_free(&t->team);
    dist_barrier(dist_world()); /* wait for the ranks that are not done yet */
    watch_end();
    dist_end();
}

void
rank_share(struct teacher *t)
{
    struct err e;

    if (config_is_mixture(&t->m.c) &&
        (t->a->shard != SHARD_NONE || t->a->tensor != 1))
        die(EX_USAGE,
            "%s: is a mixture of experts, which --shard and --tensor "
            "do not split: leave them out",
            t->a->model);
    if (model_is_f8(&t->m) && (t->a->shard != SHARD_NONE || t->a->tensor != 1))
        die(EX_USAGE,
            "%s: is in F8_E4M3, which --shard and --tensor do not split: leave "
            "them out, or convert it to BF16",
            t->a->model);
    if (config_linear_name(&t->m.c) != NULL &&
        (t->a->tensor != 1 || t->a->context > 1))
        die(EX_USAGE,
            "%s: has blocks with %s, whose heads and rows --tensor and "
            "--context-ranks do not split: leave them out",
            t->a->model, config_linear_name(&t->m.c));
    if (t->a->shard != SHARD_NONE) {
        t->shard = shard_new(&t->m,
            t->a->shard == SHARD_NODE ? dist_node() : dist_world(), t->last);
        t->run = shard_model(t->shard);
    }
    if (t->a->tensor == 1)
        return;
    if (share_make(&t->share, &t->m, t->team.rank, t->team.n, &e) < 0)
        die_err(&e);
    t->run = &t->share.m;
}

void
rank_sum(void *ctx, float *x, size_t n)
{
    dist_all_reduce(ctx, x, n, DIST_TREE);
}

void
rank_open(struct teacher *t, const char *input)
{
    const struct args *a = t->a;
    struct err e;

    if ((t->team.n < dist_world()->n || t->lanes > 1) &&
        (input == NULL ? t->lanes > 1 : !addr_has_rank(input)))
        die(EX_USAGE,
            "%s: is one input for several streams: name them by %%r, which "
            "stands for the rank of a stream's reader",
            input != NULL ? input : "<stdin>");
    t->lane = xcalloc(t->lanes, sizeof *t->lane);
    for (size_t i = 0; t->team.rank == 0 && i < t->lanes; i++) {
        struct lane *l = &t->lane[i];

        l->from = a->mpi    ? addr_of_rank(input, t->first + i)
            : input != NULL ? xstrdup(input)
                            : NULL;
        l->to = a->mpi       ? addr_of_rank(a->out, t->first + i)
            : a->out != NULL ? xstrdup(a->out)
                             : NULL;
        if (addr_is_special(l->to) && addr_same(l->to, l->from))
            die(EX_USAGE, "%s: is both input and output: give two names",
                l->to);
        if ((l->in = set_in_open(l->from, 0, &e)) == NULL ||
            (l->out = msg_out_open(l->to, &e)) == NULL)
            die_err(&e);
    }
}

void
rank_close(struct teacher *t)
{
    for (size_t i = 0; i < t->lanes; i++) {
        struct lane *l = &t->lane[i];

        if (t->team.rank == 0) {
            msg_in_close(l->in);
            msg_out_close(l->out);
        }
        free(l->from);
        free(l->to);
        buf_release(&l->raw);
    }
    free(t->lane);
    free(t->at);
}

/* Set the rows that this rank runs, and t->at. */
static void
divide_rows(struct teacher *t)
{
    const struct batch *b = &t->batch;
    const size_t n = t->team.n, r = t->team.rank;

    t->at = xreallocarray(t->at, n + 1, sizeof *t->at);
    t->row0 = 0;
    t->row1 = b->B;
    if (rank_together(t->a) > 1) {
        dist_split(b->B * b->T, n, 1, t->at);
        return;
    }
    dist_split(b->B, n, 1, t->at);
    t->row0 = t->at[r];
    t->row1 = t->at[r + 1];
    for (size_t i = 0; i <= n; i++)
        t->at[i] *= b->T;
}

/* Unpack the message m to t->batch; with --student-tokenizer convert it to the
 * teacher's tokens. */
static void
read_batch(struct teacher *t, const struct msg *m)
{
    batch_unpack(t->student != NULL ? &t->came : &t->batch, m);
    if (t->student != NULL)
        student_tokenizer_batch(t->student, &t->came, &t->batch);
}

int
rank_batch(struct teacher *t, struct lane *l, int there)
{
    size_t n = there ? l->m.nraw : 0;
    struct msg m = { .kind = MSG_BATCH };
    struct err e;

    dist_broadcast(&t->team, &n, sizeof n, 0);
    if (n == 0)
        return 0;
    if (t->team.rank == 0) {
        read_batch(t, &l->m);
        dist_broadcast(&t->team, (void *)(uintptr_t)l->m.raw, n, 0);
    } else {
        buf_clear(&l->raw);
        buf_reserve(&l->raw, n);
        dist_broadcast(&t->team, l->raw.p, n, 0);
        if (st_parse(&m.st, l->raw.p, n, &e) < 0)
            die_err(&e); /* cannot fail: rank 0 has parsed these bytes */
        read_batch(t, &m);
        st_release(&m.st);
    }
    divide_rows(t);
    return 1;
}

void
rank_context(void *ctx, float *x, const size_t *at)
{
    dist_all_gather(ctx, x, sizeof *x, at);
}

void
rank_gather(const struct teacher *t)
{
    const size_t n = t->team.n, d = t->m.c.d, T = t->batch.T;
    size_t *at;

    if (t->a->tensor > 1)
        return;
    if (t->a->context == 1) {
        dist_all_gather(&t->team, t->x, d * sizeof *t->x, t->at);
        return;
    }
    at = xcalloc(n + 1, sizeof *at);
    fwd_context_split(T, n, at);
    for (size_t b = 0; b < t->batch.B; b++)
        dist_all_gather(&t->team, t->x + b * T * d, d * sizeof *t->x, at);
    free(at);
}

/* Sum of x over the ranks of g. */
static double
sum_ranks(const struct dist_group *g, double x)
{
    double *all = xcalloc(g->n, sizeof *all), sum = 0.0;

    all[g->rank] = x;
    dist_all_gather_one(g, all, sizeof *all);
    for (size_t r = 0; r < g->n; r++)
        sum += all[r];
    free(all);
    return sum;
}

int
rank_any(const struct teacher *t, int there)
{
    return t->shard == NULL ? there
                            : sum_ranks(shard_group(t->shard), there) > 0.0;
}

double
rank_total(double tokens)
{
    return sum_ranks(dist_world(), tokens);
}
