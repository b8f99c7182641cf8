/* The gated delta rule in a block's backward pass; see delta.h. */
#include "model/pass/delta.h"
#include "model/pass/backward_block.h"
#include "base/profile.h"
#include "kern/kern.h"
#include "model/config/delta_config.h"
#include "model/pass/conv.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Tokens whose states are computed again together. */
enum { AGAIN = 16 };

/* Floats of a state's DELTA_COLS columns. */
static size_t
part_floats(const struct delta_shape *s)
{
    return s->dk * DELTA_COLS;
}

static size_t
again_parts(size_t T)
{
    return (T + AGAIN - 1) / AGAIN;
}

/* Gradients, g->room[ROOM_DELTA]. */
struct delta_grads {
    float *dmix;  /* [B,Tp,C] of mix, then of the convolution's outputs */
    float *drate; /* [B,Tp,2*values] of decays and betas */
    float *dlog;  /* [B,Tp,values] each token's term for W_DELTA_LOG */
    float *dnorm; /* [B,Tp,values*dv] of the outputs of heads' norms */
    float *rstd;  /* [B,T,values] 1/rms in heads' norms */
    float **room; /* [threads] room for states */
};

void
delta_lay_back(struct grads *grads, const struct fwd *f, size_t rows,
    size_t tokens, struct arena *a)
{
    const struct config *c = &f->m->c;
    const struct delta_shape *s = &c->delta;
    const size_t part = part_floats(s), kept = AGAIN + 2 + again_parts(f->T);
    struct delta_grads *g = room_make(&grads->room[ROOM_DELTA], sizeof *g);

    g->dmix = arena_alloc(a, rows * conv_channels(c), sizeof(float));
    g->drate = arena_alloc(a, rows * 2 * s->values, sizeof(float));
    g->dlog = arena_alloc(a, rows * s->values, sizeof(float));
    g->dnorm = arena_alloc(a, rows * s->values * s->dv, sizeof(float));
    g->rstd = arena_alloc(a, tokens * s->values, sizeof(float));
    g->room = lay_each(a, pool_size(f->pool),
        kept * part + AGAIN * DELTA_COLS + 2 * conv_channels(c));
}

static const struct delta_grads *
delta_grads(const struct run *u)
{
    return u->g->room[ROOM_DELTA];
}

/* ---- outputs ---- */

/* From the gradient of the gated outputs compute the gradients of z and of the
 * rule's outputs; compute the gated outputs again. */
static void
gated_norm_back(struct run *u, const struct run_row *r)
{
    const struct delta_room *w = delta_room(u->f);
    const struct delta_shape *s = w->s;
    const size_t n = s->values * s->dv, at = r->at * n;
    const float *z = u->a.qkv + r->at * u->qkv + w->C, *o = u->a.att + at;
    float *y = u->f->gated + at, *dy = u->g->datt + at;
    float *dn = delta_grads(u)->dnorm + at;

    if (!r->live) {
        memset(y, 0, n * sizeof *y);
        return;
    }
    for (size_t h = 0; h < s->values; h++)
        kern.rmsnorm(y + h * s->dv, o + h * s->dv, w->norm, s->dv, w->eps);
    kern.silu_mul_bwd(u->g->dqkv + r->at * u->qkv + w->C, dn, dy, z, y, n);
    for (size_t h = 0; h < s->values; h++)
        delta_grads(u)->rstd[r->tok * s->values + h] =
            kern.rmsnorm_bwd(dy + h * s->dv, dn + h * s->dv, o + h * s->dv,
                w->norm, s->dv, w->eps, NULL);
    kern.silu_mul(y, z, y, n);
}

/* ---- the rule ---- */

/* Columns col..col+cols-1 of a value head's state, and a text of n tokens that
 * begins at row `row` of the padded arrays. */
struct delta_part {
    size_t row, n;
    size_t head, col, cols;
};

/* Copy the columns of part p from `from` [dv] (v, or the gradient of o, of one
 * token and head) to `to` [DELTA_COLS], and set the rest of `to` to zero. */
static void
take_columns(const struct delta_part *p, const float *from, float *to)
{
    memset(to, 0, DELTA_COLS * sizeof *to);
    memcpy(to, from + p->col, p->cols * sizeof *to);
}

/* From `from`, the state before token t of a text, compute `to`, the state
 * after it. */
static void
step_state(const struct run *u, const struct delta_part *p, size_t t,
    const float *from, float *to, float *r)
{
    const struct delta_room *w = delta_room(u->f);
    const struct delta_shape *s = w->s;
    const float *mix = w->mix + (p->row + t) * w->C;
    const float *rate = w->rate + (p->row + t) * 2 * s->values + p->head;
    const float *k = mix + (s->keys + delta_key(s, p->head)) * s->dk;
    float v[DELTA_COLS];

    take_columns(p, mix + 2 * s->keys * s->dk + p->head * s->dv, v);
    kern.delta(to, from, s->dk, NULL, k, v, rate[0], rate[s->values], r, NULL);
}

/* Run the rule backward through token t, from the state `from` before it. */
static void
token_back(const struct run *u, const struct delta_part *p, size_t t,
    const float *from, const float *r, float *ds)
{
    const struct delta_room *w = delta_room(u->f);
    const struct delta_shape *s = w->s;
    const size_t row = p->row + t, key = delta_key(s, p->head) * s->dk;
    const float *mix = w->mix + row * w->C;
    const float *rate = w->rate + row * 2 * s->values + p->head;
    float *dmix = delta_grads(u)->dmix + row * w->C;
    float *drate = delta_grads(u)->drate + row * 2 * s->values + p->head;
    float *to = dmix + 2 * s->keys * s->dk + p->head * s->dv + p->col;
    float dout[DELTA_COLS], dv[DELTA_COLS], add[2] = { 0 };

    take_columns(p, u->g->datt + (row * s->values + p->head) * s->dv, dout);
    kern.delta_bwd(ds, from, s->dk, mix + key, mix + s->keys * s->dk + key, r,
        rate[0], rate[s->values], dout, dmix + key,
        dmix + s->keys * s->dk + key, dv, add);
    memcpy(to, dv, p->cols * sizeof *dv);
    drate[0] += add[0];
    drate[s->values] += add[1];
}

/* Run the rule backward over some columns of a head's state.  The state before
 * every AGAIN-th token is kept; the states between are computed again. */
static void
part_back(const struct run *u, const struct delta_part *p, float *room)
{
    const size_t size = part_floats(delta_room(u->f)->s),
                 parts = again_parts(p->n);
    float *ds = room, *again = ds + size, *kept = again + (AGAIN + 1) * size;
    float *r = kept + again_parts(u->r->T) * size;

    memset(ds, 0, size * sizeof *ds);
    memset(again, 0, size * sizeof *ds);
    for (size_t t = 0; t < p->n; t++) {
        if (t % AGAIN == 0)
            memcpy(kept + t / AGAIN * size, again, size * sizeof *ds);
        if (t / AGAIN + 1 < parts)
            step_state(u, p, t, again, again, r);
    }
    for (size_t i = parts; i-- > 0;) {
        const size_t t0 = i * AGAIN;
        const size_t n = p->n - t0 < AGAIN ? p->n - t0 : AGAIN;

        memcpy(again, kept + i * size, size * sizeof *ds);
        for (size_t t = 0; t < n; t++)
            step_state(u, p, t0 + t, again + t * size, again + (t + 1) * size,
                r + t * DELTA_COLS);
        for (size_t t = n; t-- > 0;)
            token_back(u, p, t0 + t, again + t * size, r + t * DELTA_COLS, ds);
    }
}

/* Run the rule backward over a text for the value heads that use key head
 * `key`, in ascending order. */
static void
text_back(const struct run *u, size_t row, size_t n, size_t key, float *room)
{
    const struct delta_shape *s = delta_room(u->f)->s;

    for (size_t h = 0; h < s->values; h++)
        for (size_t c = 0; delta_key(s, h) == key && c < s->dv;
             c += DELTA_COLS) {
            const struct delta_part p = { row, n, h, c,
                s->dv - c < DELTA_COLS ? s->dv - c : DELTA_COLS };

            part_back(u, &p, room);
        }
}

static void
key_back(void *ctx, size_t task, size_t worker)
{
    struct run *u = ctx;
    const size_t keys = delta_room(u->f)->s->keys;
    const size_t b = task / keys, T = u->r->T;
    size_t n;

    for (size_t t = 0; t < T; t += n) {
        const uint32_t *first = u->r->first + b * T + t;

        for (n = 1; t + n < T && first[n] == first[0]; n++)
            ;
        if (row_live(u->r, b, t))
            text_back(u, b * u->c.Tp + t, n, task % keys,
                delta_grads(u)->room[worker]);
    }
}

/* ---- inputs ---- */

/* Backward through the division of q or k by its length: dy -= (dy . u) u with
 * u = x / |x|, then dy /= |x|.  x: the vector before the division; y: after
 * it. */
static void
through_length(const float *x, const float *y, float *dy, size_t n, int query)
{
    const double square = kern.sumsq(x, n) + DELTA_EPS;
    const double by = query ? 1.0 / sqrt((double)n) : 1.0;
    const double dot = kern.dot(dy, y, n);

    kern.scale(dy, (float)(by / sqrt(square)), n);
    kern.axpy(dy, (float)(-dot / square), x, n);
}

/* The gradients at a and b of a token, and for W_DELTA_LOG. */
static void
through_rates(const struct run *u, size_t at, const float *raw, float *draw)
{
    const struct delta_room *w = delta_room(u->f);
    const size_t n = w->s->values, skip = w->C + n * w->s->dv;
    const float *rate = w->rate + at * 2 * n;
    const float *drate = delta_grads(u)->drate + at * 2 * n;

    for (size_t h = 0; h < n; h++) {
        const double x = raw[skip + n + h] + w->dt[h], A = exp(w->log[h]);
        const double soft = delta_softplus(x);
        const double dg = (double)drate[h] * rate[h], beta = rate[n + h];

        draw[skip + h] = (float)(drate[n + h] * beta * (1.0 - beta));
        draw[skip + n + h] = (float)(-dg * A / (1.0 + exp(-x)));
        delta_grads(u)->dlog[at * n + h] = (float)(-dg * A * soft);
    }
}

/* From the gradients of mix and rate compute the gradients of the convolution,
 * b and a. */
static void
mix_row_back(struct run *u, const struct run_row *r)
{
    const struct delta_room *w = delta_room(u->f);
    const struct delta_shape *s = w->s;
    const float *mix = w->mix + r->at * w->C;
    float *dmix = delta_grads(u)->dmix + r->at * w->C;
    float *dqkv = u->g->dqkv + r->at * u->qkv;
    float *x = delta_grads(u)->room[r->worker], *act = x + w->C;

    if (!r->live) {
        memset(dqkv, 0, u->qkv * sizeof *dqkv);
        return;
    }
    conv_row(u, r, x);
    kern.silu_mul(act, x, w->ones, w->C);
    for (size_t h = 0; h < 2 * s->keys; h++)
        through_length(act + h * s->dk, mix + h * s->dk, dmix + h * s->dk,
            s->dk, h < s->keys);
    kern.silu_mul_bwd(dmix, act, dmix, x, w->ones, w->C);
    through_rates(u, r->at, u->a.qkv + r->at * u->qkv, dqkv);
}

/* The gradient at the products that the convolution reads. */
static void
convolve_row_back(struct run *u, const struct run_row *r)
{
    if (r->live)
        conv_back_row(u, r, delta_grads(u)->dmix, u->g->dqkv + r->at * u->qkv);
}

/* ---- weights ---- */

static void
delta_vectors(struct run *u)
{
    const struct delta_room *w = delta_room(u->f);
    const struct delta_shape *s = w->s;
    const struct delta_grads *g = delta_grads(u);
    const size_t n = s->values * s->dv;

    sum_bias(u, W_DELTA_DT, u->g->dqkv + w->C + n + s->values, u->qkv);
    sum_bias(u, W_DELTA_LOG, g->dlog, s->values);
    sum_vector(u, W_DELTA_NORM,
        (struct vec_grad){ .heads = s->values,
            .rstd = g->rstd,
            .ldr = s->values,
            .x = u->a.att,
            .x_rows = u->c.Tp,
            .ldx = n,
            .dy = g->dnorm,
            .lddy = n });
}

/* Run the rule backward: from g->datt, the gradient of f->gated, to g->delta's
 * dmix and drate. */
static void
rule_backward(struct run *u, const struct branch *in)
{
    const struct delta_shape *s = &u->f->m->c.delta;
    const size_t C = conv_channels(&u->f->m->c), n = s->values * s->dv;
    const size_t rows = u->r->B * u->c.Tp;
    double begin;

    delta_mix(u, in);
    stage_rows(u, in, gated_norm_back, "backward gated norm", 6 * n);
    run_stages(u);
    begin = profile_begin();
    memset(delta_grads(u)->dmix, 0, rows * C * sizeof(float));
    memset(delta_grads(u)->drate, 0, rows * 2 * s->values * sizeof(float));
    pool_run(u->f->pool, u->r->B * s->keys, key_back, u);
    profile_end("backward delta rule", begin, 24.0 * (double)(rows * n * s->dk),
        0.0);
}

void
delta_backward(struct run *u, const struct branch *in)
{
    const size_t C = conv_channels(&u->f->m->c);
    const struct product out = { W_DELTA_OUT, u->f->gated, in->d.out,
        u->f->m->c.d, u->g->datt };
    struct product p[4];

    assert(u->f->stem == NULL);
    stage_back(u, in, &out, 1, "backward o");
    rule_backward(u, in);
    stage_rows(u, in, mix_row_back, "backward rates", 4 * C);
    run_stages(u);
    conv_back_taps(u, delta_grads(u)->dmix);
    stage_rows(u, in, convolve_row_back, "backward convolution",
        (u->f->m->c.conv + 1) * C);
    products_abreast(u, W_DELTA_MIX, 4, in->xn, u->g->dqkv, in->d.xn, p);
    stage_back(u, in, p, 4, "backward qkv");
    delta_vectors(u);
}
