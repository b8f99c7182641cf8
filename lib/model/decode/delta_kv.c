/* States of texts for generation; see delta_kv.h. */
#include "model/decode/delta_kv.h"
#include "model/config/delta_config.h"
#include "model/pass/delta.h"

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
    struct arena *a)
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
}

struct delta_job {
    const struct delta_kv *d;
    struct run *u;
    const struct delta_run *run;
};

/* The numbers of a text in the block that is run: `all` has n for each text and
 * block. */
static float *
text_part(const struct delta_job *j, float *all, size_t text, size_t n)
{
    return all + (text * j->d->blocks + j->d->block[j->u->i]) * n;
}

/* Set a text's window to the last conv - 1 rows of the old window followed by
 * the run. */
static void
move_window(const struct delta_job *j, const struct delta_run *r, float *w)
{
    const size_t keep = j->d->c->delta.conv - 1, C = delta_room(j->u->f)->C;
    const size_t new = r->n < keep ? r->n : keep, old = keep - new;

    memmove(w, w + new *C, old * C * sizeof *w);
    for (size_t k = 0; k < new; k++)
        memcpy(w + (old + k) * C,
            j->u->a.qkv + (r->row + r->n - new + k) * j->u->qkv, C * sizeof *w);
}

/* Make mix and rate of a run's rows, then move its text's window on. */
static void
mix_run(void *ctx, size_t task, size_t worker)
{
    const struct delta_job *j = ctx;
    const struct delta_run *r = &j->run[task];
    const struct delta_room *w = delta_room(j->u->f);
    const size_t conv = w->s->conv, wide = j->u->qkv;
    float *old = text_part(j, j->d->window, r->text, window_floats(j->d->c));
    const float *raw = j->u->a.qkv, *back[DELTA_MOST_TAPS];

    (void)worker;
    for (size_t t = 0; t < r->n; t++) {
        const size_t at = r->row + t;
        float *mix = w->mix + at * w->C;

        for (size_t k = 0; k < conv; k++)
            back[k] = k > r->pos + t ? NULL
                : k <= t             ? raw + (at - k) * wide
                                     : old + (conv - 1 + t - k) * w->C;
        delta_convolve(w, back, mix);
        delta_token(w, mix, raw + at * wide, mix,
            w->rate + at * 2 * w->s->values);
    }
    move_window(j, r, old);
}

/* Run a value head over the rows of a run. */
static void
delta_head_run(void *ctx, size_t task, size_t worker)
{
    const struct delta_job *j = ctx;
    const struct delta_room *w = delta_room(j->u->f);
    const size_t values = w->s->values, h = task % values;
    const struct delta_run *r = &j->run[task / values];
    float *state = text_part(j, j->d->state, r->text, state_floats(j->d->c)) +
        h * delta_state(w->s);

    (void)worker;
    if (r->pos == 0)
        memset(state, 0, delta_state(w->s) * sizeof *state);
    delta_head(w, h, r->n, w->mix + r->row * w->C,
        w->rate + r->row * 2 * values, state,
        j->u->a.att + r->row * values * w->s->dv);
}

void
delta_kv_rule(const struct delta_kv *d, struct run *u,
    const struct delta_run *run, size_t n)
{
    struct delta_job j = { d, u, run };

    delta_take(delta_room(u->f), d->c, u->vec);
    pool_run(u->f->pool, n, mix_run, &j);
    pool_run(u->f->pool, n * d->c->delta.values, delta_head_run, &j);
}
