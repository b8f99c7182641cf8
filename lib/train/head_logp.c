/* Log probabilities of given tokens; see head_logp.h. */
#include "train/head_logp.h"
#include "base/profile.h"
#include "kern/kern.h"
#include "kern/loss.h"
#include "train/head_slices.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A slice's part of the sums over a row's vocabulary. */
struct logp_part {
    float max;
    double sum;  /* sum of exp(t - row's max) */
    double mean; /* sum of exp(t - row's max) t */
};

struct head_logp {
    struct head_slices s;
    float *row;             /* [workers][width] */
    struct logp_part *part; /* [nslice][R] */
    float *max;             /* [R] largest logit / tau of a row */
    double *lse;            /* [rows] */
    double *entropy;        /* [rows] */
    size_t held;            /* predictions of the last call, if the logits of
                             * all of them are in s.zs; else 0 */
};

/* Predictions that are processed together, at most R. */
struct logp_tile {
    struct head_logp *h;
    const struct weight *w;
    const float *hs;        /* [n,d] */
    const uint32_t *target; /* [n] */
    size_t n, at;           /* at: the call's predictions before this
                             * tile */
    float tau;
    int entropy; /* 1: compute entropies */
    const float *dlogp, *dentropy;
    float *dw;
};

struct head_logp *
head_logp_new(struct arena *a, struct pool *pool, size_t V, size_t d,
    size_t rows)
{
    struct head_logp *h = xcalloc(1, sizeof *h);
    const size_t workers = pool_size(pool);

    head_slices_init(&h->s, a, pool, V, d, rows, 1);
    h->row = arena_alloc(a, workers * h->s.width, sizeof(float));
    h->part = arena_alloc(a, h->s.nslice * h->s.R, sizeof *h->part);
    h->max = arena_alloc(a, h->s.R, sizeof(float));
    h->lse = arena_alloc(a, rows, sizeof(double));
    h->entropy = arena_alloc(a, rows, sizeof(double));
    return h;
}

void
head_logp_cap(struct head_logp *h, struct arena *a, double cap)
{
    head_slices_cap(&h->s, a, cap);
}

void
head_logp_bias(struct head_logp *h, float *db)
{
    h->s.db = db;
}

void
head_logp_free(struct head_logp *h)
{
    free(h);
}

/* Task: logits / tau of slice s, and the largest of each row. */
static void
logp_logits(void *ctx, size_t s, size_t worker)
{
    const struct logp_tile *q = ctx;
    struct head_logp *h = q->h;
    const size_t w = h->s.width, cols = head_slices_cols(&h->s, s);
    float *z = h->s.zs + s * h->s.R * h->s.ld;
    const double t = profile_begin();

    weight_product(q->w, s * w, cols, q->n, q->hs,
        head_slices_wide(&h->s, worker), z, h->s.ld);
    weight_add_bias(q->w, s * w, cols, q->n, z, h->s.ld);
    head_slices_capped(&h->s, s, q->n);
    for (size_t i = 0; i < q->n; i++) {
        if (q->tau != 1.0f)
            kern.scale(z + i * h->s.ld, 1.0f / q->tau, cols);
        h->part[s * h->s.R + i].max = kern.max(z + i * h->s.ld, cols);
    }
    profile_end("head logits", t, 2.0 * (double)(q->n * cols * h->s.d), 0.0);
}

/* Task: sums of slice s. */
static void
logp_sums(void *ctx, size_t s, size_t worker)
{
    const struct logp_tile *q = ctx;
    struct head_logp *h = q->h;
    const size_t w = h->s.width, cols = head_slices_cols(&h->s, s);
    const float *z = h->s.zs + s * h->s.R * h->s.ld;
    float *row = h->row + worker * w;
    const double t = profile_begin();

    for (size_t i = 0; i < q->n; i++) {
        struct logp_part *p = &h->part[s * h->s.R + i];

        if (q->entropy) {
            p->sum = kern.exp(row, z + i * h->s.ld, cols, h->max[i], 1.0f);
            p->mean = kern.dot(row, z + i * h->s.ld, cols);
        } else {
            p->sum = kern.expsum(z + i * h->s.ld, cols, h->max[i], 1.0f);
        }
    }
    profile_end("head log-sum-exp", t, 0.0, 4.0 * (double)(q->n * cols));
    profile_exps("head log-sum-exp", (double)(q->n * cols));
}

static void
join_max(const struct logp_tile *q)
{
    struct head_logp *h = q->h;

    for (size_t i = 0; i < q->n; i++) {
        h->max[i] = h->part[i].max;
        for (size_t s = 1; s < h->s.nslice; s++)
            h->max[i] = fmaxf(h->max[i], h->part[s * h->s.R + i].max);
    }
}

/* Write the results of the tile's predictions. */
static void
join_logp(const struct logp_tile *q, const struct logp_out *out)
{
    struct head_logp *h = q->h;

    for (size_t i = 0; i < q->n; i++) {
        const size_t v = q->target[i], s = v / h->s.width, at = q->at + i;
        const float z = h->s.zs[(s * h->s.R + i) * h->s.ld + v % h->s.width];
        double sum = 0.0, mean = 0.0;

        for (size_t k = 0; k < h->s.nslice; k++) {
            sum += h->part[k * h->s.R + i].sum;
            mean += h->part[k * h->s.R + i].mean;
        }
        h->lse[at] = h->max[i] + log(sum);
        /* not fminf: NaN must stay */
        out->logp[at] = (float)(z - h->lse[at]);
        if (out->logp[at] > 0.0f)
            out->logp[at] = 0.0f;
        h->entropy[at] = h->lse[at] - mean / sum;
        if (out->entropy != NULL)
            out->entropy[at] = (float)h->entropy[at];
        if (out->hit != NULL)
            out->hit[at] = z >= h->max[i];
    }
}

void
head_logp_rows(struct head_logp *h, const struct weight *w, const float *hs,
    const uint32_t *target, size_t n, double tau, const struct logp_out *out)
{
    for (size_t i = 0; i < n; i += h->s.R) {
        struct logp_tile q = { .h = h,
            .w = w,
            .hs = hs + i * h->s.d,
            .target = target + i,
            .n = n - i < h->s.R ? n - i : h->s.R,
            .at = i,
            .tau = (float)tau,
            .entropy = out->entropy != NULL };

        pool_run(h->s.pool, h->s.nslice, logp_logits, &q);
        join_max(&q);
        pool_run(h->s.pool, h->s.nslice, logp_sums, &q);
        join_logp(&q, out);
    }
    h->held = n <= h->s.R ? n : 0;
}

/* Replace t [cols], a row's logits over tau from id v0 on, by the gradient at
 * the logits:
 *   (dlogp (1[v = target] - p_v) - dentropy p_v (log p_v + entropy)) / tau */
static void
logp_row_grad(const struct logp_tile *q, size_t i, float *t, size_t v0,
    size_t cols, float *row)
{
    const struct head_logp *h = q->h;
    const double lse = h->lse[q->at + i];
    const float c = q->dlogp[i] / q->tau;
    const float e = q->dentropy != NULL ? q->dentropy[i] / q->tau : 0.0f;
    const float shift = (float)(h->entropy[q->at + i] - lse);

    if (e == 0.0f) {
        loss_kern()->ce_grad(t, cols, (float)lse, -c);
    } else {
        memcpy(row, t, cols * sizeof *row);
        loss_kern()->ce_grad(t, cols, (float)lse, 1.0f);
        for (size_t v = 0; v < cols; v++)
            t[v] *= -c - e * (row[v] + shift);
    }
    if (q->target[i] >= v0 && q->target[i] - v0 < cols)
        t[q->target[i] - v0] += c;
}

/* Task: gradients of slice s. */
static void
logp_grad(void *ctx, size_t s, size_t worker)
{
    const struct logp_tile *q = ctx;
    struct head_logp *h = q->h;
    const size_t w = h->s.width, cols = head_slices_cols(&h->s, s);
    const double t = profile_begin();

    for (size_t i = 0; i < q->n; i++) {
        head_slices_keep(&h->s, s, i, worker);
        logp_row_grad(q, i, h->s.zs + (s * h->s.R + i) * h->s.ld, s * w, cols,
            h->row + worker * w);
        head_slices_uncap(&h->s, s, i, worker, 1.0f / q->tau);
    }
    profile_end("head loss and gradient", t, 0.0, 8.0 * (double)(q->n * cols));
    profile_exps("head loss and gradient", (double)(q->n * cols));
    head_slices_products(&h->s, s, q->n, q->w, q->hs, q->dw, worker);
}

void
head_logp_grad(struct head_logp *h, const struct weight *w, const float *hs,
    const uint32_t *target, size_t n, double tau, const float *dlogp,
    const float *dentropy, float *dw, float *dh)
{
    for (size_t i = 0; i < n; i += h->s.R) {
        struct logp_tile q = { .h = h,
            .w = w,
            .hs = hs + i * h->s.d,
            .target = target + i,
            .n = n - i < h->s.R ? n - i : h->s.R,
            .at = i,
            .tau = (float)tau,
            .dlogp = dlogp + i,
            .dentropy = dentropy != NULL ? dentropy + i : NULL,
            .dw = dw };

        if (h->held != n)
            pool_run(h->s.pool, h->s.nslice, logp_logits, &q);
        pool_run(h->s.pool, h->s.nslice, logp_grad, &q);
        head_slices_join(&h->s, q.n, dh + i * h->s.d);
    }
    h->held = 0; /* gradients have taken the place of the logits */
}
