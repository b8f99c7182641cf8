/*
 * The functions of struct fit_kern, as FIT_KERN: included once for each
 * instruction set.  Loops over g run over the eight groups; compilers make each
 * such loop one operation on vectors.  A group's sums are in the order of its
 * numbers, and every operation is rounded as ggml's reference rounds it, so
 * scales have the same bits.
 */
#include "kern/quant_fit.h"
#include "kern/unroll.h"

#include <math.h>
#include <string.h>

/* The largest number of each group, and its sums of w and w x. */
struct fit_sums {
    float high[FIT_LANES], w[FIT_LANES], x[FIT_LANES];
};

/* Set *s, and low to each group's smallest number, or 0 if that is positive. */
static void
measure_range(struct fit_sums *s, float *low, const float *x, const float *w,
    size_t n)
{
    memset(s, 0, sizeof *s);
    memcpy(low, x, FIT_LANES * sizeof *low);
    memcpy(s->high, x, sizeof s->high);
    for (size_t i = 0; i < n * FIT_LANES; i += FIT_LANES) {
        ROLLED
        for (size_t g = 0; g < FIT_LANES; g++) {
            low[g] = x[i + g] < low[g] ? x[i + g] : low[g];
            s->high[g] = x[i + g] > s->high[g] ? x[i + g] : s->high[g];
            s->w[g] += w[i + g];
            s->x[g] += w[i + g] * x[i + g];
        }
    }
    for (size_t g = 0; g < FIT_LANES; g++)
        low[g] = low[g] < 0.0f ? low[g] : 0.0f;
}

/* A candidate: codes c = inverse * (x - least), rounded; scale and low by least
 * squares.  determinant: of the normal equations. */
struct fit_try {
    float inverse[FIT_LANES], scale[FIT_LANES], low[FIT_LANES],
        determinant[FIT_LANES], c[FIT_LANES * FIT_MOST];
};

static void
range_candidate(struct fit_try *t, const float *x, const float *w, size_t n,
    const struct fit_sums *s, const float *least, float levels)
{
    float c1[FIT_LANES] = { 0 }, cc[FIT_LANES] = { 0 }, cx[FIT_LANES] = { 0 };

    for (size_t i = 0; i < n * FIT_LANES; i += FIT_LANES) {
        ROLLED
        for (size_t g = 0; g < FIT_LANES; g++) {
            const float steps = t->inverse[g] * (x[i + g] - least[g]);
            const float c = fit_clamp(fit_near(steps), 0.0f, levels);
            const float wc = w[i + g] * c;

            t->c[i + g] = c;
            c1[g] += wc;
            cc[g] += wc * c;
            cx[g] += wc * x[i + g];
        }
    }
    ROLLED
    for (size_t g = 0; g < FIT_LANES; g++) {
        const float det = s->w[g] * cc[g] - c1[g] * c1[g];
        const float scale = (s->w[g] * cx[g] - s->x[g] * c1[g]) / det;
        const float low = (cc[g] * s->x[g] - c1[g] * cx[g]) / det;

        t->scale[g] = low > 0.0f ? cx[g] / cc[g] : scale;
        t->low[g] = low > 0.0f ? 0.0f : low;
        t->determinant[g] = det;
    }
}

/* Set error to each group's error with codes c, its scale and its low. */
static void
range_error(float *restrict error, const float *x, const float *w,
    const float *c, size_t n, const float *scale, const float *low)
{
    float sum[FIT_LANES] = { 0 };

    for (size_t i = 0; i < n * FIT_LANES; i += FIT_LANES) {
        ROLLED
        for (size_t g = 0; g < FIT_LANES; g++) {
            const float d = scale[g] * c[i + g] + low[g] - x[i + g];

            sum[g] += w[i + g] * (d * d);
        }
    }
    memcpy(error, sum, sizeof sum);
}

/* In each candidate, code 0 stands for the best low so far. */
static void
fit_range(const float *x, const float *w, size_t n, float levels,
    const struct fit_grid *grid, struct fit *f)
{
    float error[FIT_LANES], best[FIT_LANES];
    struct fit_sums s;
    struct fit_try t;

    measure_range(&s, f->low, x, w, n);
    for (size_t g = 0; g < FIT_LANES; g++) {
        const float width = s.high[g] - f->low[g];
        const int flat = !(width >= 0x1p-120f);

        f->least[g] = f->low[g];
        f->inverse[g] = t.inverse[g] = flat ? 0.0f : levels / width;
        f->scale[g] = flat ? 0.0f : 1.0f / f->inverse[g];
    }
    range_candidate(&t, x, w, n, &s, f->low, levels);
    range_error(best, x, w, t.c, n, f->scale, f->low);
    for (int k = grid->from; k <= grid->to; k++) {
        const float steps = grid->first + grid->step * (float)k + levels;

        for (size_t g = 0; g < FIT_LANES; g++)
            t.inverse[g] =
                f->inverse[g] > 0.0f ? steps / (s.high[g] - f->low[g]) : 0.0f;
        range_candidate(&t, x, w, n, &s, f->low, levels);
        range_error(error, x, w, t.c, n, t.scale, t.low);
        for (size_t g = 0; g < FIT_LANES; g++) {
            if (!(t.determinant[g] > 0.0f && error[g] < best[g]))
                continue;
            best[g] = error[g];
            f->least[g] = f->low[g];
            f->scale[g] = t.scale[g];
            f->low[g] = t.low[g];
            f->inverse[g] = t.inverse[g];
        }
    }
}

/* Sums of w x c and w c^2 for codes c = inverse * x, rounded and clamped. */
static void
scale_candidate(const float *x, const float *w, size_t n, float levels,
    const float *inverse, float *restrict cx, float *restrict cc)
{
    float sum_cx[FIT_LANES] = { 0 }, sum_cc[FIT_LANES] = { 0 };

    for (size_t i = 0; i < n * FIT_LANES; i += FIT_LANES) {
        ROLLED
        for (size_t g = 0; g < FIT_LANES; g++) {
            const float c = fit_clamp(fit_near(inverse[g] * x[i + g]), -levels,
                levels - 1.0f);

            sum_cx[g] += w[i + g] * x[i + g] * c;
            sum_cc[g] += w[i + g] * c * c;
        }
    }
    memcpy(cx, sum_cx, sizeof sum_cx);
    memcpy(cc, sum_cc, sizeof sum_cc);
}

/* With codes c and their best scale the error is sum w x^2 - cx^2 / cc. */
static void
fit_scale(const float *x, const float *w, size_t n, float levels,
    const struct fit_grid *grid, struct fit *f)
{
    float most[FIT_LANES] = { 0 }, inverse[FIT_LANES], cx[FIT_LANES],
          cc[FIT_LANES], best[FIT_LANES];

    for (size_t i = 0; i < n * FIT_LANES; i++)
        if (fabsf(x[i]) > fabsf(most[i % FIT_LANES]))
            most[i % FIT_LANES] = x[i];
    for (size_t g = 0; g < FIT_LANES; g++)
        f->inverse[g] = fabsf(most[g]) < 1e-15f ? 0.0f : -levels / most[g];
    scale_candidate(x, w, n, levels, f->inverse, cx, cc);
    for (size_t g = 0; g < FIT_LANES; g++) {
        f->scale[g] = cc[g] > 0.0f ? cx[g] / cc[g] : 0.0f;
        f->low[g] = f->least[g] = 0.0f;
        best[g] = f->scale[g] * cx[g];
    }
    for (int k = grid->from; k <= grid->to; k++) {
        const float steps = grid->first + grid->step * (float)k + levels;

        if (k == 0)
            continue;
        for (size_t g = 0; g < FIT_LANES; g++)
            inverse[g] = f->inverse[g] != 0.0f ? -steps / most[g] : 0.0f;
        scale_candidate(x, w, n, levels, inverse, cx, cc);
        for (size_t g = 0; g < FIT_LANES; g++) {
            if (!(cc[g] > 0.0f && cx[g] * cx[g] > best[g] * cc[g]))
                continue;
            f->scale[g] = cx[g] / cc[g];
            best[g] = f->scale[g] * cx[g];
            f->inverse[g] = inverse[g];
        }
    }
}

static void
fit_error(const float *x, const float *w, size_t n, float levels,
    const float *scale, const float *low, float *error)
{
    float inverse[FIT_LANES], sum[FIT_LANES] = { 0 };

    for (size_t g = 0; g < FIT_LANES; g++)
        inverse[g] = scale[g] > 0.0f ? 1.0f / scale[g] : 0.0f;
    for (size_t i = 0; i < n * FIT_LANES; i += FIT_LANES) {
        ROLLED
        for (size_t g = 0; g < FIT_LANES; g++) {
            const float steps = inverse[g] * (x[i + g] - low[g]);
            const float c = fit_clamp(fit_near(steps), 0.0f, levels);
            const float d = scale[g] * c + low[g] - x[i + g];

            sum[g] += w[i + g] * (d * d);
        }
    }
    memcpy(error, sum, sizeof sum);
}

const struct fit_kern FIT_KERN = { .range = fit_range,
    .scale = fit_scale,
    .error = fit_error };
