/* The gated delta rule, a mixer: token by token, and forward over a batch; see
 * delta.h and run.h. */
#include "model/pass/delta.h"
#include "base/profile.h"
#include "kern/kern.h"
#include "model/config/delta_config.h"
#include "model/pass/conv.h"

#include <math.h>
#include <string.h>

size_t
delta_raw(const struct config *c)
{
    return conv_channels(c) + c->delta.values * (c->delta.dv + 2);
}

static size_t
column_blocks(const struct delta_shape *s)
{
    return (s->dv + DELTA_COLS - 1) / DELTA_COLS;
}

size_t
delta_state(const struct delta_shape *s)
{
    return column_blocks(s) * s->dk * DELTA_COLS;
}

size_t
delta_key(const struct delta_shape *s, size_t head)
{
    return s->tiled ? head % s->keys : head / (s->values / s->keys);
}

void
delta_take(struct delta_room *w, const struct config *c,
    const float *const *vec)
{
    w->s = &c->delta;
    w->C = conv_channels(c);
    w->dt = vec[W_DELTA_DT];
    w->log = vec[W_DELTA_LOG];
    w->norm = vec[W_DELTA_NORM];
    w->eps = (float)c->eps;
}

double
delta_softplus(double x)
{
    return x > 20.0 ? x : log1p(exp(x));
}

void
delta_token(const struct delta_room *w, const float *x, const float *raw,
    float *mix, float *rate)
{
    const struct delta_shape *s = w->s;
    const float *b = raw + w->C + s->values * s->dv, *a = b + s->values;

    kern.silu_mul(mix, x, w->ones, w->C);
    for (size_t h = 0; h < 2 * s->keys; h++) {
        float *k = mix + h * s->dk;
        const double n = kern.sumsq(k, s->dk) + DELTA_EPS;
        const double by = h < s->keys ? (double)s->dk : 1.0;

        kern.scale(k, (float)(1.0 / sqrt(n * by)), s->dk);
    }
    for (size_t h = 0; h < s->values; h++) {
        rate[h] = (float)exp(-exp(w->log[h]) * delta_softplus(a[h] + w->dt[h]));
        rate[s->values + h] = (float)(1.0 / (1.0 + exp(-b[h])));
    }
}

void
delta_head(const struct delta_room *w, size_t h, size_t n, const float *mix,
    const float *rate, float *state, float *out)
{
    const struct delta_shape *s = w->s;
    const size_t key = delta_key(s, h), values = s->values * s->dv;
    float v[DELTA_COLS] = { 0 }, r[DELTA_COLS], o[DELTA_COLS];

    for (size_t c = 0; c < s->dv; c += DELTA_COLS) {
        const size_t cols = s->dv - c < DELTA_COLS ? s->dv - c : DELTA_COLS;

        memset(v, 0, sizeof v);
        for (size_t t = 0; t < n; t++) {
            const float *q = mix + t * w->C + key * s->dk;
            const float *from = mix + t * w->C + 2 * s->keys * s->dk;
            const float *by = rate + t * 2 * s->values + h;

            memcpy(v, from + h * s->dv + c, cols * sizeof *v);
            kern.delta(state, state, s->dk, out != NULL ? q : NULL,
                q + s->keys * s->dk, v, by[0], by[s->values], r, o);
            if (out != NULL)
                memcpy(out + t * values + h * s->dv + c, o, cols * sizeof *o);
        }
        state += s->dk * DELTA_COLS;
    }
}

void
delta_gate(const struct delta_room *w, const float *o, const float *z, float *y)
{
    const struct delta_shape *s = w->s;

    for (size_t h = 0; h < s->values; h++)
        kern.rmsnorm(y + h * s->dv, o + h * s->dv, w->norm, s->dv, w->eps);
    kern.silu_mul(y, z, y, s->values * s->dv);
}

/* ---- the part ---- */

static int
delta_has(const struct config *c, const struct block_shape *b)
{
    return b->linear && config_has_delta(c);
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
delta_lay(struct fwd *f, size_t rows, int parts, struct arena *a)
{
    const struct config *c = &f->m->c;
    const size_t C = conv_channels(c);
    struct delta_room *d = room_make(&f->room[ROOM_DELTA], sizeof *d);
    float *ones = arena_alloc(a, C, sizeof *ones);

    (void)parts;
    for (size_t i = 0; ones != NULL && i < C; i++)
        ones[i] = 1.0f;
    d->ones = ones;
    conv_lay(f, a);
    d->mix = arena_alloc(a, rows * C, sizeof(float));
    d->rate = arena_alloc(a, rows * 2 * c->delta.values, sizeof(float));
}

struct delta_room *
delta_room(const struct fwd *f)
{
    return f->room[ROOM_DELTA];
}

static void
mix_row(struct run *u, const struct run_row *r)
{
    const struct delta_room *w = delta_room(u->f);
    float *mix = w->mix + r->at * w->C;

    if (!r->live)
        return;
    conv_row(u, r, mix);
    delta_token(w, mix, u->a.qkv + r->at * u->qkv, mix,
        w->rate + r->at * 2 * w->s->values);
}

void
delta_mix(struct run *u, const struct branch *in)
{
    delta_take(delta_room(u->f), &u->f->m->c, u->vec);
    conv_take(u, u->a.qkv, u->qkv);
    conv_stage(u, in, mix_row);
}

/* Run a head over all texts of a row; before a text with a stem, over that stem
 * again. */
static void
run_head(void *ctx, size_t task, size_t worker)
{
    struct run *u = ctx;
    const struct delta_room *w = delta_room(u->f);
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

            delta_head(w, h, u->f->nstem[k], w->mix + at * w->C,
                w->rate + at * 2 * s->values, state, NULL);
        }
        delta_head(w, h, n, w->mix + (row + t) * w->C,
            w->rate + (row + t) * 2 * s->values, state,
            u->a.att + (row + t) * out);
    }
}

void
batch_rule(struct run *u)
{
    const struct delta_shape *s = &u->f->m->c.delta;
    double begin;

    delta_mix(u, &u->mixer);
    begin = profile_begin();
    pool_run(u->f->pool, u->r->B * s->values, run_head, u);
    profile_end("forward delta rule", begin,
        6.0 * (double)(u->r->B * u->r->T * s->values * s->dk * s->dv), 0.0);
}

/* gated = norm(o) SiLU(z); rows of padding are zero */
static void
gated_norm_row(struct run *u, const struct run_row *r)
{
    const struct delta_room *w = delta_room(u->f);
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

const struct part part_delta = { delta_has, delta_widths, delta_lay,
    delta_lay_back, delta_forward, delta_backward };
