/*
 * Gradient times weight: see profile_grad.h.  Each row's loss is differentiated
 * by itself, so that sums over rows do not depend on how rows are spread over
 * profiles.
 */
#include "profile_grad.h"
#include "hessian.h"
#include "cli/die.h"
#include "cli/progress.h"
#include "train/plan.h"
#include "train/step.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct loss_opt loss = { .w_ce = 1.0, .tau = 1.0 };
static const struct targets nothing = { .kind = TARGETS_NONE };

struct gradient_job {
    struct profile_sums *s;
    const struct tmodel *t;
};

/* Add |gradient * weight| of block `task` to the channels that its weights
 * read. */
static void
add_block_gradients(void *ctx, size_t task, size_t worker)
{
    const struct gradient_job *j = ctx;
    const struct group *g = &j->t->group[task];

    (void)worker;
    for (size_t k = 0; k < FWD_INPUTS * W_N; k++) {
        const size_t t = k % W_N;
        const struct weight *w = &j->t->m.block[task].w[t];
        double *sum = j->s->b[task].in[k / W_N].grad;

        if (!(input_readers[k / W_N] >> t & 1))
            continue;
        for (size_t r = 0; r < w->rows; r++)
            for (size_t c = 0; c < w->cols; c++) {
                const size_t at = g->at[t] + r * w->cols + c;

                sum[c] += fabs((double)g->g[at] * (double)g->p[at]);
            }
    }
}

/* scored [T] = 1 at the tokens of row r whose prediction is scored, else 0. */
static void
mark_scored(const struct calib *c, size_t r, uint8_t *scored)
{
    memset(scored, 0, c->T);
    for (size_t k = calib_scored(c, r); k < calib_scored(c, r + 1); k++)
        scored[c->at[k] - r * c->T] = 1;
}

size_t
gradients_bytes(const struct model *m, const struct calib *c, struct pool *pool)
{
    struct block_shape *shape = xcalloc(m->c.L, sizeof *shape);
    struct tmodel t;
    struct step *s;
    size_t n;

    model_shape(m, shape);
    tmodel_layout(&t, &m->c, shape, DT_F32);
    s = step_new(&t, pool, &loss, 1, c->T, 0, &nothing, NULL);
    n = 2 * t.nparam * sizeof(float) + step_bytes(s, c->T);
    step_free(s);
    tmodel_release(&t);
    free(shape);
    return n;
}

void
gradients_walk(struct profile_sums *s, const struct model *m,
    const struct calib *c, struct pool *pool)
{
    uint8_t *scored = xcalloc(c->T, 1);
    struct tmodel t;
    struct gradient_job j = { s, &t };
    struct step *step;

    tmodel_init(&t, m);
    for (size_t i = 0; i < s->L * FWD_INPUTS; i++) {
        struct input_sums *in = &s->b[i / FWD_INPUTS].in[i % FWD_INPUTS];

        in->grad = xcalloc(in->n, sizeof *in->grad);
    }
    step = step_new(&t, pool, &loss, 1, c->T, 0, &nothing, NULL);
    progress_begin("gradients", (double)c->R, "rows");
    for (size_t r = 0; r < c->R; r++) {
        const struct rows rows = calib_rows(c, r, 1);
        struct loss_sum sum = { 0 };

        mark_scored(c, r, scored);
        tmodel_zero_grad(&t);
        step_add(step, &rows, scored, &nothing, &sum);
        step_flush(step);
        pool_run(pool, s->L, add_block_gradients, &j);
        progress_at((double)(r + 1), NULL);
    }
    progress_end();
    for (size_t i = 0; i < s->L * FWD_INPUTS; i++)
        if (!sums_finite(&s->b[i / FWD_INPUTS].in[i % FWD_INPUTS]))
            die(EX_NUM, "%s: a gradient of block %zu is not finite", m->path,
                i / FWD_INPUTS);
    step_free(step);
    tmodel_release(&t);
    free(scored);
}
