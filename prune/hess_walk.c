/* Hessians block by block: see hess_walk.h. */
#include "hess_walk.h"
#include "base/clock.h"
#include "base/mem.h"

#include <stdlib.h>

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
}

void
hess_walk_release(struct hess_walk *w)
{
    fwd_free(w->f);
    free(w->x);
    free(w->y);
}

size_t
hess_walk_bytes(const struct model *m, const struct calib *c)
{
    return (c->R + calib_chunk(c)) * c->T * m->c.d * sizeof(float);
}

void
hess_walk_begin(struct hess_walk *w)
{
    for (size_t r0 = 0; r0 < w->c->R; r0 += w->chunk) {
        const struct rows r = calib_rows(w->c, r0, w->chunk);

        fwd_embed(w->f, &r, w->x + r0 * w->c->T * w->m->c.d);
    }
}

static void
tap_hessian(void *ctx, const struct fwd_tapped *t)
{
    struct hess_walk *w = ctx;
    const double wall = clock_now(), cpu = clock_cpu();

    if (w->H[t->input] != NULL)
        hess_tap(w->pool, (struct hess_sum){ .d = w->H[t->input] }, t);
    w->seconds += clock_now() - wall;
    w->cpu += clock_cpu() - cpu;
}

static void
pass_rows(struct hess_walk *w, size_t i, int looking)
{
    fwd_tap(w->f, looking ? tap_hessian : NULL, w);
    for (size_t r0 = 0; r0 < w->c->R; r0 += w->chunk) {
        const struct rows r = calib_rows(w->c, r0, w->chunk);
        float *x = w->x + r0 * w->c->T * w->m->c.d;

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
