/*
 * Logits, and scores computed from them: tiles of rows times slices of the
 * vocabulary.  A task is a slice, whose weights are widened once for all rows.
 * No [n,V] array exists unless the caller asks for logits.
 */
#include "model/pass/head.h"
#include "kern/kern.h"
#include "model/files/fetch.h"
#include "base/profile.h"
#include "model/pass/head_impl.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* head_score_draft keeps the logits of DRAFT_ROWS rows, or of more rows if
 * their logits are at most DRAFT_LOGITS numbers for each model (draft_rows). */
enum { DRAFT_ROWS = 2 * HEAD_SMALL, DRAFT_LOGITS = 1 << 24 };

/* Results of a slice for a row of one model.  max, top: the largest logit and
 * its id.  sum, soft: the sums of exp(z - max) and of exp((z - max)/tau). */
struct slice_loss {
    float max;
    uint32_t top;
    double sum, soft;
};
/* Results of a slice for a row of both models.  diff: sum of exp((zp -
 * max_p)/tau) (zp - zq).  back: the same with p and q exchanged. */
struct stat {
    struct slice_loss q, p;
    double diff, back;
};

struct headjob {
    struct fwd *f, *base;   /* base NULL: one model */
    const float *hq, *hp;   /* [n,d] */
    const float *zbase;     /* [n,V] logits in place of base and hp, or NULL */
    float *zout;            /* [n,V] out: logits; NULL: not wanted */
    float *keep_q, *keep_p; /* [n,V] out: logits of both models, kept for
                             * accept_task; NULL: not wanted */
    const uint32_t *target;
    size_t V; /* ids that are compared: at most f's vocabulary */
    size_t n, tile, nslice;
    float s;                /* 1 / tau */
    struct stat *stat;      /* [nslice,HEAD_ROWS] */
    struct pair_score *out; /* [n] for accept_task */
    float *zq, *zp;         /* [HEAD_ROWS] logits of the targets */
};

static struct head_room *
head_room(const struct fwd *f)
{
    return f->room[ROOM_HEAD];
}

void
head_layout(struct fwd *f, struct arena *a)
{
    struct head_room *h = room_make(&f->room[ROOM_HEAD], sizeof *h);
    const size_t threads = pool_size(f->pool), d = f->m->c.d;
    const size_t nslice = (f->m->c.V + HEAD_SLICE - 1) / HEAD_SLICE;

    h->logits = lay_each(a, threads, HEAD_TILE * HEAD_SLICE);
    h->pad = arena_alloc(a, HEAD_TILE * d, sizeof *h->pad);
    h->stat = arena_alloc(a, nslice * HEAD_ROWS, sizeof(struct stat));
    h->target_z = arena_alloc(a, 2 * HEAD_ROWS, sizeof(float));
}

void
head_wide(struct fwd *f)
{
    const size_t n = HEAD_SLICE * f->m->c.d;

    if (weight_f32(&f->m->head) == NULL && n > f->wide_n)
        f->wide_n = n;
}

/* The rows of the tile at r0.  If the tile ends after row n, they are a copy
 * padded with zeros. */
static const float *
head_tile_rows(const struct headjob *j, const struct fwd *f, const float *h,
    size_t r0)
{
    return r0 + j->tile <= j->n ? h + r0 * f->m->c.d : head_room(f)->pad;
}

static void
pad_rows(const struct headjob *j, struct fwd *f, const float *h)
{
    const size_t d = f->m->c.d, r0 = j->n / j->tile * j->tile;
    float *pad = head_room(f)->pad;

    memcpy(pad, h + r0 * d, (j->n - r0) * d * sizeof *h);
    memset(pad + (j->n - r0) * d, 0, (j->tile - (j->n - r0)) * d * sizeof *h);
}

const float *
head_slice(struct fwd *f, size_t v0, size_t n, size_t worker)
{
    const float *p = weight_f32(&f->m->head);

    if (p != NULL)
        return p + v0 * f->m->c.d;
    weight_rows(&f->m->head, v0, n, f->wide[worker]);
    return f->wide[worker];
}

static void
row_part(struct slice_loss *p, const float *z, size_t n, size_t v0, float s)
{
    size_t i = 0;

    p->max = kern.max(z, n);
    while (i + 1 < n && z[i] != p->max)
        i++;
    p->top = (uint32_t)(v0 + i);
    p->sum = kern.expsum(z, n, p->max, 1.0f);
    p->soft = s == 1.0f ? p->sum : kern.expsum(z, n, p->max, s);
}

/* Cap the logits z [m,n], if the model has a cap. */
static void
cap_logits(const struct fwd *f, float *z, size_t m, size_t n)
{
    const float cap = (float)f->m->c.final_cap;

    if (cap > 0.0f)
        kern.softcap(z, cap, m * n);
}

static void
head_task(void *ctx, size_t task, size_t worker)
{
    const struct headjob *j = ctx;
    struct fwd *f = j->f, *g = j->base;
    const size_t V = j->V, v0 = task * HEAD_SLICE;
    const size_t n = v0 + HEAD_SLICE <= V ? HEAD_SLICE : V - v0;
    const float *wq = head_slice(f, v0, n, worker);
    const float *wp = g != NULL ? head_slice(g, v0, n, worker) : NULL;
    float *zq = head_room(f)->logits[worker];
    float *zp = g != NULL ? head_room(g)->logits[worker] : NULL;

    for (size_t r0 = 0; r0 < j->n; r0 += j->tile) {
        const size_t end = r0 + j->tile < j->n ? r0 + j->tile : j->n;
        double t = profile_begin();

        kern.gemm_nt(j->tile, n, f->m->c.d, head_tile_rows(j, f, j->hq, r0),
            f->m->c.d, wq, f->m->c.d, GEMM_SET, zq, n);
        if (g != NULL)
            kern.gemm_nt(j->tile, n, g->m->c.d, head_tile_rows(j, g, j->hp, r0),
                g->m->c.d, wp, g->m->c.d, GEMM_SET, zp, n);
        weight_add_bias(&f->m->head, v0, n, j->tile, zq, n);
        if (g != NULL)
            weight_add_bias(&g->m->head, v0, n, j->tile, zp, n);
        cap_logits(f, zq, j->tile, n);
        if (g != NULL)
            cap_logits(g, zp, j->tile, n);
        profile_end("head logits", t,
            2.0 * (double)(j->tile * n) *
                (double)(f->m->c.d + (g != NULL ? g->m->c.d : 0)),
            0.0);
        t = profile_begin();
        for (size_t r = r0; r < end; r++) {
            const float *q = zq + (r - r0) * n;
            struct stat *st = j->stat + task * HEAD_ROWS + r;

            if (j->zout != NULL) {
                memcpy(j->zout + r * V + v0, q, n * sizeof *q);
                continue;
            }
            row_part(&st->q, q, n, v0, j->s);
            if (j->target != NULL && j->target[r] - v0 < n)
                j->zq[r] = q[j->target[r] - v0];
            if (g != NULL || j->zbase != NULL) {
                const float *p = j->zbase != NULL ? j->zbase + r * V + v0
                                                  : zp + (r - r0) * n;

                if (j->keep_q != NULL) {
                    memcpy(j->keep_q + r * V + v0, q, n * sizeof *q);
                    memcpy(j->keep_p + r * V + v0, p, n * sizeof *p);
                }
                row_part(&st->p, p, n, v0, j->s);
                kern.kl_sums(p, q, n, st->p.max, j->s, &st->diff);
                kern.kl_sums(q, p, n, st->q.max, j->s, &st->back);
                if (j->target != NULL && j->target[r] - v0 < n)
                    j->zp[r] = p[j->target[r] - v0];
            }
        }
        profile_end("head sums", t, 0.0,
            4.0 * (double)(j->tile * n) * (g != NULL ? 2.0 : 1.0));
        /* exponentials: for each logit of a model one, or two with a
         * temperature; for each pair of logits two more */
        if (j->zout == NULL)
            profile_exps("head sums",
                (double)(j->tile * n) * (j->s == 1.0f ? 1.0 : 2.0) *
                        (g != NULL ? 2.0 : 1.0) +
                    (g != NULL ? 2.0 * (double)(j->tile * n) : 0.0));
    }
    if (head_room(f)->forget)
        model_forget_tile(f->m, &f->m->head, v0, n);
}

void
fwd_forget_head(struct fwd *f)
{
    head_room(f)->forget = 1;
}

/* Results of all slices for one row: log-sum-exps at temperatures 1 and tau. */
struct total {
    float max;
    uint32_t top;
    double lse, soft;
};

static struct total
gather_slices(const struct headjob *j, size_t r, int base)
{
    struct total t = { -INFINITY, 0, 0.0, 0.0 };

    for (size_t k = 0; k < j->nslice; k++) {
        const struct stat *st = j->stat + k * HEAD_ROWS + r;
        const struct slice_loss *p = base ? &st->p : &st->q;

        if (p->max > t.max) {
            t.max = p->max;
            t.top = p->top;
        }
    }
    for (size_t k = 0; k < j->nslice; k++) {
        const struct stat *st = j->stat + k * HEAD_ROWS + r;
        const struct slice_loss *p = base ? &st->p : &st->q;
        const double down = (double)p->max - t.max;

        t.lse += p->sum * exp(down);
        t.soft += p->soft * exp(down * j->s);
    }
    t.lse = t.max + log(t.lse);
    t.soft = (double)t.max * j->s + log(t.soft);
    return t;
}

/* KL of one row, at temperature tau: E_p[(zp - zq)/tau] - lse_p + lse_q.  back:
 * with p and q exchanged. */
static double
row_kl(const struct headjob *j, size_t r, const struct total *q,
    const struct total *p, int back)
{
    const struct total *a = back ? q : p, *b = back ? p : q;
    double e = 0.0;

    for (size_t k = 0; k < j->nslice; k++) {
        const struct stat *st = j->stat + k * HEAD_ROWS + r;
        const float max = back ? st->q.max : st->p.max;

        e += (back ? st->back : st->diff) * exp((double)max * j->s - a->soft);
    }
    return e * j->s - a->soft + b->soft;
}

/* Run a round of at most HEAD_ROWS rows. */
static void
head_run(struct headjob *j)
{
    j->tile = j->n > HEAD_SMALL ? HEAD_TILE : HEAD_SMALL;
    assert(j->V <= j->f->m->c.V);
    if (j->base != NULL) {
        assert(j->V <= j->base->m->c.V);
        assert(pool_size(j->base->pool) >= pool_size(j->f->pool));
    }
    j->nslice = (j->V + HEAD_SLICE - 1) / HEAD_SLICE;
    j->stat = head_room(j->f)->stat;
    j->zq = head_room(j->f)->target_z;
    j->zp = j->zq + HEAD_ROWS;
    fetch_now(j->f->m, fetch_head(j->f->m));
    if (j->base != NULL)
        fetch_now(j->base->m, fetch_head(j->base->m));
    if (j->n % j->tile != 0) {
        pad_rows(j, j->f, j->hq);
        if (j->base != NULL)
            pad_rows(j, j->base, j->hp);
    }
    pool_run(j->f->pool, j->nslice, head_task, j);
    fetch_done(j->f->m, fetch_head(j->f->m));
    if (j->base != NULL)
        fetch_done(j->base->m, fetch_head(j->base->m));
}

void
fwd_head(struct fwd *f, const float *h, size_t n, float *logits)
{
    for (size_t at = 0; at < n; at += HEAD_ROWS) {
        struct headjob j = { .f = f,
            .hq = h + at * f->m->c.d,
            .V = f->m->c.V,
            .s = 1.0f,
            .zout = logits + at * f->m->c.V,
            .n = n - at < HEAD_ROWS ? n - at : HEAD_ROWS };

        head_run(&j);
    }
}

void
head_score(struct fwd *f, const float *h, const uint32_t *target, size_t n,
    double *nll, double *lse, uint32_t *top)
{
    for (size_t at = 0; at < n; at += HEAD_ROWS) {
        struct headjob j = { .f = f,
            .hq = h + at * f->m->c.d,
            .V = f->m->c.V,
            .s = 1.0f,
            .target = target != NULL ? target + at : NULL,
            .n = n - at < HEAD_ROWS ? n - at : HEAD_ROWS };

        head_run(&j);
        for (size_t r = 0; r < j.n; r++) {
            const struct total t = gather_slices(&j, r, 0);

            if (nll != NULL)
                nll[at + r] = t.lse - j.zq[r];
            if (lse != NULL)
                lse[at + r] = t.lse;
            if (top != NULL)
                top[at + r] = t.top;
        }
    }
}

double
head_accept(const float *zq, double lse_q, const float *zp, double lse_p,
    size_t V, float *min)
{
    const float shift = (float)(lse_p - lse_q);
    float max;

    for (size_t v = 0; v < V; v++) {
        const float q = zq[v], p = zp[v] - shift;

        min[v] = p < q ? p : q;
    }
    max = kern.max(min, V);
    /* two equal rows: rounding may bring the sum above 1 */
    return fmin(kern.expsum(min, V, max, 1.0f) * exp(max - lse_q), 1.0);
}

static void
accept_task(void *ctx, size_t r, size_t worker)
{
    const struct headjob *j = ctx;
    float *zq = j->keep_q + r * j->V;

    (void)worker;
    j->out[r].accept = head_accept(zq, gather_slices(j, r, 0).lse,
        j->keep_p + r * j->V, gather_slices(j, r, 1).lse, j->V, zq);
}

/* Number of rows of a round whose logits are kept. */
static size_t
draft_rows(size_t V)
{
    const size_t n = DRAFT_LOGITS / V / HEAD_SMALL * HEAD_SMALL;

    return n < DRAFT_ROWS ? DRAFT_ROWS : n < HEAD_ROWS ? n : HEAD_ROWS;
}

size_t
head_draft_room(size_t most)
{
    const size_t all = most * HEAD_ROWS, least = most * DRAFT_ROWS;
    const size_t n = all < DRAFT_LOGITS ? all : DRAFT_LOGITS;

    return 2 * (n > least ? n : least);
}

/* Score n rows against j.base and j.hp, or against j.zbase. */
static void
score_pair_row(struct headjob j, size_t n, struct pair_score *out)
{
    const size_t most = j.keep_q != NULL ? draft_rows(j.V) : HEAD_ROWS;
    const struct headjob all = j;
    const size_t d = j.f->m->c.d;

    for (size_t at = 0; at < n; at += most) {
        j.hq = all.hq + at * d;
        j.hp = j.base != NULL ? all.hp + at * j.base->m->c.d : NULL;
        j.zbase = all.zbase != NULL ? all.zbase + at * j.V : NULL;
        j.target = all.target != NULL ? all.target + at : NULL;
        j.n = n - at < most ? n - at : most;
        head_run(&j);
        for (size_t r = 0; r < j.n; r++) {
            const struct total q = gather_slices(&j, r, 0),
                               p = gather_slices(&j, r, 1);

            out[at + r] = (struct pair_score){ q.lse - j.zq[r], p.lse - j.zp[r],
                row_kl(&j, r, &q, &p, 0), row_kl(&j, r, &q, &p, 1), NAN,
                q.top == p.top };
        }
        j.out = out + at;
        if (j.keep_q != NULL)
            pool_run(j.f->pool, j.n, accept_task, &j);
    }
}

void
head_score_pair(struct fwd *f, const float *hq, struct fwd *base,
    const float *hp, size_t V, const uint32_t *target, size_t n, double tau,
    struct pair_score *out)
{
    assert(tau > 0.0);
    score_pair_row((struct headjob){ .f = f,
                       .base = base,
                       .V = V,
                       .hq = hq,
                       .hp = hp,
                       .s = (float)(1.0 / tau),
                       .target = target },
        n, out);
}

void
head_score_draft(struct fwd *f, const float *hq, struct fwd *base,
    const float *hp, size_t V, const uint32_t *target, size_t n, float *room,
    struct pair_score *out)
{
    score_pair_row((struct headjob){ .f = f,
                       .base = base,
                       .V = V,
                       .hq = hq,
                       .hp = hp,
                       .s = 1.0f,
                       .target = target,
                       .keep_q = room,
                       .keep_p = room + draft_rows(V) * V },
        n, out);
}

void
head_score_logits(struct fwd *f, const float *hq, const float *zp,
    const uint32_t *target, size_t n, double tau, struct pair_score *out)
{
    assert(tau > 0.0);
    score_pair_row((struct headjob){ .f = f,
                       .V = f->m->c.V,
                       .hq = hq,
                       .zbase = zp,
                       .s = (float)(1.0 / tau),
                       .target = target },
        n, out);
}
