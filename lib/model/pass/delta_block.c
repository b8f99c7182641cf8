/* The gated delta rule in a block's forward pass; see delta_block.h. */
#include "model/pass/delta_block.h"
#include "base/profile.h"
#include "kern/kern.h"
#include "model/config/delta_config.h"

#include <string.h>

/* The products of the token that comes `back` tokens before token t of row b;
 * NULL: the text begins later.  A text begins with its stem. */
static const float *
row_before(const struct run *u, size_t b, size_t t, size_t back)
{
    const size_t p = position(u->f, u->r, b, t), k = b * u->r->T + t;
    const size_t stem = u->f->stem != NULL ? u->f->nstem[k] : 0;
    size_t at = t - back;

    if (back > p)
        return NULL;
    if (p - back < stem)
        at = u->f->stem[k] + (p - back);
    return u->a.qkv + (b * u->c.Tp + at) * u->qkv;
}

void
delta_convolve_at(const struct run *u, size_t b, size_t t, float *x)
{
    const struct delta_weights *w = &u->f->delta;
    const float *back[DELTA_MOST_TAPS];

    for (size_t j = 0; j < w->s->conv; j++)
        back[j] = row_before(u, b, t, j);
    delta_convolve(w, back, x);
}

/* mix and rate of some tokens */
static void
do_mix(struct run *u, size_t b, size_t t0, size_t part, size_t worker)
{
    const struct delta_weights *w = &u->f->delta;

    (void)worker;
    for (size_t t = t0 + part * CHUNK; t < t0 + (part + 1) * CHUNK; t++) {
        const size_t at = b * u->c.Tp + t;
        float *mix = u->f->mix + at * w->C;

        if (!row_live(u->r, b, t))
            continue;
        delta_convolve_at(u, b, t, mix);
        delta_token(w, mix, u->a.qkv + at * u->qkv, mix,
            u->f->rate + at * 2 * w->s->values);
    }
}

/* Run a head over all texts of a row; before a text with a stem, over that stem
 * again. */
static void
run_head(void *ctx, size_t task, size_t worker)
{
    struct run *u = ctx;
    const struct delta_weights *w = &u->f->delta;
    const struct delta_shape *s = w->s;
    const size_t b = task / s->values, h = task % s->values, T = u->r->T;
    const size_t row = b * u->c.Tp, out = s->values * s->dv;
    float *state = u->f->scratch[worker];
    size_t n;

    for (size_t t = 0; t < T; t += n) {
        const size_t k = b * T + t;

        for (n = 1; t + n < T && u->r->first[k + n] == u->r->first[k]; n++)
            ;
        if (!row_live(u->r, b, t))
            continue;
        memset(state, 0, delta_state(s) * sizeof *state);
        if (u->f->stem != NULL && u->f->nstem[k] > 0) {
            const size_t at = row + u->f->stem[k];

            delta_head(w, h, u->f->nstem[k], u->f->mix + at * w->C,
                u->f->rate + at * 2 * s->values, state, NULL);
        }
        delta_head(w, h, n, u->f->mix + (row + t) * w->C,
            u->f->rate + (row + t) * 2 * s->values, state,
            u->a.att + (row + t) * out);
    }
}

/* gated = norm(o) SiLU(z); rows of padding are zero */
static void
do_gated(struct run *u, size_t b, size_t t0, size_t part, size_t worker)
{
    const struct delta_weights *w = &u->f->delta;
    const size_t n = w->s->values * w->s->dv;

    (void)worker;
    for (size_t t = t0 + part * CHUNK; t < t0 + (part + 1) * CHUNK; t++) {
        const size_t at = b * u->c.Tp + t;

        if (row_live(u->r, b, t)) {
            delta_gate(w, u->a.att + at * n, u->a.qkv + at * u->qkv + w->C,
                u->f->gated + at * n);
        } else {
            memset(u->a.att + at * n, 0, n * sizeof(float));
            memset(u->f->gated + at * n, 0, n * sizeof(float));
        }
    }
}

void
delta_block_mix(struct run *u)
{
    const size_t chunks = u->c.tile / CHUNK;
    const struct config *c = &u->f->m->c;
    const struct stage mix = { do_mix, chunks, "forward convolution", 0,
        (c->delta.conv + 2) * delta_mixed(c) };

    delta_take(&u->f->delta, c, u->vec);
    run_stages(u, &mix, 1);
}

void
delta_block_forward(struct run *u)
{
    const size_t chunks = u->c.tile / CHUNK;
    const struct delta_shape *s = &u->f->m->c.delta;
    const struct stage gated = { do_gated, chunks, "forward gated norm", 0,
        3 * s->values * s->dv };
    const double begin = profile_begin();

    delta_block_mix(u);
    pool_run(u->f->pool, u->r->B * s->values, run_head, u);
    profile_end("forward delta rule", begin,
        6.0 * (double)(u->r->B * u->r->T * s->values * s->dk * s->dv), 0.0);
    run_stages(u, &gated, 1);
}
