/* A process as one of several ranks: see rank.h. */
#include "rank.h"
#include "student.h"
#include "record.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/timeline.h"
#include "base/stop.h"
#include "cli/die.h"
#include "cli/place.h"
#include "cli/prog.h"
#include "dist/log.h"
#include "dist/watch.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

/* Refuse options that --stages does not allow. */
static void
check_stages(const struct args *a)
{
    const char *with = a->level > 0 ? "--shard-level"
        : a->wire == 1              ? "--wire bf16"
        : a->overlap                ? "--overlap"
        : a->deterministic          ? "--deterministic"
        : a->eval != NULL           ? "--eval"
                                    : NULL;

    if (a->stages > 0 && with != NULL)
        die(EX_USAGE, "--stages over ranks does not go with %s: leave one out",
            with);
}

/* Refuse --qat and --mask if ranks have parts of the parameters: effective
 * weights are computed from all parameters. */
static void
check_effective(const struct student *s)
{
    const char *what = s->effective.of > 0 ? "--mask" : "--qat";

    if ((s->effective.of > 0 || s->effective.as != ROUND_NOT) &&
        (s->a->level > 2 || s->a->stages > 0))
        die(EX_USAGE, "%s over ranks does not go with %s: leave one out", what,
            s->a->stages > 0 ? "--stages" : "--shard-level 3");
}

void
rank_begin(struct student *s)
{
    const struct dist_group *g = dist_world();
    const char *old = getenv("RETORT_COMM_DEEPSPEED");
    struct err e;

    if (dist_begin(&e) < 0)
        die_err(&e);
    s->ranks = *g;
    prog_rank(g->rank);
    setup_kernels(s->a->setup.compute);
    depends_alike_options(s);
    if (s->a->grad == 1 && (g->n > 1 || s->a->deterministic))
        die(EX_USAGE,
            "--grad bf16 goes with neither ranks nor --deterministic: take "
            "--grad f32");
    if (s->a->comm_log != NULL &&
        dist_log(s->a->comm_log,
            old != NULL && *old == '1' ? COMM_DEEPSPEED : 0, &e) < 0)
        die_err(&e);
    setup_place(&s->a->setup);
    if (s->a->timeline != NULL &&
        timeline_open(s->a->timeline, g->rank, &e) < 0)
        die_err(&e);
    if (watch_begin(s->a->rank_timeout, 1,
            "; --resume goes on from the last checkpoint", &e) < 0)
        die_err(&e);
    if (g->n == 1)
        return;
    if (s->a->deterministic && s->a->wire == 1)
        die(EX_USAGE,
            "--wire bf16 rounds sums, and does not go with --deterministic: "
            "leave one out");
    check_stages(s->a);
    check_effective(s);
    if (s->a->overlap && dist_overlap(&e) < 0)
        die_err(&e);
    note("%zu ranks, %zu of them on this node", g->n, dist_node()->n);
}

void
rank_check_input(const struct student *s, const char *input)
{
    struct stat in, null;

    if (s->ranks.rank == 0 || (input != NULL && strcmp(input, "-") != 0))
        return;
    if (fstat(STDIN_FILENO, &in) == 0 && stat("/dev/null", &null) == 0 &&
        S_ISCHR(in.st_mode) && in.st_rdev == null.st_rdev)
        die(EX_USAGE,
            "ranks cannot share standard input, which mpirun gives to rank 0 "
            "alone: name a file or shard directory, or start a pipeline for "
            "each rank");
}

void
rank_end(struct student *s)
{
    struct err e;

    if (dist_log_end(&e) < 0)
        die_err(&e);
    if (s->ranks.rank > 0 && timeline_close(s->ranks.n, &e) < 0)
        die_err(&e);
    dist_barrier(&s->ranks);
    if (timeline_close(s->ranks.n, &e) < 0)
        die_err(&e);
    watch_end();
    dist_end();
}

char *
rank_newest(struct student *s)
{
    struct {
        char dir[4096], chain[33];
        uint64_t seq;
        int found;
    } m = { 0 };
    struct err e;
    char *dir = NULL;

    if (s->ranks.rank == 0) {
        if (ckpt_newest(s->a->run, &dir, NULL, &s->at, &e) < 0)
            die_err(&e);
        m.found = dir != NULL;
        m.seq = s->at.seq;
        memcpy(m.chain, s->at.chain, sizeof(m.chain));
        if (snprintf(m.dir, sizeof(m.dir), "%s", dir != NULL ? dir : "") >=
            (int)sizeof(m.dir))
            die(EX_SYS, "%s: the path is too long", dir);
    }
    dist_broadcast(&s->ranks, &m, sizeof(m), 0);
    if (s->ranks.rank > 0 && m.found) {
        dir = xstrdup(m.dir);
        s->at.seq = m.seq;
        memcpy(s->at.chain, m.chain, sizeof(m.chain));
    }
    return dir;
}

void
rank_rows(struct student *s)
{
    const struct dist_group *g = &s->ranks;
    const struct inputs *in = &s->in;
    size_t *all;

    s->row_stride = 1;
    s->rows_of_all = s->most_rows = s->rows = in->rows;
    if (g->n == 1)
        return;
    if (in->of == 0) {
        if (s->pipe != NULL)
            return; /* with --stages each rank has all rows */
        s->first_row = g->rank;
        s->row_stride = g->n;
        s->rows = (in->rows + g->n - 1) / g->n;
        return;
    }
    if (in->of > 1 && s->pipe != NULL)
        die(EX_INPUT,
            "%s: has the rows of rank %zu of %zu: with --stages every rank "
            "reads all rows",
            in->name, in->rank, in->of);
    if (in->rank != g->rank || in->of != g->n)
        die(EX_INPUT,
            "%s: has the rows of rank %zu of %zu, and is read by rank %zu of "
            "%zu",
            in->name, in->rank, in->of, g->rank, g->n);
    all = xcalloc(g->n, sizeof(*all));
    all[g->rank] = in->rows;
    dist_all_gather_one(g, all, sizeof(*all));
    s->rows_of_all = 0;
    for (size_t r = 0; r < g->n; r++) {
        s->rows_of_all += all[r];
        s->most_rows = all[r] > s->most_rows ? all[r] : s->most_rows;
    }
    free(all);
}

/* Hash all parameters; own: only the parts that this rank updates. */
static uint64_t
hash_parameters(const struct student *s, int own)
{
    const struct tmodel *t = &s->t;

    XXH3_state_t *h = XXH3_createState();
    uint64_t r;

    if (h == NULL)
        mem_exhausted("a hash");
    XXH3_64bits_reset(h);
    for (size_t i = 0; i < t->ngroup; i++) {
        const size_t at = own ? adamw_part(s->opt, i)[adamw_rank(s->opt)] : 0;
        const size_t n = own ? adamw_own(s->opt, i) : t->group[i].n;

        if (n > 0)
            XXH3_64bits_update(h, group_p(&t->group[i], at), n * sizeof(float));
    }
    r = XXH3_64bits_digest(h);
    XXH3_freeState(h);
    return r;
}

/* Number of ranks with the same hash as rank r. */
static size_t
hash_votes(const uint64_t *all, size_t n, size_t r)
{
    size_t k = 0;

    for (size_t i = 0; i < n; i++)
        k += all[i] == all[r];
    return k;
}

int
rank_same(const struct student *s, struct err *e)
{
    const size_t n = s->ranks.n;
    uint64_t *all;
    size_t most = 0;
    struct buf odd = { 0 };

    if (n == 1 || s->t.share.params || s->pipe != NULL)
        return 0;
    all = xcalloc(n, sizeof(*all));
    all[s->ranks.rank] = hash_parameters(s, 0);
    dist_all_gather_one(&s->ranks, all, sizeof(*all));
    for (size_t r = 1; r < n; r++)
        if (hash_votes(all, n, r) > hash_votes(all, n, most))
            most = r;
    for (size_t r = 0; r < n; r++)
        if (all[r] != all[most])
            buf_addf(&odd, "%s%zu", odd.n > 0 ? ", " : "", r);
    free(all);
    if (odd.n == 0)
        return 0;
    err_set(e, EX_RANK,
        "the parameters of rank %s are not those of rank %zu: a fault of "
        "memory or processor; nothing is saved, --resume goes on from the "
        "checkpoint before",
        odd.p, most);
    buf_release(&odd);
    return -1;
}

void
rank_keep(struct student *s)
{
    if (adamw_in_parts(s->opt))
        s->kept = hash_parameters(s, 1);
}

int
rank_unchanged(const struct student *s, struct err *e)
{
    if (s->kept == 0 || hash_parameters(s, 1) == s->kept)
        return 0;
    return err_set(e, EX_RANK,
        "the parameters that rank %zu updates have changed since step %" PRIu64
        ": a fault of memory or processor; nothing is saved, --resume goes on "
        "from the checkpoint before",
        s->ranks.rank, s->st.step);
}

int
rank_agree(struct student *s, int r, struct err *e)
{
    struct vote {
        int r, code, stop;
    } *all = xcalloc(s->ranks.n, sizeof(*all)), *own = &all[s->ranks.rank];
    int least = r, most = r, code = 0;

    *own = (struct vote){ r, r < 0 ? e->code : 0, (int)stop_asked };
    dist_all_gather_one(&s->ranks, all, sizeof(*all));
    for (size_t i = 0; i < s->ranks.n; i++) {
        least = all[i].r < least ? all[i].r : least;
        most = all[i].r > most ? all[i].r : most;
        code = all[i].code > code ? all[i].code : code;
        s->stop = all[i].stop > s->stop ? all[i].stop : s->stop;
    }
    free(all);
    if (least == most || r < 0)
        return r;
    if (least < 0)
        return err_set(e, code, "another rank cannot go on");
    return err_set(e, EX_INPUT, "%s: the ranks' streams differ in length",
        s->in.name);
}
