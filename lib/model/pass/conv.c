/* The causal convolution of `linear` blocks; see conv.h. */
#include "model/pass/conv.h"
#include "kern/kern.h"
#include "model/config/delta_config.h"
#include "model/pass/attention.h"
#include "model/pass/backward_block.h"

#include <string.h>

struct conv *
conv_of(const struct fwd *f)
{
    return f->room[ROOM_CONV];
}

void
conv_lay(struct fwd *f, struct arena *a)
{
    const struct config *c = &f->m->c;
    struct conv *k = room_make(&f->room[ROOM_CONV], sizeof *k);

    k->C = conv_channels(c);
    k->n = c->conv;
    k->taps = arena_alloc(a, k->C * k->n, sizeof *k->taps);
}

void
conv_take(struct run *u, const float *x, size_t ldx)
{
    struct conv *k = conv_of(u->f);

    for (size_t i = 0; i < k->C; i++)
        for (size_t j = 0; j < k->n; j++)
            k->taps[j * k->C + i] = u->vec[W_CONV][i * k->n + j];
    k->x = x;
    k->ldx = ldx;
}

void
conv_stage(struct run *u, const struct branch *in,
    void (*row)(struct run *u, const struct run_row *r))
{
    const struct conv *k = conv_of(u->f);

    run_stages(u);
    stage_rows(u, in, row, "forward convolution", (k->n + 2) * k->C);
    run_stages(u);
    if (u->engine->convolved != NULL)
        u->engine->convolved(u);
}

/* A text begins with its stem. */
const float *
batch_before(const struct run *u, const struct run_row *r, size_t back)
{
    const struct conv *k = conv_of(u->f);
    const size_t p = position(u->f, u->r, r->b, r->t);
    const size_t stem = u->f->stem != NULL ? u->f->nstem[r->tok] : 0;
    size_t at = r->t - back;

    if (back > p)
        return NULL;
    if (p - back < stem)
        at = u->f->stem[r->tok] + (p - back);
    return k->x + (r->b * u->c.Tp + at) * k->ldx;
}

void
conv_row(const struct run *u, const struct run_row *r, float *y)
{
    const struct conv *k = conv_of(u->f);

    memset(y, 0, k->C * sizeof *y);
    for (size_t j = k->n; j-- > 0;) {
        const float *x = u->engine->before(u, r, j);

        if (x != NULL)
            kern.axmul(y, 1.0f, x, k->taps + (k->n - 1 - j) * k->C, k->C);
    }
}

/* ---- backward ---- */

/* Are token t of row b and the token `ahead` tokens later in the same text? */
static int
text_reaches(const struct run *u, size_t b, size_t t, size_t ahead)
{
    const uint32_t *first = u->r->first + b * u->r->T + t;

    return t + ahead < u->r->T && first[ahead] == first[0];
}

void
conv_back_row(const struct run *u, const struct run_row *r, const float *dy,
    float *dx)
{
    const struct conv *k = conv_of(u->f);

    memset(dx, 0, k->C * sizeof *dx);
    for (size_t j = 0; j < k->n && text_reaches(u, r->b, r->t, j); j++)
        kern.axmul(dx, 1.0f, dy + (r->at + j) * k->C,
            k->taps + (k->n - 1 - j) * k->C, k->C);
}

struct tap_job {
    struct run *u;
    const float *dy;
};

/* Add the gradient of the taps of some channels, one row of the batch after
 * another. */
static void
tap_task(void *ctx, size_t task, size_t worker)
{
    const struct tap_job *job = ctx;
    const struct run *u = job->u;
    const struct conv *k = conv_of(u->f);
    const size_t c0 = task * VEC_COLS;
    const size_t n = k->C - c0 < VEC_COLS ? k->C - c0 : VEC_COLS;
    float *g = u->g->group->g + u->g->group->at[W_CONV] + c0 * k->n;
    float sum[VEC_COLS];

    (void)worker;
    for (size_t b = 0; b < u->r->B; b++)
        for (size_t j = 0; j < k->n; j++) { /* x: j tokens before dy */
            const float *x = k->x + b * u->c.Tp * k->ldx + c0;
            const float *dy = job->dy + b * u->c.Tp * k->C + c0;

            memset(sum, 0, sizeof sum);
            for (size_t t = 0; t + j < u->r->T; t++)
                if (row_live(u->r, b, t) && text_reaches(u, b, t, j))
                    kern.axmul(sum, 1.0f, x + t * k->ldx, dy + (t + j) * k->C,
                        n);
            for (size_t i = 0; i < n; i++)
                g[i * k->n + k->n - 1 - j] += sum[i];
        }
}

void
conv_back_taps(struct run *u, const float *dy)
{
    struct tap_job job = { u, dy };

    if (!u->g->frozen)
        pool_run(u->f->pool, (conv_of(u->f)->C + VEC_COLS - 1) / VEC_COLS,
            tap_task, &job);
}
