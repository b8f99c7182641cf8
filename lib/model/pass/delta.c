/* The gated delta rule, token by token; see delta.h. */
#include "model/pass/delta.h"
#include "kern/kern.h"
#include "model/config/delta_config.h"
#include "model/files/model.h"

#include <math.h>
#include <string.h>

size_t
delta_raw(const struct config *c)
{
    return delta_mixed(c) + c->delta.values * (c->delta.dv + 2);
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
delta_lay(struct delta_weights *w, const struct config *c, struct arena *a)
{
    const size_t C = delta_mixed(c);
    float *ones = arena_alloc(a, C, sizeof *ones);

    w->taps = arena_alloc(a, C * c->delta.conv, sizeof *w->taps);
    for (size_t i = 0; ones != NULL && i < C; i++)
        ones[i] = 1.0f;
    w->ones = ones;
}

void
delta_take(struct delta_weights *w, const struct config *c,
    const float *const *vec)
{
    const size_t conv = c->delta.conv;

    w->s = &c->delta;
    w->C = delta_mixed(c);
    w->dt = vec[W_DELTA_DT];
    w->log = vec[W_DELTA_LOG];
    w->norm = vec[W_DELTA_NORM];
    w->eps = (float)c->eps;
    for (size_t i = 0; i < w->C; i++)
        for (size_t j = 0; j < conv; j++)
            w->taps[j * w->C + i] = vec[W_DELTA_CONV][i * conv + j];
}

void
delta_convolve(const struct delta_weights *w, const float *const *back,
    float *x)
{
    const size_t conv = w->s->conv;

    memset(x, 0, w->C * sizeof *x);
    for (size_t j = conv; j-- > 0;)
        if (back[j] != NULL)
            kern.axmul(x, 1.0f, back[j], w->taps + (conv - 1 - j) * w->C, w->C);
}

double
delta_softplus(double x)
{
    return x > 20.0 ? x : log1p(exp(x));
}

void
delta_token(const struct delta_weights *w, const float *x, const float *raw,
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
delta_head(const struct delta_weights *w, size_t h, size_t n, const float *mix,
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
delta_gate(const struct delta_weights *w, const float *o, const float *z,
    float *y)
{
    const struct delta_shape *s = w->s;

    for (size_t h = 0; h < s->values; h++)
        kern.rmsnorm(y + h * s->dv, o + h * s->dv, w->norm, s->dv, w->eps);
    kern.silu_mul(y, z, y, s->values * s->dv);
}
