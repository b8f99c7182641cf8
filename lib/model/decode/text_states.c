/* What generation keeps of each text for blocks without attention; see
 * text_states.h. */
#include "model/decode/text_states.h"
#include "model/config/delta_config.h"
#include "model/decode/forward_kv.h"
#include "model/pass/conv.h"
#include "model/pass/delta.h"

#include <string.h>

static size_t
state_floats(const struct config *c)
{
    return c->delta.values * delta_state(&c->delta);
}

/* Rows of a window: the tokens before the next one that the convolution reads.
 * kv_cut takes back up to KV_BACK tokens of a text, unless the model has the
 * gated delta rule, whose states cannot be taken back; so without that rule the
 * window has KV_BACK more. */
static size_t
window_rows(const struct config *c)
{
    return c->conv - 1 + (config_has_delta(c) ? 0 : KV_BACK);
}

void
text_states_lay(struct text_states *d, const struct model *m, size_t texts,
    struct arena *a)
{
    const struct config *c = &m->c;

    d->c = c;
    d->blocks = 0;
    if (c->conv == 0)
        return;
    d->block = arena_alloc(a, c->L, sizeof *d->block);
    for (size_t i = 0; i < c->L; i++) {
        if (d->block != NULL)
            d->block[i] = d->blocks;
        d->blocks += m->block[i].linear;
    }
    d->state =
        arena_alloc(a, texts * d->blocks, state_floats(c) * sizeof(float));
    d->window = arena_alloc(a, texts * d->blocks * window_rows(c),
        conv_channels(c) * sizeof(float));
}

struct states_job {
    const struct text_states *d;
    struct run *u;
    const struct text_run *run;
};

/* The numbers of a text in block i: `all` has n for each text and block. */
static float *
text_part(const struct text_states *d, size_t i, float *all, size_t text,
    size_t n)
{
    return all + (text * d->blocks + d->block[i]) * n;
}

/* ---- what the convolution spans ---- */

/* The row of a text's window that keeps the token at position p. */
static float *
kept_token(const struct text_states *d, const struct run *u, size_t text,
    size_t p)
{
    const size_t rows = window_rows(d->c), C = conv_of(u->f)->C;

    return text_part(d, u->i, d->window, text, rows * C) + p % rows * C;
}

/* Copy the last rows of a run to its text's window. */
static void
keep_run(void *ctx, size_t task, size_t worker)
{
    const struct states_job *j = ctx;
    const struct text_run *r = &j->run[task];
    const struct conv *k = conv_of(j->u->f);
    const size_t rows = window_rows(j->d->c);

    (void)worker;
    for (size_t t = r->n > rows ? r->n - rows : 0; t < r->n; t++)
        memcpy(kept_token(j->d, j->u, r->text, r->pos + t),
            k->x + (r->row + t) * k->ldx, k->C * sizeof(float));
}

void
text_states_keep(const struct text_states *d, struct run *u,
    const struct text_run *run, size_t n)
{
    struct states_job j = { d, u, run };

    pool_run(u->f->pool, n, keep_run, &j);
}

const float *
text_states_before(const struct text_states *d, const struct run *u,
    const struct text_run *run, size_t row, size_t back)
{
    const struct conv *k = conv_of(u->f);
    const size_t t = row - run->row;

    return back > run->pos + t ? NULL
        : back <= t            ? k->x + (row - back) * k->ldx
                    : kept_token(d, u, run->text, run->pos + t - back);
}

/* ---- the gated delta rule ---- */

/* Run a value head over the rows of a run. */
static void
delta_head_run(void *ctx, size_t task, size_t worker)
{
    const struct states_job *j = ctx;
    const struct delta_room *w = delta_room(j->u->f);
    const size_t values = w->s->values, h = task % values;
    const struct text_run *r = &j->run[task / values];
    float *state =
        text_part(j->d, j->u->i, j->d->state, r->text, state_floats(j->d->c)) +
        h * delta_state(w->s);

    (void)worker;
    if (r->pos == 0)
        memset(state, 0, delta_state(w->s) * sizeof *state);
    delta_head(w, h, r->n, w->mix + r->row * w->C,
        w->rate + r->row * 2 * values, state,
        j->u->a.att + r->row * values * w->s->dv);
}

void
text_states_rule(const struct text_states *d, struct run *u,
    const struct text_run *run, size_t n)
{
    struct states_job j = { d, u, run };

    delta_mix(u, &u->mixer);
    pool_run(u->f->pool, n * d->c->delta.values, delta_head_run, &j);
}
