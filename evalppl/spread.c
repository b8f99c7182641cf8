/* Distance of each prediction from the base; see spread.h. */
#include "spread.h"
#include "figures.h"
#include "base/mem.h"
#include "model/pass/head.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct spread *
spread_new(size_t nj, size_t base, int soft, int sources)
{
    struct spread *s = xcalloc(1, sizeof(*s));

    s->nj = nj;
    s->soft = soft;
    s->v = xcalloc(nj * S_N, sizeof(*s->v));
    for (size_t i = 0; i < nj * S_N; i++)
        if (i / S_N != base && (soft || i % S_N < S_KLT))
            s->v[i] = xmalloc(0);
    s->source = sources ? xmalloc(0) : NULL;
    return s;
}

void
spread_free(struct spread *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; i < s->nj * S_N; i++)
        free(s->v[i]);
    free(s->v);
    free(s->source);
    free(s);
}

void
spread_begin(struct spread *s, size_t n)
{
    if (s->n + n <= s->cap)
        return;
    s->cap = s->n + n > 2 * s->cap ? s->n + n : 2 * s->cap;
    for (size_t i = 0; i < s->nj * S_N; i++)
        if (s->v[i] != NULL)
            s->v[i] = xreallocarray(s->v[i], s->cap, sizeof(**s->v));
    if (s->source != NULL)
        s->source = xreallocarray(s->source, s->cap, sizeof(*s->source));
}

double
delta_p(const struct pair_score *p)
{
    return exp(-p->nll_q) - exp(-p->nll_p);
}

void
spread_put(struct spread *s, size_t model, size_t k, const struct pair_score *p,
    const struct pair_score *soft)
{
    float **v = s->v + model * S_N;

    v[S_KL][s->n + k] = (float)p->kl;
    v[S_BACK][s->n + k] = (float)p->back;
    v[S_DP][s->n + k] = (float)delta_p(p);
    if (soft != NULL) {
        v[S_KLT][s->n + k] = (float)soft->kl;
        v[S_BACKT][s->n + k] = (float)soft->back;
    }
}

void
spread_end(struct spread *s, const struct eval *e, const size_t *unit, size_t n)
{
    for (size_t k = 0; s->source != NULL && k < n; k++)
        s->source[s->n + k] = (uint16_t)e->units.unit[unit[k]].source;
    s->n += n;
}

static int
float_order(const void *x, const void *y)
{
    const float a = *(const float *)x, b = *(const float *)y;

    return a < b ? -1 : a > b;
}

float *
spread_sorted(const struct spread *s, size_t source, size_t model,
    enum series which, size_t *n)
{
    const float *v = s->v[model * S_N + which];
    float *out = xreallocarray(NULL, s->n, sizeof(*out));

    *n = 0;
    for (size_t i = 0; i < s->n; i++)
        if (source == NONE || s->source[i] == source)
            out[(*n)++] = v[i];
    qsort(out, *n, sizeof(*out), float_order);
    return out;
}

double
spread_rank(const float *sorted, size_t n, double q)
{
    const double at = q * (double)(n - 1);
    const size_t i = (size_t)at;
    const size_t next = i + 1 < n ? i + 1 : i;

    return sorted[i] + (at - (double)i) * ((double)sorted[next] - sorted[i]);
}

/* ---- figures ---- */

static double
mean_value(const struct eval *e, size_t source, enum quantity q, size_t model)
{
    return eval_mean(e, source, q, model, NONE).v;
}

/* Standard error of the mean of n predictions' values; square: the mean of the
 * squared values. */
static double
token_error(double mean, double square, size_t n)
{
    return n > 1 ? sqrt(fmax(square - mean * mean, 0.0) / (double)(n - 1))
                 : NAN;
}

/* Mean of a quantity; square: the mean of its squares.  Under llama.cpp's
 * protocol the standard error is taken over n predictions. */
static struct estimate
spread_mean(const struct eval *e, size_t source, size_t model, enum quantity q,
    double square, size_t n)
{
    struct estimate m = eval_mean(e, source, q, model, NONE);

    if (e->protocol == PROTO_LLAMA)
        m.se = token_error(m.v, square, n);
    return m;
}

/* Mean of v[i]^power over v [n]. */
static double
power_mean(const float *v, size_t n, int power)
{
    double sum = 0.0;

    for (size_t i = 0; i < n; i++)
        sum += pow(v[i], power);
    return sum / (double)n;
}

/* Fill in the correlation of the losses, and ratio and difference of the
 * perplexities, whose errors take into account that the losses are paired. */
static void
ppl_ratio(const struct eval *e, size_t source, size_t model, struct against *a)
{
    struct estimate q = eval_mean(e, source, Q_NLL, model, NONE);
    struct estimate p = eval_mean(e, source, Q_NLL, e->base, NONE);
    const double q2 = mean_value(e, source, Q_NLL2, model);
    const double p2 = mean_value(e, source, Q_NLL2, e->base);
    const double pq = mean_value(e, source, Q_CROSS, model);
    const double ppl_q = exp(q.v), ppl_p = exp(p.v);
    double both;

    a->correlation =
        (pq - p.v * q.v) / sqrt((q2 - q.v * q.v) * (p2 - p.v * p.v));
    a->log = eval_mean(e, source, Q_NLL, model, e->base);
    if (e->protocol == PROTO_LLAMA) {
        q.se = token_error(q.v, q2, a->n);
        p.se = token_error(p.v, p2, a->n);
        a->log.se = token_error(a->log.v, q2 + p2 - 2.0 * pq, a->n);
    }
    a->ratio.v = exp(a->log.v);
    a->ratio.se = a->ratio.v * a->log.se;
    both = (q.se * q.se + p.se * p.se - a->log.se * a->log.se) / 2.0;
    a->diff.v = ppl_q - ppl_p;
    a->diff.se = sqrt(fmax(ppl_q * ppl_q * q.se * q.se +
            ppl_p * ppl_p * p.se * p.se - 2.0 * ppl_q * ppl_p * both,
        0.0));
    if (isnan(a->log.se)) /* fmax(NAN, 0.0) is 0 */
        a->diff.se = NAN;
}

void
spread_against(const struct eval *e, size_t source, size_t model,
    struct against *a)
{
    static const enum quantity of[S_N] = { Q_KL, Q_BACK, Q_DP, Q_KLT, Q_BACKT };
    const struct spread *s = e->spread;
    double square;

    memset(a, 0, sizeof(*a));
    for (size_t i = 0; i < S_N; i++) {
        if (s->v[model * S_N + i] == NULL)
            continue;
        a->sorted[i] = spread_sorted(s, source, model, (enum series)i, &a->n);
        a->mean[i] = spread_mean(e, source, model, of[i],
            power_mean(a->sorted[i], a->n, 2), a->n);
    }
    ppl_ratio(e, source, model, a);
    /* a value of 0 or 1 equals its square */
    square = mean_value(e, source, Q_AGREE, model);
    a->agree = spread_mean(e, source, model, Q_AGREE, square, a->n);
    a->rms = spread_mean(e, source, model, Q_DP2,
        power_mean(a->sorted[S_DP], a->n, 4), a->n);
    a->rms.v = sqrt(a->rms.v);
    a->rms.se *= 0.5 / a->rms.v;
}

void
against_release(struct against *a)
{
    for (size_t i = 0; i < S_N; i++)
        free(a->sorted[i]);
    memset(a, 0, sizeof(*a));
}
