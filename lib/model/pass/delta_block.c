/* The gated delta rule, a mixer, forward; see delta.h and run.h. */
#include "model/pass/delta_block.h"
#include "base/profile.h"
#include "kern/kern.h"
#include "model/config/delta_config.h"
#include "model/pass/attention.h"

#include <string.h>

static int
delta_has(const struct config *c, const struct block_shape *b)
{
    (void)c;
    return b->linear;
}

static void
delta_widths(const struct config *c, const struct block_shape *b,
    struct widths *w)
{
    const size_t n = c->delta.values * c->delta.dv;

    (void)b;
    raise_to(&w->qkv, delta_raw(c));
    raise_to(&w->att, n);
    raise_to(&w->gated, n);
    raise_to(&w->scratch, delta_state(&c->delta));
}

static void
delta_room_lay(struct fwd *f, size_t rows, int parts, struct arena *a)
{
    const struct config *c = &f->m->c;
    struct delta_room *d = room_make(&f->room[ROOM_DELTA], sizeof *d);

    (void)parts;
    d->mix = arena_alloc(a, rows * delta_mixed(c), sizeof(float));
    d->rate = arena_alloc(a, rows * 2 * c->delta.values, sizeof(float));
    delta_lay(&d->w, c, a);
}

struct delta_room *
delta_room(const struct fwd *f)
{
    return f->room[ROOM_DELTA];
}

/* The products of the token that comes `back` tokens before row r; NULL: the
 * text begins later.  A text begins with its stem. */
static const float *
row_before(const struct run *u, const struct row *r, size_t back)
{
    const size_t p = position(u->f, u->r, r->b, r->t);
    const size_t stem = u->f->stem != NULL ? u->f->nstem[r->tok] : 0;
    size_t at = r->t - back;

    if (back > p)
        return NULL;
    if (p - back < stem)
        at = u->f->stem[r->tok] + (p - back);
    return u->a.qkv + (r->b * u->c.Tp + at) * u->qkv;
}

void
delta_convolve_at(const struct run *u, const struct row *r, float *x)
{
    const struct delta_weights *w = &delta_room(u->f)->w;
    const float *back[DELTA_MOST_TAPS];

    for (size_t j = 0; j < w->s->conv; j++)
        back[j] = row_before(u, r, j);
    delta_convolve(w, back, x);
}

static void
mix_row(struct run *u, const struct row *r)
{
    const struct delta_weights *w = &delta_room(u->f)->w;
    float *mix = delta_room(u->f)->mix + r->at * w->C;

    if (!r->live)
        return;
    delta_convolve_at(u, r, mix);
    delta_token(w, mix, u->a.qkv + r->at * u->qkv, mix,
        delta_room(u->f)->rate + r->at * 2 * w->s->values);
}

void
delta_mix(struct run *u, const struct branch *in)
{
    const struct config *c = &u->f->m->c;

    delta_take(&delta_room(u->f)->w, c, u->vec);
    stage_rows(u, in, mix_row, "forward convolution",
        (c->delta.conv + 2) * delta_mixed(c));
}

/* Run a head over all texts of a row; before a text with a stem, over that stem
 * again. */
static void
run_head(void *ctx, size_t task, size_t worker)
{
    struct run *u = ctx;
    const struct delta_weights *w = &delta_room(u->f)->w;
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

            delta_head(w, h, u->f->nstem[k], delta_room(u->f)->mix + at * w->C,
                delta_room(u->f)->rate + at * 2 * s->values, state, NULL);
        }
        delta_head(w, h, n, delta_room(u->f)->mix + (row + t) * w->C,
            delta_room(u->f)->rate + (row + t) * 2 * s->values, state,
            u->a.att + (row + t) * out);
    }
}

void
batch_rule(struct run *u)
{
    const struct delta_shape *s = &u->f->m->c.delta;
    double begin;

    run_stages(u);
    delta_mix(u, &u->mixer);
    run_stages(u);
    begin = profile_begin();
    pool_run(u->f->pool, u->r->B * s->values, run_head, u);
    profile_end("forward delta rule", begin,
        6.0 * (double)(u->r->B * u->r->T * s->values * s->dk * s->dv), 0.0);
}

/* gated = norm(o) SiLU(z); rows of padding are zero */
static void
gated_norm_row(struct run *u, const struct row *r)
{
    const struct delta_weights *w = &delta_room(u->f)->w;
    const size_t n = w->s->values * w->s->dv;
    float *att = u->a.att + r->at * n, *gated = u->f->gated + r->at * n;

    if (r->live) {
        delta_gate(w, att, u->a.qkv + r->at * u->qkv + w->C, gated);
    } else {
        memset(att, 0, n * sizeof *att);
        memset(gated, 0, n * sizeof *gated);
    }
}

static void
delta_forward(struct run *u, const struct branch *in)
{
    const struct delta_shape *s = &u->f->m->c.delta;
    const struct product out = { W_DELTA_OUT, u->f->gated, in->out,
        u->f->m->c.d, NULL };
    struct product p[4];

    products_abreast(u, W_DELTA_MIX, 4, in->xn, u->a.qkv, NULL, p);
    stage_products(u, in, p, 4, "forward qkv");
    u->engine->rule(u);
    stage_rows(u, in, gated_norm_row, "forward gated norm",
        3 * s->values * s->dv);
    stage_products(u, in, &out, 1, "forward o");
}

const struct part part_delta = { delta_has, delta_widths, delta_room_lay,
    delta_lay_back, delta_forward, delta_backward };
