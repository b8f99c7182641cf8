/*
 * The time of a step: see process.h.  It is the time of all blocks plus the
 * time of the rest, mostly the head.  To time a block, two models are timed,
 * one with one block and one with several (of mean size if the blocks differ);
 * the difference is the time of the additional blocks.  Both models have few
 * ids: in a small model the head takes as long as ten blocks, and the
 * noise of its time would be multiplied by the number of blocks.  Of a large
 * vocabulary a part is used, and the time of the head is multiplied.  Weights
 * are random; a step has one or two passes.
 */
#include "process.h"
#include "base/clock.h"
#include "base/median.h"
#include "base/rng.h"
#include "cli/die.h"
#include "cli/progress.h"
#include "kern/bf16.h"
#include "model/pass/head_top.h"
#include "model/files/random.h"
#include "dist/dist.h"
#include "train/adamw.h"
#include "train/plan.h"
#include "train/ranks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TAU 3.0
/* A time is the median of TAKES measurements after a warm-up, or of as many as
 * SECONDS have room for, at least one.  With several ranks models of more than
 * LARGE parameters are measured TAKES_LARGE times, since ranks must agree. */
enum { TAKES = 5, TAKES_LARGE = 1, LARGE = 1 << 28, SECONDS = 6 };
/* Numbers of a table of a part of the vocabulary, about. */
enum { TABLE = 1 << 25 };

/* Steps that are measured: of three students and of a teacher. */
struct meter {
    double done, total;
};

static void
meter_begin(struct meter *m, int teacher)
{
    *m = (struct meter){ 0.0, (3.0 + teacher) * (1 + TAKES) };
    progress_begin("measuring", m->total, "steps");
}

/* Report a step.  Returns how many takes there are to be: after the warm-up,
 * which took `warm` seconds (NAN: it is over), as many of `takes` as there is
 * time for. */
static int
meter_step(struct meter *m, int takes, double warm)
{
    const double room = warm >= 0.0 ? fmax(1.0, floor(SECONDS / warm)) : TAKES;
    const int left = dist_world()->n > 1 || takes <= room ? takes : (int)room;

    m->total -= takes - left;
    progress_total(m->total);
    progress_at(++m->done, NULL);
    return left;
}

/* Arrays of zeros that are freed together. */
struct kept {
    void *p[8];
    size_t n;
};

static void *
keep_zeros(struct kept *k, size_t n, size_t size)
{
    return k->p[k->n++] = xcalloc(n, size);
}

static void
kept_free(struct kept *k)
{
    while (k->n > 0)
        free(k->p[--k->n]);
}

/* The input of a step: rows of random ids, all scored, and a teacher's
 * targets. */
struct trial {
    struct kept kept;
    struct rows r;
    size_t micro, passes; /* rows of a pass; number of passes, at most 2 */
    uint8_t *scored;
    struct targets targets; /* the teacher's targets */
    struct weight head;     /* the teacher's head, bf16 [V,d] */
};

/* Set the targets of n tokens: k top tokens that together have probability 1/2
 * at TAU. */
static void
add_top(struct trial *x, size_t n, size_t k)
{
    struct targets_tensor *part = x->targets.part;
    uint32_t *ids = keep_zeros(&x->kept, n * k, sizeof *ids);
    float *logp = keep_zeros(&x->kept, n * k, sizeof *logp);

    for (size_t i = 0; i < n * k; i++) {
        ids[i] = (uint32_t)(i % k);
        logp[i] = -(float)TAU * logf(2.0f * (float)k);
    }
    x->targets.kind = TARGETS_TOP;
    x->targets.width = k;
    part[TARGETS_IDS] = (struct targets_tensor){ (void *)ids, DT_U32, k };
    part[TARGETS_LOGP] = (struct targets_tensor){ (void *)logp, DT_F32, k };
    part[TARGETS_LSE] =
        (struct targets_tensor){ keep_zeros(&x->kept, 2 * n, sizeof(float)),
            DT_F32, 2 };
}

/* Set the targets of n tokens: states of width d, near 0.01, the last of them
 * and one for each block. */
static void
add_states(struct trial *x, size_t n, size_t d, size_t blocks)
{
    uint16_t *state = keep_zeros(&x->kept, n * d, sizeof *state);
    struct targets_tensor *hidden =
        keep_zeros(&x->kept, blocks, sizeof *hidden);

    for (size_t i = 0; i < n * d; i++)
        state[i] = (uint16_t)(0x3c00 | (rng_u64(2, i) & 0x81ff));
    for (size_t i = 0; i < blocks; i++)
        hidden[i] = (struct targets_tensor){ (void *)state, DT_BF16, d };
    x->targets = (struct targets){ .kind = TARGETS_FINAL,
        .width = d,
        .nblock = blocks,
        .depth = d,
        .T = x->r.T,
        .part = { hidden[0] },
        .hidden = hidden };
}

/* Make the input for a student with V ids and `blocks` blocks.  large 1: a step
 * has one pass.  The caller gives x->kept to kept_free. */
static void
trial_init(struct trial *x, size_t V, size_t blocks, const struct layout *t,
    const struct process *o, int large)
{
    const size_t micro = plan_micro(o->in.micro, o->in.rows, o->in.T);
    const size_t passes = micro < o->in.rows && !large ? 2 : 1;
    const size_t B = passes * micro, n = B * o->in.T;
    uint32_t *ids;

    memset(x, 0, sizeof *x);
    ids = keep_zeros(&x->kept, 2 * n, sizeof *ids);
    x->micro = micro;
    x->passes = passes;
    for (size_t i = 0; i < n; i++)
        ids[i] = (uint32_t)(rng_u64(1, i) % V);
    x->r = (struct rows){ B, o->in.T, ids, ids + n }; /* a row is one piece */
    x->scored = keep_zeros(&x->kept, n, 1);
    for (size_t i = 0; i < n; i++)
        x->scored[i] = (i + 1) % o->in.T > 0;
    if (t == NULL)
        return;
    add_states(x, n, t->c.d, blocks);
    if (o->in.top > 0) {
        add_top(x, n, o->in.top);
        return;
    }
    x->head = (struct weight){ .dtype = DT_BF16,
        .rows = V < t->c.V ? V : t->c.V,
        .cols = t->c.d,
        .stride = 2 * t->c.d };
    x->head.data = keep_zeros(&x->kept, x->head.rows, x->head.stride);
}

/* Set *few to a configuration with n blocks of mean size.  Returns their
 * shapes, which the caller frees. */
static struct block_shape *
mean_blocks(struct config *few, const struct layout *m, size_t n)
{
    const struct config *c = &m->c;
    struct block_shape *s = xcalloc(n, sizeof *s);
    double groups = 0.0, mlp = 0.0;

    for (size_t i = 0; i < c->L; i++) {
        groups += (double)m->block[i].groups / (double)c->L;
        mlp += (double)m->block[i].mlp / (double)c->L;
    }
    for (size_t i = 0; i < n; i++)
        s[i] = (struct block_shape){ .groups = (size_t)(groups + 0.5),
            .mlp = (size_t)(mlp + 0.5),
            .source = i };
    *few = *c;
    few->L = n;
    return s;
}

/* Seconds of a student's pass, and of what a step does once: the exchange of
 * gradients, and the optimiser. */
struct times {
    double pass, reduce, update;
};

/* Time at most `takes` steps of a student after a warm-up. */
static struct times
time_steps(struct ranks *ranks, struct adamw *adam, struct tmodel *t,
    const struct trial *x, int takes, struct pool *pool, struct meter *meter)
{
    const struct adamw_opt opt = { .lr = 1e-6,
        .beta1 = 0.9,
        .beta2 = 0.999,
        .eps = 1e-8 };
    double pass[TAKES], reduce[TAKES], update[TAKES];
    struct err e;

    for (int i = -1; i < takes; i++) {
        struct loss_sum sum = { 0 };
        double norm, at[4];

        dist_barrier(dist_world());
        at[0] = clock_now();
        ranks_add(ranks, &x->r, x->scored, &x->targets, 0, 1, &sum);
        dist_barrier(dist_world()); /* wait for the slowest rank */
        at[1] = clock_now();
        ranks_finish(ranks, &sum);
        at[2] = clock_now();
        if (adamw_step(adam, t, pool, &opt, sum.n, &norm, &e) < 0)
            die_err(&e);
        effective_make(t, pool);
        at[3] = clock_now();
        takes = meter_step(meter, takes, i < 0 ? at[3] - at[0] : NAN);
        if (i < 0)
            continue;
        pass[i] = (at[1] - at[0]) / (double)x->passes;
        reduce[i] = at[2] - at[1];
        update[i] = at[3] - at[2];
    }
    return (struct times){ median(pass, (size_t)takes),
        median(reduce, (size_t)takes), median(update, (size_t)takes) };
}

/* Time steps of the student with n blocks and V ids. */
static struct times
student_time(const struct layout *m, size_t n, size_t V,
    const struct layout *teacher, const struct process *o, struct pool *pool,
    struct meter *meter)
{
    const struct loss_opt loss = { .w_ce = teacher != NULL ? 0.25 : 1.0,
        .w_kl = teacher != NULL,
        .w_sh = teacher != NULL,
        .tau = TAU };
    struct config few;
    struct block_shape *s = mean_blocks(&few, m, n);
    struct arena arena = { 0 };
    struct model model;
    struct tmodel t;
    struct adamw *adam;
    struct ranks *ranks;
    struct times times;
    int takes;
    struct step *step;
    struct trial x;
    struct err e;

    few.V = V;
    takes = config_params(&few, s) > LARGE ? TAKES_LARGE : TAKES;
    meter->total -= TAKES - takes;
    trial_init(&x, V, n, teacher, o, m->params > LARGE);
    model_random(&model, &few, s, 1, &arena);
    tmodel_init_as(&t, &model, o->grad == 1 ? DT_BF16 : DT_F32);
    if (effective_begin(&t, &o->effective, &e) < 0)
        die_err(&e);
    effective_choose(&t, pool);
    effective_make(&t, pool);
    model_random_free(&model);
    arena_release(&arena);
    step = step_new(&t, pool, &loss, x.micro, x.r.T,
        (o->in.recompute ? BWD_RECOMPUTE : 0) | (o->act == 1 ? BWD_BF16 : 0),
        &x.targets, &x.head);
    adam = adamw_new(&t, o->moments == 1 ? DT_BF16 : DT_F32);
    ranks =
        ranks_new(&(struct ranks_opt){ dist_world(), 0, DIST_RING, x.r.B, 1 },
            step, &t, adam, pool);
    times = time_steps(ranks, adam, &t, &x, takes, pool, meter);
    ranks_free(ranks);
    adamw_free(adam);
    step_free(step);
    kept_free(&x.kept);
    tmodel_release(&t);
    free(s);
    return times;
}

/* Seconds of a teacher's pass through one block, and with --top of its head. */
struct taught {
    size_t rows; /* rows of the pass */
    double block, head;
};

static struct taught
teacher_time(const struct layout *t, const struct process *o, struct pool *pool,
    struct meter *meter)
{
    const struct config *c = &t->c;
    const size_t B = plan_teacher_micro(0, o->in.rows, o->in.T),
                 n = B * o->in.T;
    struct config few;
    struct block_shape *s = mean_blocks(&few, t, 1);
    struct arena arena = { 0 };
    struct kept kept = { .n = 0 };
    float *state = keep_zeros(&kept, n * c->d, sizeof *state);
    uint32_t *ids = keep_zeros(&kept, n, sizeof *ids);
    const struct rows r = { B, o->in.T, ids, ids };
    const struct head_targets targets = { .lse = keep_zeros(&kept, 2 * n,
                                              sizeof(float)),
        .self = keep_zeros(&kept, n, sizeof(double)),
        .ids = keep_zeros(&kept, n * o->in.top, sizeof(uint32_t)),
        .logp = keep_zeros(&kept, n * o->in.top, sizeof(float)) };
    double block[TAKES], head[TAKES];
    struct head_top *top;
    int takes = TAKES;
    struct model m;
    struct fwd *f;

    few.V = o->in.top > 0 ? c->V : 64; /* without --top no head is used */
    model_random(&m, &few, s, 1, &arena);
    f = fwd_new_blocks(&m, pool, B, o->in.T);
    top = o->in.top > 0 ? head_top_new(&m, pool, o->in.top, 0) : NULL;
    for (size_t i = 0; i < n * c->d; i++)
        state[i] = (float)rng_unit(3, i) - 0.5f;
    for (int i = -1; i < takes; i++) {
        double at[3];

        dist_barrier(dist_world());
        at[0] = clock_now();
        fwd_block(f, 0, &r, state, state);
        at[1] = clock_now();
        if (top != NULL)
            head_top_rows(top, f, state, n, TAU, &targets);
        at[2] = clock_now();
        takes = meter_step(meter, takes, i < 0 ? at[2] - at[0] : NAN);
        if (i < 0)
            continue;
        block[i] = at[1] - at[0];
        head[i] = at[2] - at[1];
    }
    head_top_free(top);
    fwd_free(f);
    model_random_free(&m);
    arena_release(&arena);
    free(s);
    kept_free(&kept);
    return (struct taught){ B, median(block, (size_t)takes),
        median(head, (size_t)takes) };
}

/* Number of blocks to add to the first one for timing.  Their time must be far
 * above the clock's error, but they must not take much memory. */
static size_t
more_blocks(const struct layout *m)
{
    enum { PARAMS = 1 << 26, MOST = 8 };
    const struct config *c = &m->c;
    const size_t outside = c->V * c->d * (c->tied ? 1 : 2) + c->d;
    const size_t each = (m->params - outside) / c->L + 1;
    const size_t n = PARAMS / each < 1 ? 1
        : PARAMS / each > MOST         ? MOST
                                       : PARAMS / each;

    return n < c->L ? n : c->L - 1;
}

/* The ids of a model, or of a large vocabulary a part. */
static size_t
part_of_ids(const struct layout *m)
{
    const size_t part = (TABLE / m->c.d + 64) / 64 * 64;

    return m->c.V < part ? m->c.V : part;
}

static double
with_all_ids(double block, double one, double times)
{
    return block + fmax(0.0, one - block) * times;
}

/* Set *block to the times of a block, and *one to the times of a student with
 * one block and the whole vocabulary. */
static void
student_times(struct times *block, struct times *one, const struct layout *m,
    const struct layout *teacher, const struct process *o, struct pool *pool,
    struct meter *meter)
{
    const size_t more = more_blocks(m), few = o->in.top > 64 ? o->in.top : 64;
    const size_t V = few < m->c.V ? few : m->c.V, part = part_of_ids(m);
    const size_t ids = part > V ? part : V;
    const struct times a = student_time(m, 1, V, teacher, o, pool, meter);
    const struct times w = student_time(m, 1, ids, teacher, o, pool, meter);
    const double n = (double)more, all = (double)m->c.V / (double)ids;

    *block = a;
    if (more > 0) {
        const struct times z =
            student_time(m, 1 + more, V, teacher, o, pool, meter);

        *block = (struct times){ fmax(0.0, z.pass - a.pass) / n,
            fmax(0.0, z.reduce - a.reduce) / n,
            fmax(0.0, z.update - a.update) / n };
    }
    *one = (struct times){ with_all_ids(block->pass, w.pass, all),
        with_all_ids(block->reduce, w.reduce, all),
        with_all_ids(block->update, w.update, all) };
}

void
measure_step(struct figures *f, const struct layout *m,
    const struct layout *teacher, const struct process *o, struct pool *pool)
{
    const double micro = (double)plan_micro(o->in.micro, o->in.rows, o->in.T);
    const double passes = ceil((double)o->in.rows / micro);
    const double L = (double)m->c.L;
    const struct clock_shares before = clock_shares();
    struct times block, one;
    struct meter meter;
    double step, waited;

    meter_begin(&meter, teacher != NULL);
    student_times(&block, &one, m, teacher, o, pool, &meter);
    figure_add(f, "time.blocks", passes * block.pass * L);
    figure_add(f, "time.head", passes * fmax(0.0, one.pass - block.pass));
    if (dist_world()->n > 1)
        figure_add(f, "time.reduce", one.reduce + (L - 1.0) * block.reduce);
    figure_add(f, "time.optimiser", one.update + (L - 1.0) * block.update);
    if (teacher != NULL) {
        const struct taught x = teacher_time(teacher, o, pool, &meter);

        figure_add(f, "time.teacher",
            ((double)teacher->c.L * x.block + x.head) *
                ceil((double)o->in.rows / (double)x.rows));
    }
    progress_end();
    waited = clock_waited(&before);
    network_working(f, &o->network, figure_sum(f, "time."));
    if (o->network.nodes > 1.0)
        figure_add(f, "time.exchange", network_step(f, &o->network));
    step = figure_sum(f, "time.");
    figure_add(f, "time.step", step);
    figure_add(f, "time.speed",
        (double)(process_ranks(o) * o->in.rows * o->in.T) / step);
    figure_add(f, "time.waited", waited);
}
