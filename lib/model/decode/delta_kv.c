/* States of texts for generation; see delta_kv.h. */
#include "model/decode/delta_kv.h"
#include "model/config/delta_config.h"

#include <string.h>

static size_t
state_floats(const struct config *c)
{
    return c->delta.values * delta_state(&c->delta);
}

static size_t
window_floats(const struct config *c)
{
    return (c->delta.conv - 1) * delta_mixed(c);
}

void
delta_kv_lay(struct delta_kv *d, const struct model *m, size_t texts,
    size_t rows, struct arena *a)
{
    const struct config *c = &m->c;

    d->c = c;
    d->blocks = 0;
    if (!config_has_delta(c))
        return;
    d->block = arena_alloc(a, c->L, sizeof *d->block);
    for (size_t i = 0; i < c->L; i++) {
        if (d->block != NULL)
            d->block[i] = d->blocks;
        d->blocks += m->block[i].linear;
    }
    d->state =
        arena_alloc(a, texts * d->blocks, state_floats(c) * sizeof(float));
    d->window =
        arena_alloc(a, texts * d->blocks, window_floats(c) * sizeof(float));
    d->mix = arena_alloc(a, rows * delta_mixed(c), sizeof(float));
    d->rate = arena_alloc(a, rows * 2 * c->delta.values, sizeof(float));
    delta_lay(&d->w, c, a);
}

struct delta_job {
    struct delta_kv *d;
    size_t i; /* number of the block among those with the rule */
    const struct delta_run *run;
    const float *raw;
    float *att, *y;
};

static float *
window_of(const struct delta_job *j, size_t text)
{
    return j->d->window + (text * j->d->blocks + j->i) * window_floats(j->d->c);
}

/* Set a text's window to the last conv - 1 rows of the old window followed by
 * the run. */
static void
move_window(const struct delta_job *j, const struct delta_run *r)
{
    const size_t keep = j->d->c->delta.conv - 1, C = j->d->w.C;
    const size_t new = r->n < keep ? r->n : keep, old = keep - new;
    float *w = window_of(j, r->text);

    memmove(w, w + new *C, old * C * sizeof *w);
    for (size_t k = 0; k < new; k++)
        memcpy(w + (old + k) * C,
            j->raw + (r->row + r->n - new + k) * delta_raw(j->d->c),
            C * sizeof *w);
}

/* Make mix and rate of a run's rows, then move its text's window on. */
static void
mix_run(void *ctx, size_t task, size_t worker)
{
    const struct delta_job *j = ctx;
    const struct delta_run *r = &j->run[task];
    const struct delta_weights *w = &j->d->w;
    const size_t conv = w->s->conv, wide = delta_raw(j->d->c);
    const float *old = window_of(j, r->text), *back[DELTA_MOST_TAPS];

    (void)worker;
    for (size_t t = 0; t < r->n; t++) {
        const size_t at = r->row + t;
        float *mix = j->d->mix + at * w->C;

        for (size_t k = 0; k < conv; k++)
            back[k] = k > r->pos + t ? NULL
                : k <= t             ? j->raw + (at - k) * wide
                                     : old + (conv - 1 + t - k) * w->C;
        delta_convolve(w, back, mix);
        delta_token(w, mix, j->raw + at * wide, mix,
            j->d->rate + at * 2 * w->s->values);
    }
    move_window(j, r);
}

/* Run a value head over the rows of a run. */
static void
delta_head_run(void *ctx, size_t task, size_t worker)
{
    const struct delta_job *j = ctx;
    const struct delta_weights *w = &j->d->w;
    const size_t values = w->s->values, h = task % values;
    const struct delta_run *r = &j->run[task / values];
    float *state = j->d->state +
        (r->text * j->d->blocks + j->i) * state_floats(j->d->c) +
        h * delta_state(w->s);

    (void)worker;
    if (r->pos == 0)
        memset(state, 0, delta_state(w->s) * sizeof *state);
    delta_head(w, h, r->n, j->d->mix + r->row * w->C,
        j->d->rate + r->row * 2 * values, state,
        j->att + r->row * values * w->s->dv);
}

static void
gate_run(void *ctx, size_t task, size_t worker)
{
    const struct delta_job *j = ctx;
    const struct delta_run *r = &j->run[task];
    const struct delta_weights *w = &j->d->w;
    const size_t n = w->s->values * w->s->dv;

    (void)worker;
    for (size_t t = r->row; t < r->row + r->n; t++)
        delta_gate(w, j->att + t * n, j->raw + t * delta_raw(j->d->c) + w->C,
            j->y + t * n);
}

void
delta_kv_block(struct delta_kv *d, struct pool *pool, size_t i,
    const float *const *vec, const struct delta_run *run, size_t n,
    const float *raw, float *att, float *y)
{
    struct delta_job j = { d, d->block[i], run, raw, att, y };

    delta_take(&d->w, d->c, vec);
    pool_run(pool, n, mix_run, &j);
    pool_run(pool, n * d->c->delta.values, delta_head_run, &j);
    pool_run(pool, n, gate_run, &j);
}
