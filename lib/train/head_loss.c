/* Fused head and losses; see head_loss.h. */
#include "train/head_loss.h"
#include "base/profile.h"
#include "kern/kern.h"
#include "kern/loss.h"
#include "train/head_slices.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct head_loss {
    struct head_slices s; /* of the student */
    const struct loss_kern *k;
    enum targets_kind kind; /* kind of the targets */
    size_t dt;              /* width of the teacher's final states, or 0 */
    size_t top;             /* teacher's tokens for each prediction, or 0 */
    size_t told_V;          /* the teacher has probabilities for ids below
                             * told_V */
    float *zt;              /* [nslice][R,ld] logits of the teacher */
    float told_cap;         /* cap of the teacher's logits, or 0 */
    struct lse_part *s1;    /* [nslice][R] student, at temperature 1 */
    struct lse_part *st;    /* [nslice][R] student, at tau */
    struct lse_part *tt;    /* [nslice][R] teacher, at tau */
    struct row_lse *lse;    /* [R] */
    double *lse1;           /* [R] lse.s1 in double */
    double *ce;             /* [R] weights of the cross entropy */
    double *kl;             /* [R] the divergence; [nslice][R] parts of it if
                             * it is a forward KL without `top` */
    struct mix_part *js;    /* [nslice][R] */
    float *own;             /* [R] KL(student || mixture) */
    float *ht;              /* [R,dt] final states of the teacher */
    uint32_t *ids;          /* [R,top] ids of the teacher's tokens */
    float *told;            /* [R,top] their log probabilities, or shares of
                             * draws */
    float *sums;     /* by kind of targets: TARGETS_TOP [R,2] log-sum-exps
                             * of the teacher; DRAWS [R,1] sums of p log p;
                             * SHARED [R,1] logs of the probability of all
                             * other tokens */
    float *top_z;    /* [R,top] logits of the student for these tokens */
    float *top_grad; /* [R,top] gradients at these logits */
    struct rest {
        float lse, b;
    } * rest;      /* [R] arguments of the kernel top_grad */
    uint32_t *hit; /* [workers][top] */
    double *p;     /* [workers][top] */
};

/* At most R predictions that are processed together.  Its arrays are those
 * given to head_loss_rows, from the tile's first prediction on. */
struct tile {
    struct head_loss *h;
    const struct loss_opt *o;
    const struct weight *ws, *wt;
    const float *hs;        /* [n,d] */
    const uint32_t *target; /* [n] */
    size_t n;
    float *dw; /* [V,d], or NULL */
    float *dh; /* [n,d], or NULL: no gradients */
};

/* Lay out memory for final states of the teacher. */
static void
lay_final(struct head_loss *h, struct arena *a)
{
    h->ht = arena_alloc(a, h->s.R * h->dt, sizeof(float));
    h->zt = arena_alloc(a, h->s.nslice * h->s.R * h->s.ld, sizeof(float));
    h->st = arena_alloc(a, h->s.nslice * h->s.R, sizeof(*h->st));
    h->tt = arena_alloc(a, h->s.nslice * h->s.R, sizeof(*h->tt));
    h->kl = arena_alloc(a, h->s.nslice * h->s.R, sizeof(*h->kl));
    h->js = arena_alloc(a, h->s.nslice * h->s.R, sizeof(*h->js));
    h->own = arena_alloc(a, h->s.R, sizeof(*h->own));
}

/* Lay out memory for tokens that the teacher tells. */
static void
lay_top(struct head_loss *h, struct arena *a)
{
    h->ids = arena_alloc(a, h->s.R * h->top, sizeof(*h->ids));
    h->told = arena_alloc(a, h->s.R * h->top, sizeof(float));
    h->sums = arena_alloc(a, h->s.R * 2, sizeof(float));
    h->st = arena_alloc(a, h->s.nslice * h->s.R, sizeof(*h->st));
    h->kl = arena_alloc(a, h->s.R, sizeof(*h->kl));
    h->top_z = arena_alloc(a, h->s.R * h->top, sizeof(float));
    h->top_grad = arena_alloc(a, h->s.R * h->top, sizeof(float));
    h->rest = arena_alloc(a, h->s.R, sizeof(*h->rest));
    h->hit = arena_alloc(a, pool_size(h->s.pool) * h->top, sizeof(*h->hit));
    h->p = arena_alloc(a, pool_size(h->s.pool) * h->top, sizeof(*h->p));
}

struct head_loss *
head_loss_new(struct arena *a, struct pool *pool, size_t V, size_t d,
    const struct targets *like, size_t rows, int widen)
{
    struct head_loss *h = xcalloc(1, sizeof(*h));

    h->k = loss_kern();
    h->kind = like->kind;
    h->told_V = like->vocab > 0 ? like->vocab : V;
    if (h->kind == TARGETS_FINAL)
        h->dt = like->width;
    else if (h->kind != TARGETS_NONE)
        h->top = like->width;
    head_slices_init(&h->s, a, pool, V, d, rows, widen || h->dt > 0);
    h->s1 = arena_alloc(a, h->s.nslice * h->s.R, sizeof(*h->s1));
    h->lse = arena_alloc(a, h->s.R, sizeof(*h->lse));
    h->lse1 = arena_alloc(a, h->s.R, sizeof(*h->lse1));
    h->ce = arena_alloc(a, h->s.R, sizeof(*h->ce));
    if (h->dt > 0)
        lay_final(h, a);
    else if (h->top > 0)
        lay_top(h, a);
    return h;
}

void
head_loss_caps(struct head_loss *h, struct arena *a, double own, double told)
{
    head_slices_cap(&h->s, a, own);
    h->told_cap = (float)told;
}

void
head_loss_bias(struct head_loss *h, float *db)
{
    h->s.db = db;
}

void
head_loss_free(struct head_loss *h)
{
    free(h);
}

/* Number of columns of slice s that the teacher has probabilities for. */
static size_t
told_cols(const struct head_loss *h, size_t s)
{
    const size_t v0 = s * h->s.width, cols = head_slices_cols(&h->s, s);

    return h->told_V <= v0 ? 0 : h->told_V - v0 < cols ? h->told_V - v0 : cols;
}

/* Number of tokens of row i to which the teacher gives a probability above 0:
 * they come first. */
static size_t
tokens_told(const struct head_loss *h, size_t i)
{
    const float *told = h->told + i * h->top;
    const float none = h->kind == TARGETS_DRAWS ? 0.0f : -INFINITY;
    size_t n = 0;

    while (n < h->top && told[n] > none)
        n++;
    return n;
}

/* The log-sum-exp over z [cols], a row's logits from v0 on, without the
 * teacher's top tokens.  These are left out, not subtracted afterwards, as the
 * rest may be a small part of the sum.  Stores the top tokens' logits in
 * top_z. */
static struct lse_part
rest_part(const struct tile *q, size_t row, float *z, size_t v0, size_t cols,
    size_t worker)
{
    struct head_loss *h = q->h;
    const uint32_t *ids = h->ids + row * h->top;
    float *top_z = h->top_z + row * h->top;
    uint32_t *hit = h->hit + worker * h->top;
    struct lse_part r = { -INFINITY, 0.0 };
    const size_t k = tokens_told(h, row);
    size_t n = 0;

    for (size_t j = 0; j < k; j++)
        if (ids[j] - v0 < cols) {
            top_z[j] = z[ids[j] - v0];
            z[ids[j] - v0] = -INFINITY;
            hit[n++] = (uint32_t)j;
        }
    if (n < cols)
        r = h->k->lse(z, cols, (float)(1.0 / q->o->tau));
    for (size_t i = 0; i < n; i++)
        z[ids[hit[i]] - v0] = top_z[hit[i]];
    return r;
}

static struct lse_part
lse_of(const struct head_loss *h, const float *z, size_t n, float inv_tau)
{
    return n > 0 ? h->k->lse(z, n, inv_tau)
                 : (struct lse_part){ -INFINITY, 0.0 };
}

/* Task: logits of slice s and its part of each row's log-sum-exp. */
static void
slice_logits(void *ctx, size_t s, size_t worker)
{
    const struct tile *q = ctx;
    struct head_loss *h = q->h;
    const size_t w = h->s.width, ld = h->s.ld, at = s * h->s.R;
    const size_t cols = head_slices_cols(&h->s, s);
    const size_t told = told_cols(h, s);
    const float it = (float)(1.0 / q->o->tau);
    const int same = told == cols && it == 1.0f;
    float *zs = h->s.zs + at * ld;
    float *zt = h->dt > 0 ? h->zt + at * ld : NULL;
    float *wide = head_slices_wide(&h->s, worker);
    double t = profile_begin();

    weight_product(q->ws, s * w, cols, q->n, q->hs, wide, zs, ld);
    weight_add_bias(q->ws, s * w, cols, q->n, zs, ld);
    if (zt != NULL) {
        weight_product(q->wt, s * w, told, q->n, h->ht, wide, zt, ld);
        weight_add_bias(q->wt, s * w, told, q->n, zt, ld);
    }
    head_slices_capped(&h->s, s, q->n);
    for (size_t i = 0; zt != NULL && h->told_cap > 0.0f && i < q->n; i++)
        kern.softcap(zt + i * ld, h->told_cap, told);
    profile_end("head logits", t,
        2.0 * (double)q->n *
            ((double)(cols * h->s.d) +
                (zt != NULL ? (double)(told * h->dt) : 0.0)),
        0.0);
    t = profile_begin();
    for (size_t i = 0; i < q->n; i++) {
        h->s1[at + i] = h->k->lse(zs + i * ld, cols, 1.0f);
        if (zt != NULL) {
            h->st[at + i] =
                same ? h->s1[at + i] : lse_of(h, zs + i * ld, told, it);
            h->tt[at + i] = lse_of(h, zt + i * ld, told, it);
        } else if (h->top > 0) {
            h->st[at + i] = rest_part(q, i, zs + i * ld, s * w, told, worker);
        }
    }
    profile_end("head log-sum-exp", t, 0.0,
        4.0 * (double)(q->n * cols) * (zt != NULL ? 2.0 : 1.0));
    profile_exps("head log-sum-exp",
        (double)q->n * (double)(cols + (2 - same) * told * (zt != NULL)) +
            (double)(q->n * told) * (h->top > 0));
}

/* Weight of the teacher in the mixture that js_sums is called with. */
static double
mixture(const struct loss_opt *o)
{
    return o->direction == KL_JS ? o->beta : 1.0;
}

/* Task: compute the sums (js_sums) of slice s, for a divergence whose gradient
 * depends on its value for the whole row. */
static void
slice_sums(void *ctx, size_t s, size_t worker)
{
    const struct tile *q = ctx;
    struct head_loss *h = q->h;
    const size_t at = s * h->s.R, told = told_cols(h, s), ld = h->s.ld;
    const double t = profile_begin();

    (void)worker;
    for (size_t i = at; i < at + q->n; i++)
        h->js[i] = h->k->js_sums(h->s.zs + i * ld, h->zt + i * ld, told,
            (float)q->o->tau, h->lse[i - at], (float)mixture(q->o));
    profile_end("head divergence", t, 0.0, 8.0 * (double)(q->n * told));
    profile_exps("head divergence",
        (double)(q->n * told) * (mixture(q->o) == 1.0 ? 2.0 : 4.0));
}

/* Add up the parts of slice_sums. */
static void
join_sums(const struct tile *q)
{
    struct head_loss *h = q->h;
    const int js = q->o->direction == KL_JS;

    for (size_t i = 0; i < q->n; i++) {
        struct mix_part r = { 0.0, 0.0, 0.0, 0.0 };

        for (size_t s = 0; s < h->s.nslice; s++) {
            const struct mix_part *p = &h->js[s * h->s.R + i];

            r.p += p->p;
            r.q += p->q;
            r.kl += p->kl;
            r.own += p->own;
        }
        r.kl /= r.p;
        r.own /= r.q;
        h->own[i] = (float)r.own;
        h->kl[i] = js ? q->o->beta * r.kl + (1.0 - q->o->beta) * r.own : r.own;
    }
}

/* Replace row i's logits z [cols] from v0 on by their gradient, for a teacher
 * with top tokens. */
static void
top_grad(const struct tile *q, size_t i, float *z, size_t v0, size_t cols)
{
    const struct head_loss *h = q->h;
    const uint32_t *ids = h->ids + i * h->top;
    const float *g = h->top_grad + i * h->top;
    const size_t k = tokens_told(h, i);

    h->k->top_grad(z, cols, h->lse[i].s1, (float)h->ce[i], (float)q->o->tau,
        h->rest[i].lse, h->rest[i].b);
    for (size_t j = 0; j < k; j++)
        if (ids[j] - v0 < cols)
            z[ids[j] - v0] = g[j];
}

/* Replace the logits of prediction i in slice s, `cols` columns, by their
 * gradient.  The teacher has probabilities for the first `told` columns; at the
 * other columns the divergence has no gradient. */
static void
row_grad(const struct tile *q, size_t s, size_t i, size_t told, size_t cols)
{
    struct head_loss *h = q->h;
    const struct loss_opt *o = q->o;
    const size_t row = s * h->s.R + i, v0 = s * h->s.width;
    const float w_all = (float)h->ce[i], tau = (float)o->tau;
    const float w_div = (float)(o->w_kl * o->tau *
        (o->direction == KL_JS ? 1.0 - o->beta : 1.0));
    float *z = h->s.zs + row * h->s.ld;

    if (told > 0 && h->top > 0)
        top_grad(q, i, z, v0, told);
    else if (told > 0 && o->direction != KL_FORWARD)
        h->k->js_grad(z, h->zt + row * h->s.ld, told, tau, h->lse[i],
            (float)mixture(o), h->own[i], w_all, w_div);
    else if (told > 0)
        h->kl[row] = h->k->kd_grad(z, h->zt + row * h->s.ld, told, tau,
            h->lse[i], w_all, (float)o->w_kl);
    if (told < cols)
        h->k->ce_grad(z + told, cols - told, h->lse[i].s1, w_all);
    if (q->target[i] >= v0 && q->target[i] - v0 < cols)
        z[q->target[i] - v0] -= (float)h->ce[i];
}

/* The number of exponentials in row_grad, for the profile. */
static double
grad_exps(const struct tile *q, size_t told, size_t cols)
{
    static const size_t
        div[] = { [KL_FORWARD] = 2, [KL_REVERSE] = 1, [KL_JS] = 3 };

    const int same = q->h->dt > 0 && q->o->direction == KL_FORWARD &&
        q->o->tau == 1.0 && told == cols;

    return (double)(cols * (q->h->top > 0) + told * div[q->o->direction]) +
        (double)(same ? 0 : cols);
}

/* Task: gradients of slice s. */
static void
slice_grad(void *ctx, size_t s, size_t worker)
{
    const struct tile *q = ctx;
    const struct head_loss *h = q->h;
    const size_t cols = head_slices_cols(&h->s, s);
    const size_t told = h->kind != TARGETS_NONE ? told_cols(h, s) : 0;
    const double t = profile_begin();

    for (size_t i = 0; i < q->n; i++) {
        head_slices_keep(&h->s, s, i, worker);
        row_grad(q, s, i, told, cols);
        head_slices_uncap(&h->s, s, i, worker, 1.0f);
    }
    profile_end("head loss and gradient", t, 0.0,
        4.0 * (double)(q->n * cols) * (h->dt > 0 ? 3.0 : 2.0));
    profile_exps("head loss and gradient",
        (double)q->n * grad_exps(q, told, cols));
    if (q->dh != NULL)
        head_slices_products(&h->s, s, q->n, q->ws, q->hs, q->dw, worker);
}

/* Rows of a task that joins slices. */
enum { JOIN_ROWS = 16 };

/* Distribution of the teacher for a row: number of tokens that have
 * probabilities, probability of the rest, and sum of p log p. */
struct outcomes {
    size_t n;
    double rest, self;
};

/* teacher_row for TARGETS_SHARED. */
static struct outcomes
shared_row(const struct head_loss *h, size_t i, int rest, double *p)
{
    const float *told = h->told + i * h->top;
    struct outcomes r = { tokens_told(h, i), 0.0, 0.0 };
    double sum, scale;

    sum = r.rest = rest ? exp(h->sums[i]) : 0.0;
    for (size_t j = 0; j < r.n; j++)
        sum += p[j] = exp(told[j]);
    scale = log(sum);
    for (size_t j = 0; j < r.n; j++) {
        p[j] /= sum;
        r.self += p[j] * (told[j] - scale);
    }
    r.rest /= sum;
    if (r.rest > 0.0)
        r.self += r.rest * (h->sums[i] - scale);
    return r;
}

static struct outcomes
teacher_row(const struct tile *q, size_t i, int rest, double *p)
{
    const struct head_loss *h = q->h;
    const float *told = h->told + i * h->top, *lse = h->sums + i * 2;
    const double it = 1.0 / q->o->tau;
    struct outcomes r = { tokens_told(h, i), 0.0, 0.0 };
    double sum = 0.0, scale;

    if (h->kind == TARGETS_SHARED)
        return shared_row(h, i, rest, p);
    if (h->kind == TARGETS_DRAWS) {
        for (size_t j = 0; j < r.n; j++)
            p[j] = told[j];
        r.self = r.n > 0 ? h->sums[i] : 0.0;
        r.rest = r.n > 0 ? 0.0 : 1.0; /* no targets: no divergence */
        return r;
    }
    for (size_t j = 0; j < r.n; j++) {
        p[j] = exp(((double)told[j] + lse[0]) * it - lse[1]);
        sum += p[j];
    }
    if (sum < 1.0 && rest) {
        r.rest = 1.0 - sum;
        r.self = r.rest * log(r.rest);
        sum = 1.0;
    }
    scale = lse[1] + log(sum);
    for (size_t j = 0; j < r.n; j++) {
        p[j] /= sum;
        r.self += p[j] * (((double)told[j] + lse[0]) * it - scale);
    }
    return r;
}

/* Log-sum-exps, at tau, of the student's logits of a row. */
struct top_q {
    double rest; /* over the tokens that the teacher does not send */
    double all;  /* over all tokens */
};

/*
 * The forward KL of row i and its gradient (as that of kd_grad).  With p and q
 * the teacher's and the student's probabilities, P and Q those of all tokens
 * that the teacher does not send, the gradient is
 *   w_kl tau (q_i - p_i)          at a token that the teacher sends,
 *   w_kl tau q_v (1 - P/Q)        elsewhere; as q_v = Q exp(z/tau - rest), it
 *                                 is w_kl tau (Q - P) exp(z/tau - rest)
 */
static void
top_forward(const struct tile *q, size_t i, const struct top_q *s,
    const struct outcomes *t, const double *p)
{
    struct head_loss *h = q->h;
    const float *z = h->top_z + i * h->top;
    const double it = 1.0 / q->o->tau, w = q->o->w_kl * q->o->tau;
    double kl = t->self;

    for (size_t j = 0; j < t->n; j++) {
        const double lq = z[j] * it - s->all;

        kl -= p[j] * lq;
        h->top_grad[i * h->top + j] =
            (float)(w * (exp(lq) - p[j]) + h->ce[i] * exp(z[j] - h->lse1[i]));
    }
    if (t->rest > 0.0)
        kl -= t->rest * (s->rest - s->all);
    h->kl[i] = kl;
    h->rest[i].b = (float)(w * (exp(s->rest - s->all) - t->rest));
}

/* A term of the reverse KL or of the Jensen-Shannon divergence. */
struct mix_term {
    double q, own; /* own: log(q/m); m: the mixture, or p for the
                    * reverse KL */
    double loss;
};

static struct mix_term
mix_term(const struct loss_opt *o, double p, double lq)
{
    const double beta = mixture(o), q = exp(lq);
    const double lm = log(fmax(beta * p + (1.0 - beta) * q, DBL_MIN));
    struct mix_term t = { .q = q, .own = q > 0.0 ? lq - lm : 0.0 };

    t.loss = o->direction == KL_REVERSE
        ? q * t.own
        : (1.0 - beta) * q * t.own + (p > 0.0 ? beta * p * (log(p) - lm) : 0.0);
    return t;
}

/*
 * The reverse KL or the Jensen-Shannon divergence of row i and its gradient:
 * with c = 1 - beta, or 1 for the reverse KL, and own = sum q log(q/m) over all
 * outcomes,
 *   w_kl tau c q_i (log(q_i/m_i) - own)   at a token that the teacher sends,
 *   w_kl tau c q_v (log(Q/M) - own)       elsewhere (M: mixture of P and Q)
 * To avoid an infinite reverse KL, P is taken to be at least 2^-24, the
 * rounding of a sum of fp32 numbers.
 */
static void
top_mixed(const struct tile *q, size_t i, const struct top_q *s,
    const struct outcomes *t, const double *p)
{
    struct head_loss *h = q->h;
    const double beta = mixture(q->o), it = 1.0 / q->o->tau;
    const double w =
        q->o->w_kl * q->o->tau * (q->o->direction == KL_JS ? 1.0 - beta : 1.0);
    const float *z = h->top_z + i * h->top;
    struct mix_term rest = { 0.0, 0.0, 0.0 };
    double own, loss;

    if (s->rest != -INFINITY)
        rest = mix_term(q->o, fmax(t->rest, 0x1p-24), s->rest - s->all);
    own = rest.q * rest.own;
    loss = rest.loss;
    for (size_t j = 0; j < t->n; j++) {
        const struct mix_term m = mix_term(q->o, p[j], z[j] * it - s->all);

        own += m.q * m.own;
        loss += m.loss;
    }
    for (size_t j = 0; j < t->n; j++) {
        const struct mix_term m = mix_term(q->o, p[j], z[j] * it - s->all);

        h->top_grad[i * h->top + j] = (float)(w * m.q * (m.own - own) +
            h->ce[i] * exp(z[j] - h->lse1[i]));
    }
    h->kl[i] = loss;
    h->rest[i].b = (float)(w * rest.q * (rest.own - own));
}

/* Compute the divergence of row i and its gradient.  rest: as in struct
 * top_q. */
static void
top_row(const struct tile *q, size_t i, double rest, double *p)
{
    struct head_loss *h = q->h;
    const struct outcomes t = teacher_row(q, i, rest != -INFINITY, p);
    const float *z = h->top_z + i * h->top;
    const double it = 1.0 / q->o->tau;
    struct top_q s = { rest, 0.0 };
    double max = rest;

    for (size_t j = 0; j < t.n; j++)
        max = fmax(max, z[j] * it);
    for (size_t j = 0; j < t.n; j++)
        s.all += exp(z[j] * it - max);
    s.all = max + log(s.all + exp(rest - max));
    h->rest[i].lse = rest != -INFINITY ? (float)rest : 0.0f;
    if (q->o->direction == KL_FORWARD)
        top_forward(q, i, &s, &t, p);
    else
        top_mixed(q, i, &s, &t, p);
}

/* Task: join the slices of a few rows, and compute KL and gradients at top
 * tokens. */
static void
join_top(void *ctx, size_t task, size_t worker)
{
    const struct tile *q = ctx;
    struct head_loss *h = q->h;
    const size_t r0 = task * JOIN_ROWS;
    const size_t r1 = r0 + JOIN_ROWS < q->n ? r0 + JOIN_ROWS : q->n;
    const double t = profile_begin();

    for (size_t i = r0; i < r1; i++)
        top_row(q, i, lse_join(h->st + i, h->s.nslice, h->s.R),
            h->p + worker * h->top);
    profile_end("head top", t, 0.0, 20.0 * (double)((r1 - r0) * h->top));
}

/* Join the slices' parts of log-sum-exps, and add cross entropies to *sum. */
static void
join_lse(const struct tile *q, struct loss_sum *sum)
{
    struct head_loss *h = q->h;
    for (size_t i = 0; i < q->n; i++) {
        const size_t v = q->target[i], s = v / h->s.width;
        const double z = h->s.zs[(s * h->s.R + i) * h->s.ld + v % h->s.width];
        double by;

        h->lse1[i] = lse_join(h->s1 + i, h->s.nslice, h->s.R);
        h->lse[i].s1 = (float)h->lse1[i];
        if (h->dt > 0) {
            h->lse[i].st = (float)lse_join(h->st + i, h->s.nslice, h->s.R);
            h->lse[i].tt = (float)lse_join(h->tt + i, h->s.nslice, h->s.R);
        }
        by = q->o->dft ? exp(z - h->lse1[i]) : 1.0;
        h->ce[i] = q->o->w_ce * by;
        sum->ce += by * (h->lse1[i] - z);
    }
}

static void
tile_losses(struct tile *q, struct loss_sum *sum)
{
    struct head_loss *h = q->h;
    const size_t joins = (q->n + JOIN_ROWS - 1) / JOIN_ROWS;
    const int whole = h->dt > 0 && q->o->direction != KL_FORWARD;
    const size_t parts = h->top > 0 || whole ? 1 : h->dt > 0 ? h->s.nslice : 0;

    pool_run(h->s.pool, h->s.nslice, slice_logits, q);
    join_lse(q, sum);
    if (h->top > 0)
        pool_run(h->s.pool, joins, join_top, q);
    if (whole) {
        pool_run(h->s.pool, h->s.nslice, slice_sums, q);
        join_sums(q);
    }
    /* slice_grad also computes a forward KL */
    if (q->dh != NULL || (h->dt > 0 && !whole))
        pool_run(h->s.pool, h->s.nslice, slice_grad, q);
    if (q->dh != NULL)
        head_slices_join(&h->s, q->n, q->dh);
    for (size_t i = 0; i < q->n && parts > 0; i++) {
        double kl = 0.0;

        for (size_t s = 0; s < parts && s * h->s.width < h->told_V; s++)
            kl += h->kl[s * h->s.R + i];
        sum->kl += q->o->tau * q->o->tau * kl;
    }
}

/* Write to `out`, in fp32, a token's numbers in part[part] of the targets. */
static void
widen_part(const struct targets *y, int part, size_t token, float *out)
{
    const struct targets_tensor *t = &y->part[part];
    const struct weight w = { .data = targets_at(y, t, token),
        .dtype = t->dtype,
        .rows = 1,
        .cols = t->width };

    weight_rows(&w, 0, 1, out);
}

/* Remove from row i the teacher's tokens that the student does not have.  The
 * probabilities of the tokens that stay are divided by their sum (for
 * TARGETS_SHARED by shared_row), as for a teacher without the removed tokens.
 * Probabilities of drawn tokens are unknown: the removed tokens' shares of the
 * draws stand for them in the sum of p log p. */
static void
drop_foreign(struct head_loss *h, double tau, size_t i)
{
    uint32_t *ids = h->ids + i * h->top;
    float *told = h->told + i * h->top;
    float *lse = h->sums + i * 2, *self = h->sums + i;
    const size_t k = tokens_told(h, i);
    const int top = h->kind == TARGETS_TOP, drawn = h->kind == TARGETS_DRAWS;
    double gone = 0.0, plogp = 0.0;
    size_t n = 0;

    for (size_t j = 0; j < k; j++) {
        double p = told[j];

        if (ids[j] < h->told_V) {
            ids[n] = ids[j];
            told[n++] = told[j];
            continue;
        }
        if (top)
            p = exp((p + lse[0]) / tau - lse[1]);
        gone += p;
        plogp += p * log(p);
    }
    if (n == k)
        return;
    gone = fmin(gone, 1.0 - 0x1p-24);
    if (top)
        lse[1] += (float)log1p(-gone);
    else if (drawn)
        *self = (float)((*self - plogp) / (1.0 - gone) - log1p(-gone));
    for (size_t j = 0; j < k; j++)
        told[j] = j >= n ? drawn ? 0.0f : -INFINITY
            : drawn      ? (float)(told[j] / (1.0 - gone))
                         : told[j];
}

/* gather_token for TARGETS_SHARED. */
static void
gather_shared(struct head_loss *h, double tau, const struct targets *y,
    size_t token, size_t i)
{
    const uint8_t kind = *targets_at(y, &y->part[TARGETS_ENTRIES], token);
    float *told = h->told + i * h->top;

    widen_part(y, TARGETS_LOGP, token, told);
    memcpy(h->sums + i, targets_at(y, &y->part[TARGETS_REST], token), 4);
    for (size_t j = kind == 1 ? h->top : kind == 2; j < h->top; j++)
        told[j] = -INFINITY;
    drop_foreign(h, tau, i);
}

/* Copy the teacher's targets for token `token` to row i of the tile. */
static void
gather_token(struct head_loss *h, double tau, const struct targets *y,
    size_t token, size_t i)
{
    const size_t k = h->top;
    const unsigned char *count;

    if (h->kind == TARGETS_FINAL) {
        widen_part(y, TARGETS_STATE, token, h->ht + i * h->dt);
        return;
    }
    memcpy(h->ids + i * k, targets_at(y, &y->part[TARGETS_IDS], token), k * 4);
    if (h->kind == TARGETS_SHARED) {
        gather_shared(h, tau, y, token, i);
        return;
    }
    if (h->kind == TARGETS_TOP) {
        widen_part(y, TARGETS_LOGP, token, h->told + i * k);
        memcpy(h->sums + i * 2, targets_at(y, &y->part[TARGETS_LSE], token), 8);
        drop_foreign(h, tau, i);
        return;
    }
    memcpy(h->sums + i, targets_at(y, &y->part[TARGETS_SELF], token), 4);
    count = targets_at(y, &y->part[TARGETS_COUNT], token);
    for (size_t j = 0; j < k; j++) {
        uint16_t c = 0;

        if (y->part[TARGETS_COUNT].dtype == DT_U16)
            memcpy(&c, count + j * 2, 2);
        else
            c = count[j];
        h->told[i * k + j] = (float)c / (float)k;
    }
    drop_foreign(h, tau, i);
}

void
head_loss_rows(struct head_loss *h, const struct loss_opt *o,
    const struct weight *ws, const struct weight *wt, const float *hs,
    const struct targets *targets, const uint32_t *place,
    const uint32_t *target, size_t n, float *dw, float *dh,
    struct loss_sum *sum)
{
    assert(h->top == 0 || h->kind == TARGETS_TOP || o->direction == KL_FORWARD);
    assert(targets->kind == h->kind && targets->width == h->dt + h->top);
    for (size_t i = 0; i < n; i += h->s.R) {
        struct tile q = { .h = h,
            .o = o,
            .ws = ws,
            .wt = wt,
            .hs = hs + i * h->s.d,
            .target = target + i,
            .n = n - i < h->s.R ? n - i : h->s.R,
            .dw = dw,
            .dh = dh != NULL ? dh + i * h->s.d : NULL };

        for (size_t j = 0; h->kind != TARGETS_NONE && j < q.n; j++)
            gather_token(h, o->tau, targets, place[i + j], j);
        tile_losses(&q, sum);
    }
}
