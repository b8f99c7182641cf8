/* A model in a process of its own; see bench_process.h. */
#include "bench_process.h"
#include "engine.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "cli/die.h"
#include "cli/place.h"
#include "cli/prog.h"
#include "model/decode/forward_kv.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* A command of the program; n = 0: end. */
struct turn {
    size_t k, from, n;
    struct bench_times *times;
};
/* The process sends an answer when its engine is made, and one after each
 * command. */
struct process_answer {
    double wall;
    size_t peak, bytes, threads;
};

/* ---- in the process ---- */

struct worker {
    const struct bench_plan *p;
    struct gen_engine *engine;
};

/* A request that runs. */
struct slot {
    struct bench_times *t; /* NULL: none */
    uint32_t *ids;
    struct gen_params params;
};

static void
hear_slot(void *ctx, const struct gen_event *ev)
{
    struct slot *s = ctx;

    engine_check(ev);
    if (ev->kind == GEN_TOKEN)
        s->t->at[s->t->arrivals++] = clock_now();
    if (ev->kind != GEN_END)
        return;
    s->t->tokens = s->t->arrivals;
    s->t = NULL;
}

static void
start_slot(const struct worker *w, struct slot *s, size_t k, size_t i,
    struct bench_times *t)
{
    const struct gen_request r = { .prompt = s->ids,
        .n = bench_prompt_length(w->p, i),
        .params = &s->params,
        .number = i,
        .on_event = hear_slot,
        .ctx = s };
    struct err e;

    bench_prompt(w->p, k, i, s->ids);
    s->params = w->p->params;
    s->params.most = bench_new_tokens(w->p, i);
    s->t = t;
    t->arrivals = 0;
    t->start = clock_now();
    if (gen_add(w->engine, &r, &e) == NULL)
        die_err(&e);
}

/* Run a turn; returns its seconds. */
static double
work_turn(const struct worker *w, const struct turn *t)
{
    const size_t n = w->p->at_once[t->k], longest = bench_longest(w->p);
    struct slot *slot = xcalloc(n, sizeof *slot);
    uint32_t *ids = xreallocarray(NULL, n * longest, sizeof *ids);
    const double start = clock_now();
    size_t next = 0;
    double wall;

    do {
        for (size_t i = 0; i < n && next < t->n; i++) {
            slot[i].ids = ids + i * longest;
            if (slot[i].t == NULL) {
                start_slot(w, &slot[i], t->k, t->from + next, &t->times[next]);
                next++;
            }
        }
    } while (gen_step(w->engine) > 0 || next < t->n);
    wall = clock_now() - start;
    free(slot);
    free(ids);
    return wall;
}

/* The loop of a measuring process: read a turn from `from`, run it, write the
 * answer to `to`.  Returns after a turn of no texts, or when `from` or `to` is
 * closed. */
static void
work_turns(const struct bench_process *b, const struct bench_plan *p,
    const struct how *how, int from, int to)
{
    const size_t longest = bench_longest(p), texts = bench_most_warm_up(p);
    const struct gen_limits limits = { .texts = texts,
        .pages = texts * kv_pages(longest),
        .longest = longest,
        .slice = p->slice };
    struct pool *pool = setup_rank_pool(how->setup.threads);
    struct packed *packed;
    struct worker w = { .p = p };
    struct process_answer a = { .threads = pool_size(pool) };
    struct turn t;
    struct err e;

    if (model_check_finite(&b->m, &e) < 0)
        die_err(&e);
    packed = how_pack(how, &b->m, pool);
    w.engine = gen_new(packed != NULL ? packed_model(packed) : &b->m, pool,
        NULL, &limits);
    a.bytes = engine_memory(w.engine, &b->m, pool, &limits);
    do {
        a.peak = prog_peak();
        if (io_write(to, &a, sizeof a) < 0 ||
            io_read(from, &t, sizeof t) != sizeof t || t.n == 0)
            break;
        a.wall = work_turn(&w, &t);
    } while (1);
    gen_free(w.engine);
    packed_free(packed);
    pool_free(pool);
}

/* ---- in the program ---- */

/* Exit with the status of the process, which has printed the error. */
static void
die_with(const struct bench_process *b)
{
    int status;

    if (waitpid(b->pid, &status, 0) == b->pid && WIFEXITED(status) &&
        WEXITSTATUS(status) != 0)
        _exit(WEXITSTATUS(status));
    die(EX_SYS,
        "%s: the process that measures it was killed: is there enough "
        "memory?  Measure fewer models at a time",
        b->m.path);
}

static double
read_answer(struct bench_process *b)
{
    struct process_answer a;

    if (io_read(b->from, &a, sizeof a) != sizeof a)
        die_with(b);
    b->bytes = a.bytes;
    b->threads = a.threads;
    b->peak = a.peak;
    return a.wall;
}

void
bench_process_start(struct bench_process *b, const struct bench_plan *p,
    const struct how *how)
{
    int to[2], from[2];

    if (pipe(to) != 0 || pipe(from) != 0 || (b->pid = fork()) < 0)
        die(EX_SYS, "%s: a process to measure it:", b->m.path);
    if (b->pid == 0) {
        close(to[1]);
        close(from[0]);
        work_turns(b, p, how, to[0], from[1]);
        _exit(0);
    }
    close(to[0]);
    close(from[1]);
    b->to = to[1];
    b->from = from[0];
    read_answer(b);
}

double
bench_process_turn(struct bench_process *b, size_t k, size_t from, size_t n,
    struct bench_times *times)
{
    const struct turn t = { k, from, n, times };

    if (io_write(b->to, &t, sizeof t) < 0)
        die_with(b);
    return read_answer(b);
}

void
bench_process_end(struct bench_process *b)
{
    const struct turn end = { .n = 0 };

    if (io_write(b->to, &end, sizeof end) < 0)
        die_with(b);
    close(b->to);
    close(b->from);
    waitpid(b->pid, NULL, 0);
}
