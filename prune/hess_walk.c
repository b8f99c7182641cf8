/* Hessians block by block: see hess_walk.h. */
#include "hess_walk.h"
#include "base/clock.h"
#include "base/mem.h"
#include "kern/kern.h"

#include <stdlib.h>
#include <string.h>

void
hess_walk_init(struct hess_walk *w, const struct model *m,
    const struct calib *c, struct pool *pool)
{
    const size_t row = c->T * m->c.d;

    *w = (struct hess_walk){ .m = m,
        .c = c,
        .pool = pool,
        .chunk = calib_chunk(c) };
    w->f = fwd_new_blocks(m, pool, w->chunk, c->T);
    w->x = xreallocarray(NULL, c->R * row, sizeof *w->x);
    w->y = xreallocarray(NULL, w->chunk * row, sizeof *w->y);
    w->lack = xreallocarray(NULL, row, sizeof *w->lack);
}

void
hess_walk_release(struct hess_walk *w)
{
    fwd_free(w->f);
    free(w->x);
    free(w->y);
    free(w->lack);
}

size_t
hess_walk_bytes(const struct model *m, const struct calib *c)
{
    return (c->R + calib_chunk(c) + 1) * c->T * m->c.d * sizeof(float);
}

void
hess_walk_begin(struct hess_walk *w)
{
    for (size_t r0 = 0; r0 < w->c->R; r0 += w->chunk) {
        const struct rows r = calib_rows(w->c, r0, w->chunk);

        fwd_embed(w->f, &r, w->x + r0 * w->c->T * w->m->c.d);
    }
}

/* Set lack to what the layer should add to row b of the batch, before its
 * factor; zeros at padding. */
static void
set_lack(struct hess_walk *w, const struct fwd_tapped *t, size_t b)
{
    const size_t T = t->r->T, d = w->m->c.d;
    const float *after = w->after[t->input] + (w->row + b) * T * d;
    const float *stream = t->stream + b * T * d;
    const double factor = w->m->c.residual_scale;
    const float scale = factor > 0.0 ? (float)(1.0 / factor) : 1.0f;

    for (size_t k = 0; k < T; k++) {
        float *y = w->lack + k * d;

        if (t->r->first[b * T + k] == UINT32_MAX) {
            memset(y, 0, d * sizeof *y);
            continue;
        }
        for (size_t i = 0; i < d; i++)
            y[i] = scale * (after[k * d + i] - stream[k * d + i]);
    }
}

static void
tap_cross(struct hess_walk *w, const struct fwd_tapped *t)
{
    const size_t T = t->r->T, d = w->m->c.d;

    for (size_t b = 0; b < t->r->B; b++) {
        set_lack(w, t, b);
        w->energy[t->input] += kern.sumsq(w->lack, T * d);
        hess_cross(w->pool, w->cross[t->input], d, w->lack, t->n,
            t->x + b * t->Tp * t->ld, t->ld, T);
    }
}

static void
tap_hessian(void *ctx, const struct fwd_tapped *t)
{
    struct hess_walk *w = ctx;
    const double wall = clock_now(), cpu = clock_cpu();

    if (w->cross[t->input] != NULL)
        tap_cross(w, t);
    if (w->H[t->input] != NULL)
        hess_tap(w->pool,
            (struct hess_sum){ .d = w->H[t->input], .quick = w->quick }, t);
    w->seconds += clock_now() - wall;
    w->cpu += clock_cpu() - cpu;
}

static void
tap_between(void *ctx, const struct fwd_tapped *t)
{
    const struct hess_walk *w = ctx;
    const size_t row = t->r->T * w->m->c.d;

    if (t->input == FWD_MLP)
        memcpy(w->between + w->row * row, t->stream,
            t->r->B * row * sizeof *w->between);
}

static void
pass_rows(struct hess_walk *w, size_t i, int looking)
{
    fwd_tap(w->f,
        looking                  ? tap_hessian
            : w->between != NULL ? tap_between
                                 : NULL,
        w);
    for (size_t r0 = 0; r0 < w->c->R; r0 += w->chunk) {
        const struct rows r = calib_rows(w->c, r0, w->chunk);
        float *x = w->x + r0 * w->c->T * w->m->c.d;

        w->row = r0;
        fwd_block(w->f, i, &r, x, looking ? w->y : x);
    }
}

void
hess_walk_look(struct hess_walk *w, size_t i)
{
    pass_rows(w, i, 1);
    for (int k = 0; k < FWD_INPUTS; k++)
        if (w->H[k] != NULL)
            hess_finish(w->pool, (struct hess_sum){ .d = w->H[k] },
                input_width(w->m, i, k));
}

void
hess_walk_on(struct hess_walk *w, size_t i)
{
    pass_rows(w, i, 0);
}
