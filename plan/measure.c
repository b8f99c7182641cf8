/*
 * Times measured here: see measure.h.  A step's time is that of its blocks and
 * of the rest, which has the head: both follow from models of one and of two
 * blocks (the mean of all where they differ), with random weights, one pass of
 * rows through each.
 */
#include "measure.h"
#include "base/clock.h"
#include "base/rng.h"
#include "cli/die.h"
#include "kern/bf16.h"
#include "model/random.h"
#include "dist/dist.h"
#include "train/adamw.h"
#include "train/plan.h"
#include "train/ranks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { REPEAT = 3 }; /* the least time counts; the first is left out */

/* What is run: rows of random ids, all scored, and what a teacher says. */
struct trial {
    struct rows r;
    uint8_t *scored;
    struct said said;
    struct said_tensor hidden[2];
    unsigned char *state; /* bf16 [B T d] */
    struct weight head;   /* the teacher's, bf16 [V,d] */
};

static void
trial_init(struct trial *x, const struct config *c,
    const struct config *teacher, const struct process *o)
{
    const size_t B = plan_micro(o->micro, o->rows, o->T), n = B * o->T;
    uint32_t *ids = xcalloc(2 * n, sizeof *ids);
    const size_t d = teacher != NULL ? teacher->d : 0;

    memset(x, 0, sizeof *x);
    for (size_t i = 0; i < n; i++) {
        ids[i] = (uint32_t)(rng_u64(1, i) % c->V);
        ids[n + i] = 0; /* a row is one piece */
    }
    x->r = (struct rows){ B, o->T, ids, ids + n };
    x->scored = xcalloc(n, 1);
    memset(x->scored, 1, n);
    for (size_t i = 1; i <= B; i++)
        x->scored[i * o->T - 1] = 0;
    if (d == 0)
        return;
    x->state = xcalloc(n * d, 2);
    for (size_t i = 0; i < n * d; i++)
        ((uint16_t *)x->state)[i] =
            (uint16_t)(0x3c00 | (rng_u64(2, i) & 0x81ff)); /* near 0.01 */
    x->said = (struct said){ .kind = SAID_FINAL,
        .width = d,
        .depth = d,
        .T = o->T,
        .part = { { x->state, DT_BF16, d } },
        .hidden = x->hidden };
    x->hidden[0] = x->hidden[1] = x->said.part[0];
    x->head = (struct weight){ .dtype = DT_BF16,
        .rows = teacher->V,
        .cols = d,
        .stride = 2 * d,
        .data = xcalloc(teacher->V * d, 2) };
}

static void
trial_release(struct trial *x)
{
    free((void *)x->r.ids);
    free(x->scored);
    free(x->state);
    free((void *)x->head.data);
}

/* The mean block, so many times. */
static struct block_shape *
some(struct config *few, const struct config *c, const struct block_shape *b,
    size_t n)
{
    struct block_shape *s = xcalloc(n, sizeof *s);
    double groups = 0.0, mlp = 0.0;

    for (size_t i = 0; i < c->L; i++) {
        groups += (double)b[i].groups / (double)c->L;
        mlp += (double)b[i].mlp / (double)c->L;
    }
    for (size_t i = 0; i < n; i++)
        s[i] = (struct block_shape){ (size_t)(groups + 0.5),
            (size_t)(mlp + 0.5), i };
    *few = *c;
    few->L = n;
    return s;
}

/* Seconds of the student with so many blocks: of a pass, of what ranks tell one
 * another once a step, and of the optimiser. */
struct times {
    double pass, reduce, update;
};

static struct times
student_time(const struct config *c, const struct block_shape *b, size_t n,
    struct trial *x, const struct process *o, struct pool *pool)
{
    const int teacher = x->said.width > 0;
    const struct loss_opt loss = { .w_ce = teacher ? 0.25 : 1.0,
        .w_kl = teacher,
        .w_sh = teacher,
        .tau = 3.0 };
    const struct adamw_opt opt = { .lr = 1e-6,
        .beta1 = 0.9,
        .beta2 = 0.999,
        .eps = 1e-8,
        .lr_embed = 1.0 };
    struct config few;
    struct block_shape *s = some(&few, c, b, n);
    struct arena arena = { 0 };
    struct model m;
    struct tmodel t;
    struct adamw *adam;
    struct ranks *ranks;
    struct times least = { INFINITY, INFINITY, INFINITY };
    struct step *step;
    struct err e;

    model_random(&m, &few, s, 1, &arena);
    if (tmodel_init_as(&t, &m, o->grad == 1 ? DT_BF16 : DT_F32, &e) < 0)
        die_err(&e);
    model_random_free(&m);
    arena_release(&arena);
    x->said.nblock = teacher ? n : 0;
    step = step_new(&t, pool, &loss, x->r.B, x->r.T,
        (o->recompute ? BWD_RECOMPUTE : 0) | (o->act == 1 ? BWD_BF16 : 0),
        &x->said, &x->head);
    adam = adamw_new(&t, o->moments == 1 ? DT_BF16 : DT_F32);
    ranks =
        ranks_new(&(struct ranks_opt){ dist_world(), 0, DIST_RING, x->r.B, 1 },
            step, &t, adam, pool);
    for (int i = 0; i <= REPEAT; i++) {
        struct loss_sum sum = { 0 };
        double norm, at[4];

        dist_barrier(dist_world());
        at[0] = clock_now();
        ranks_add(ranks, &x->r, x->scored, &x->said, 0, 1, &sum);
        at[1] = clock_now();
        ranks_finish(ranks, &sum);
        at[2] = clock_now();
        if (adamw_step(adam, &t, pool, &opt, sum.n, &norm, &e) < 0)
            die_err(&e);
        if (i == 0)
            continue;
        at[3] = clock_now();
        least.pass = fmin(least.pass, at[1] - at[0]);
        least.reduce = fmin(least.reduce, at[2] - at[1]);
        least.update = fmin(least.update, at[3] - at[2]);
    }
    ranks_free(ranks);
    adamw_free(adam);
    step_free(step);
    tmodel_release(&t);
    free(s);
    return least;
}

/* Seconds of a teacher's block over one pass's rows of its own. */
static double
teacher_time(const struct config *c, const struct block_shape *b,
    const struct process *o, size_t *rows, struct pool *pool)
{
    const size_t B = plan_teacher_micro(0, o->rows, o->T);
    struct config few;
    struct block_shape *s = some(&few, c, b, 1);
    struct arena arena = { 0 };
    float *state = xcalloc(B * o->T * c->d, sizeof *state);
    uint32_t *ids = xcalloc(B * o->T, sizeof *ids);
    const struct rows r = { B, o->T, ids, ids };
    double least = INFINITY;
    struct model m;
    struct fwd *f;

    few.V = 64; /* its head is not used */
    model_random(&m, &few, s, 1, &arena);
    f = fwd_new_blocks(&m, pool, B, o->T);
    for (size_t i = 0; i < B * o->T * c->d; i++)
        state[i] = (float)rng_unit(3, i) - 0.5f;
    for (int i = 0; i <= REPEAT; i++) {
        double start;

        dist_barrier(dist_world());
        start = clock_now();
        fwd_block(f, 0, &r, state, state);
        if (i > 0)
            least = fmin(least, clock_now() - start);
    }
    fwd_free(f);
    model_random_free(&m);
    arena_release(&arena);
    free(state);
    free(ids);
    free(s);
    *rows = B;
    return least;
}

/* What takes v[0] with one block and v[1] with two, with all of them. */
static double
of_all(const double *v, size_t blocks)
{
    return v[0] + fmax(0.0, v[1] - v[0]) * (double)(blocks - 1);
}

void
measure_step(struct figures *f, const struct config *c,
    const struct block_shape *m, const struct config *teacher,
    const struct block_shape *t, const struct process *o, struct pool *pool)
{
    double pass[2], update[2], reduce[2], block, step;
    struct trial x;
    double passes;
    size_t rows;

    trial_init(&x, c, teacher, o);
    for (size_t n = 0; n < 2; n++) {
        const struct times one =
            student_time(c, m, n < c->L ? n + 1 : c->L, &x, o, pool);

        pass[n] = one.pass;
        update[n] = one.update;
        reduce[n] = one.reduce;
    }
    passes = ceil((double)o->rows / (double)x.r.B);
    trial_release(&x);
    block = fmax(0.0, pass[1] - pass[0]);
    figure_add(f, "time.blocks", "s", passes * block * (double)c->L,
        "passes x blocks x (a pass of two blocks - one of one block)");
    figure_add(f, "time.head", "s", passes * fmax(0.0, pass[0] - block),
        "passes x (a pass of one block - a block): head and losses");
    if (dist_world()->n > 1)
        figure_add(f, "time.reduce", "s", of_all(reduce, c->L),
            "gradients of all ranks: with one block + (blocks - 1) x (with two "
            "- with one)");
    figure_add(f, "time.optimiser", "s", of_all(update, c->L),
        "with one block + (blocks - 1) x (with two - with one)");
    if (teacher != NULL) {
        const double one = teacher_time(teacher, t, o, &rows, pool);

        figure_add(f, "time.teacher", "s",
            one * (double)teacher->L * ceil((double)o->rows / (double)rows),
            "passes of the teacher x its blocks x a block, on the same "
            "threads");
    }
    step = figure_sum(f, "time.");
    figure_add(f, "time.step", "s", step, "the sum of these");
    figure_add(f, "time.speed", "tokens/s",
        (double)(dist_world()->n * o->rows * o->T) / step,
        "ranks rows length / time.step");
}
