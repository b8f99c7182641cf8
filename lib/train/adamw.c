/* AdamW and clipping; see adamw.h. */
#include "train/adamw.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/profile.h"
#include "base/rng.h"
#include "base/timeline.h"
#include "kern/kern.h"
#include "kern/loss.h"
#include "model/config/family.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Moments that are widened at a time. */
enum { WIDE = 1024 };

/* Most parameters of a span, which a task updates.  Spans do not depend on the
 * number of threads, so neither does the order in which the norm is summed.
 * Parts of ranks begin where spans begin, so smaller spans (SPAN_EVEN) make
 * these parts more equal. */
enum { SPAN = 1 << 16, SPAN_EVEN = GROUP_SPAN };

struct param_span {
    size_t group, at, n;
    size_t in;                 /* index of its moments in this rank's part */
    int tensor;                /* W_* of a block's tensor */
    int decay;                 /* does weight decay apply? */
    float rate;                /* factor of the learning rate */
    const unsigned char *mask; /* bits of struct group's mask, or NULL */
};

struct adamw {
    struct arena arena;
    enum dtype type; /* element type of m and v */
    void **m, **v;   /* [ngroup][n] moments of this rank's part */
    float **mean;    /* [ngroup][n] averages of the part, or NULL */
    struct arena means;
    size_t ngroup, nspan;
    struct param_span *span;
    const struct dist_group *ranks;
    size_t **part;       /* [ngroup][ranks+1] */
    size_t most;         /* most elements of a span */
    size_t *own, nown;   /* [nown] indices of this rank's spans */
    size_t *slot;        /* [nspan] index in sq of a span's sum of squares */
    size_t *sq_at;       /* [ranks+1] indices in sq at which ranks begin */
    double *sq;          /* [nspan] */
    double *lost, *kept; /* [nspan] sums of squares: rounding errors, moments */
    double rounding;
    uint64_t t; /* steps done */
};

/* A call of adamw_step, for tasks that do a span of parameters. */
struct adamw_call {
    struct adamw *a;
    struct tmodel *model;
    const struct loss_kern *k;
    const struct adamw_opt *o;
    struct adamw_k plain; /* constants that all spans share */
    float mask_decay;     /* scaled for sums of gradients, not their mean */
};

static void
add_spans(struct adamw *a, size_t group, int tensor, size_t at, size_t n,
    int decay, const unsigned char *mask)
{
    while (n > 0) {
        const size_t k = n < a->most ? n : a->most;

        a->span = xreallocarray(a->span, a->nspan + 1, sizeof(*a->span));
        a->span[a->nspan++] =
            (struct param_span){ group, at, k, at, tensor, decay, 1.0f, mask };
        at += k;
        mask += mask != NULL ? a->most / 8 : 0;
        n -= k;
    }
}

/* Make spans of group i.  Norms and biases of a block have spans of their own,
 * since they do not decay. */
static void
group_spans(struct adamw *a, const struct tmodel *t, size_t i)
{
    const struct group *g = &t->group[i];
    const size_t L = t->m.c.L;

    if (i >= L) {
        add_spans(a, i, 0, 0, g->n, 0, NULL);
        return;
    }
    for (int w = 0; w < W_N; w++) {
        const size_t end = w + 1 < W_N ? g->at[w + 1] : g->n;

        add_spans(a, i, w, g->at[w], end - g->at[w],
            !block_is_vector(w) && !block_is_bias(w), g->mask[w]);
    }
}

static size_t
moment_size(enum dtype type)
{
    return type == DT_BF16 ? sizeof(uint16_t) : sizeof(float);
}

/* Cut a group into the parts of ranks, which begin where spans do. */
static void
cut_parts(struct adamw *a, size_t group, const struct tmodel *t)
{
    const size_t n = a->ranks->n;

    for (size_t r = 0; r <= n; r++)
        a->part[group][r] = tmodel_cut(t, group, r, n);
    assert(n == 1 || (t->share.n <= 1 && !stages_any(&t->stages)) ||
        adamw_own(a, group) == t->group[group].own);
}

/* Find this rank's spans, and give the spans of a rank neighbouring places in
 * sq. */
static void
share_spans(struct adamw *a)
{
    size_t k = 0;

    a->own = xcalloc(a->nspan, sizeof(*a->own));
    a->slot = xcalloc(a->nspan, sizeof(*a->slot));
    a->sq_at = xcalloc(a->ranks->n + 1, sizeof(*a->sq_at));
    for (size_t r = 0; r < a->ranks->n; r++) {
        for (size_t i = 0; i < a->nspan; i++) {
            struct param_span *s = &a->span[i];
            const size_t *at = a->part[s->group];

            if (s->at < at[r] || s->at >= at[r + 1])
                continue;
            a->slot[i] = k++;
            if (r != a->ranks->rank)
                continue;
            a->own[a->nown++] = i;
            s->in = s->at - at[r];
        }
        a->sq_at[r + 1] = k;
    }
}

struct adamw *
adamw_new(const struct tmodel *t, enum dtype moments)
{
    return adamw_new_parts(t, moments, NULL, 0);
}

struct adamw *
adamw_new_parts(const struct tmodel *t, enum dtype moments,
    const struct dist_group *g, int even)
{
    static const struct dist_group alone = { "alone", 0, 1, NULL };
    struct adamw *a = xcalloc(1, sizeof(*a));
    size_t bytes = 0;

    g = g != NULL ? g : &alone;
    assert(moments == DT_F32 || moments == DT_BF16);
    a->type = moments;
    a->ngroup = t->ngroup;
    a->ranks = g;
    a->most = even || (g->n > 1 && !stages_any(&t->stages)) ? SPAN_EVEN : SPAN;
    a->m = xcalloc(t->ngroup, sizeof(*a->m));
    a->v = xcalloc(t->ngroup, sizeof(*a->v));
    a->part = xcalloc(t->ngroup, sizeof(*a->part));
    for (size_t i = 0; i < t->ngroup; i++) {
        group_spans(a, t, i);
        a->part[i] = xcalloc(g->n + 1, sizeof(**a->part));
        cut_parts(a, i, t);
        bytes += 2 * (adamw_own(a, i) * moment_size(moments) + 64);
    }
    arena_init(&a->arena, bytes);
    for (size_t i = 0; i < t->ngroup; i++) {
        a->m[i] = arena_alloc(&a->arena, adamw_own(a, i), moment_size(moments));
        a->v[i] = arena_alloc(&a->arena, adamw_own(a, i), moment_size(moments));
    }
    share_spans(a);
    a->sq = xcalloc(3 * a->nspan, sizeof(*a->sq));
    a->lost = a->sq + a->nspan;
    a->kept = a->lost + a->nspan;
    return a;
}

void
adamw_rates(struct adamw *a, const struct tmodel *t,
    double (*rate)(const void *ctx, const char *name), const void *ctx)
{
    for (size_t i = 0; i < a->nspan; i++) {
        const struct param_span *s = &a->span[i];
        char *name = tmodel_name(&t->m.c, s->group, s->tensor);

        a->span[i].rate = (float)rate(ctx, name);
        free(name);
    }
}

int
adamw_in_parts(const struct adamw *a)
{
    return a->ranks->n > 1;
}

const size_t *
adamw_part(const struct adamw *a, size_t group)
{
    return a->part[group];
}

size_t
adamw_rank(const struct adamw *a)
{
    return a->ranks->rank;
}

size_t
adamw_own(const struct adamw *a, size_t group)
{
    const size_t *at = a->part[group] + a->ranks->rank;

    return at[1] - at[0];
}

size_t
adamw_bytes(const struct tmodel *t, enum dtype moments)
{
    struct arena a;

    arena_plan(&a);
    for (size_t i = 0; i < 2 * t->ngroup; i++)
        arena_alloc(&a,
            stages_any(&t->stages) ? t->group[i / 2].own : t->group[i / 2].n,
            moment_size(moments));
    return a.used;
}

void
adamw_free(struct adamw *a)
{
    if (a == NULL)
        return;
    arena_release(&a->arena);
    arena_release(&a->means);
    free(a->mean);
    for (size_t i = 0; i < a->ngroup; i++)
        free(a->part[i]);
    free(a->part);
    free(a->own);
    free(a->slot);
    free(a->sq_at);
    free(a->m);
    free(a->v);
    free(a->span);
    free(a->sq);
    free(a);
}

enum dtype
adamw_dtype(const struct adamw *a)
{
    return a->type;
}

double
adamw_rounding(const struct adamw *a)
{
    return a->rounding;
}

void *
adamw_moment(struct adamw *a, size_t group, int which)
{
    return which == 0 ? a->m[group] : which == 1 ? a->v[group] : a->mean[group];
}

int
adamw_kinds(const struct adamw *a)
{
    return a->mean != NULL ? 3 : 2;
}

enum dtype
adamw_kind_dtype(const struct adamw *a, int which)
{
    return which == 2 ? DT_F32 : a->type;
}

void
adamw_average(struct adamw *a, const struct tmodel *t)
{
    size_t bytes = 0;

    for (size_t i = 0; i < a->ngroup; i++)
        bytes += adamw_own(a, i) * sizeof(float) + 64;
    arena_init(&a->means, bytes);
    a->mean = xcalloc(a->ngroup, sizeof *a->mean);
    for (size_t i = 0; i < a->ngroup; i++)
        a->mean[i] = arena_alloc(&a->means, adamw_own(a, i), sizeof(float));
    for (size_t i = 0; i < a->nown; i++) {
        const struct param_span *s = &a->span[a->own[i]];

        memcpy(a->mean[s->group] + s->in, group_p(&t->group[s->group], s->at),
            s->n * sizeof(float));
    }
}

uint64_t
adamw_count(const struct adamw *a)
{
    return a->t;
}

void
adamw_set_count(struct adamw *a, uint64_t t)
{
    a->t = t;
}

/* Return n gradients of a group, from element `at` on, in fp32: where they are,
 * or, if they are bf16, widened into room [n], n <= WIDE. */
static float *
span_gradients(const struct group *g, size_t at, size_t n, float *room)
{
    if (g->half == NULL)
        return group_g(g, at);
    kern.widen_bf16(room, g->half + at, n);
    return room;
}

/* Zero the numbers of x[n] whose bit in mask is 0, eight at a time, which
 * compilers turn into a few instructions. */
static void
mask_float(float *x, size_t n, const unsigned char *mask)
{
    uint32_t u[8] = { 0 };

    for (size_t i = 0; i < n; i += 8) {
        const size_t k = n - i < 8 ? n - i : 8;

        memcpy(u, x + i, k * sizeof *u);
        for (unsigned j = 0; j < 8; j++)
            u[j] &= (mask[i / 8] & 1u << j) != 0 ? UINT32_MAX : 0;
        memcpy(x + i, u, k * sizeof *u);
    }
}

static void
mask_half(uint16_t *x, size_t n, const unsigned char *mask)
{
    for (size_t i = 0; i < n; i++)
        x[i] = mask[i / 8] >> i % 8 & 1 ? x[i] : 0;
}

/* g += by * p for masked weights. */
static void
pull_left_out(float *g, const float *p, size_t n, const unsigned char *mask,
    float by)
{
    for (size_t i = 0; i < n; i++)
        g[i] += (mask[i / 8] >> i % 8 & 1) != 0 ? 0.0f : by * p[i];
}

static void
zero_gradients(const struct group *g, const struct param_span *s)
{
    if (g->half != NULL)
        memset(g->half + s->at, 0, s->n * sizeof *g->half);
    else
        memset(group_g(g, s->at), 0, s->n * sizeof(float));
}

static void
span_sumsq(void *ctx, size_t task, size_t worker)
{
    const struct adamw_call *c = ctx;
    struct adamw *a = c->a;
    const size_t i = a->own[task];
    const struct param_span *s = &a->span[i];
    const struct group *g = &c->model->group[s->group];
    const double t = profile_begin();
    double *const sq = &a->sq[a->slot[i]];
    float room[WIDE];

    (void)worker;
    *sq = 0.0;
    if (s->rate == 0.0f) {
        zero_gradients(g, s);
        return;
    }
    if (s->mask != NULL && c->model->effective.of > 0)
        pull_left_out(group_g(g, s->at), group_p(g, s->at), s->n, s->mask,
            c->mask_decay);
    else if (s->mask != NULL && g->half != NULL)
        mask_half(g->half + s->at, s->n, s->mask);
    else if (s->mask != NULL)
        mask_float(group_g(g, s->at), s->n, s->mask);
    for (size_t k = 0; k < s->n && g->half != NULL; k += WIDE) {
        const size_t n = s->n - k < WIDE ? s->n - k : WIDE;

        *sq += c->k->sumsq(span_gradients(g, s->at + k, n, room), n);
    }
    if (g->half == NULL)
        *sq = c->k->sumsq(group_g(g, s->at), s->n);
    profile_end("gradient norm", t, 0.0, 4.0 * (double)s->n);
}

/* Round x[n], n <= WIDE, to bf16 stochastically; key and place, a multiple of
 * 4, determine the random numbers.  Adds to *lost the squares of the rounding
 * errors, to *kept the squares of x. */
static void
round_by_chance(uint16_t *out, const float *x, size_t n, uint64_t key,
    size_t place, double *lost, double *kept)
{
    uint16_t chance[WIDE];
    float back[WIDE];

    for (size_t i = 0; i < n; i += 4) {
        const uint64_t r = rng_u64(key, (place + i) / 4);

        for (size_t j = i; j < i + 4 && j < n; j++)
            chance[j] = (uint16_t)(r >> (j - i) * 16);
    }
    kern.chance_bf16(out, x, chance, n);
    kern.widen_bf16(back, out, n);
    *lost += kern.sqdist(back, x, n);
    *kept += kern.sumsq(x, n);
}

/* Update a span whose moments or gradients are bf16, WIDE elements at a
 * time. */
static void
update_rounded(const struct adamw_call *c, const struct param_span *s,
    const struct adamw_k *k, double *lost, double *kept)
{
    struct adamw *a = c->a;
    const struct group *g = &c->model->group[s->group];
    const uint64_t key = rng_key(rng_key(a->t, s->group), 'm');
    const int half = a->type == DT_BF16;
    float wide[3][WIDE];

    *lost = *kept = 0.0;
    for (size_t i = 0; i < s->n; i += WIDE) {
        const size_t n = s->n - i < WIDE ? s->n - i : WIDE, at = s->at + i;
        uint16_t *mh = (uint16_t *)a->m[s->group] + s->in + i;
        uint16_t *vh = (uint16_t *)a->v[s->group] + s->in + i;
        float *m = half ? wide[0] : (float *)a->m[s->group] + s->in + i;
        float *v = half ? wide[1] : (float *)a->v[s->group] + s->in + i;

        if (half) {
            kern.widen_bf16(m, mh, n);
            kern.widen_bf16(v, vh, n);
        }
        c->k->adamw(group_p(g, at), span_gradients(g, at, n, wide[2]), m, v, n,
            k);
        if (half) {
            round_by_chance(mh, m, n, key, at, lost, kept);
            round_by_chance(vh, v, n, rng_key(key, 'v'), at, lost, kept);
        }
        if (g->half != NULL)
            memset(g->half + at, 0, n * sizeof *g->half);
    }
}

/* Let the averages of a span follow its parameters. */
static void
follow_span(const struct adamw *a, const struct group *g,
    const struct param_span *s, double keep)
{
    const float rest = (float)(1.0 - keep);

    for (size_t j = 0; j < s->n && a->mean != NULL; j++) {
        float *mean = a->mean[s->group] + s->in + j;

        *mean += rest * (group_p(g, s->at)[j] - *mean);
    }
}

void
adamw_follow(struct adamw *a, const struct tmodel *t, double keep)
{
    for (size_t i = 0; i < a->nown; i++) {
        const struct param_span *s = &a->span[a->own[i]];

        follow_span(a, &t->group[s->group], s, keep);
    }
}

static void
span_update(void *ctx, size_t task, size_t worker)
{
    const struct adamw_call *c = ctx;
    struct adamw *a = c->a;
    const size_t i = a->own[task];
    const struct param_span *s = &a->span[i];
    struct group *g = &c->model->group[s->group];
    struct adamw_k k = c->plain;
    const double lr = c->o->lr * s->rate;
    const double t = profile_begin();

    (void)worker;
    k.step = (float)(lr / (1.0 - pow(c->o->beta1, (double)a->t)));
    k.decay = s->decay ? (float)(1.0 - lr * c->o->decay) : 1.0f;
    if (a->type == DT_BF16 || g->half != NULL)
        update_rounded(c, s, &k, a->lost + i, a->kept + i);
    else
        c->k->adamw(group_p(g, s->at), group_g(g, s->at),
            (float *)a->m[s->group] + s->in, (float *)a->v[s->group] + s->in,
            s->n, &k);
    /* a masked weight stays 0 without gradient and moments, unless eps is 0:
     * then it becomes 0 / 0 */
    if (s->mask != NULL && c->model->effective.of == 0 && !(k.eps > 0.0f))
        mask_float(group_p(g, s->at), s->n, s->mask);
    follow_span(a, g, s, c->o->average);
    profile_end("AdamW", t, 0.0,
        (a->type == DT_BF16 ? 24.0 : 32.0) * (double)s->n);
}

/* Get the parameters that other ranks have updated, of groups that this rank
 * keeps whole.  If each of several ranks has all gradients, zero them. */
static void
gather_parameters(const struct adamw *a, struct tmodel *t)
{
    const size_t L = t->m.c.L, end = a->ranks->n - 1;

    if (stages_any(&t->stages)) {
        if (t->m.c.tied)
            dist_pass(a->ranks, 0, end, t->group[L].p,
                t->group[L].n * sizeof(float));
        for (size_t i = L + OUTER_NORM; i < a->ngroup; i += 2)
            dist_pass(a->ranks, end, 0, t->group[i].p,
                t->group[i].n * sizeof(float));
        return;
    }
    for (size_t i = 0; i < a->ngroup && a->ranks->n > 1; i++)
        if (t->group[i].n > 0 && t->group[i].part_p == NULL)
            dist_all_gather(a->ranks, t->group[i].p, sizeof(float), a->part[i]);
    if (a->ranks->n > 1 && t->share.n <= 1)
        tmodel_zero_grad(t);
}

void
adamw_swap(struct adamw *a, struct tmodel *t)
{
    for (size_t i = 0; i < a->nown; i++) {
        const struct param_span *s = &a->span[a->own[i]];
        float *p = group_p(&t->group[s->group], s->at);
        float *mean = a->mean[s->group] + s->in;

        for (size_t j = 0; j < s->n; j++) {
            const float x = p[j];

            p[j] = mean[j];
            mean[j] = x;
        }
    }
    gather_parameters(a, t);
}

/* 1 - beta.  To keep the bits of earlier runs, a beta of at most 0.999 is first
 * rounded to fp32; this changes the result by at most 3e-5 of it.  For a beta
 * nearer to 1 the change could be a fifth of the result. */
static float
rest_of(double beta)
{
    return beta > 0.999 ? (float)(1.0 - beta) : 1.0f - (float)beta;
}

/* The rounding error of all moments in the last step, relative to the
 * moments. */
static double
all_rounding(const struct adamw *a)
{
    double lost = 0.0, kept = 0.0;

    for (size_t i = 0; i < a->nspan; i++) {
        lost += a->lost[i];
        kept += a->kept[i];
    }
    return kept > 0.0 ? sqrt(lost / kept) : 0.0;
}

int
adamw_step(struct adamw *a, struct tmodel *t, struct pool *pool,
    const struct adamw_opt *o, size_t n, double *norm, struct err *e)
{
    const double inv = n > 0 ? 1.0 / (double)n : 0.0;
    double sq = 0.0, scale = inv, begin = clock_now();
    struct adamw_call c = { .a = a,
        .model = t,
        .k = loss_kern(),
        .o = o,
        .mask_decay = (float)(o->mask_decay * (double)n) };

    pool_run(pool, a->nown, span_sumsq, &c);
    timeline_add("compute", "gradient norm", begin);
    dist_all_gather(a->ranks, a->sq, sizeof(*a->sq), a->sq_at);
    for (size_t i = 0; i < a->nspan; i++)
        sq += a->sq[a->slot[i]];
    *norm = sqrt(sq) * inv;
    if (!isfinite(*norm))
        return err_set(e, EX_NUM, "gradient norm is not finite");
    if (o->limit > 0.0 && *norm > o->limit) {
        tmodel_zero_grad(t);
        return 1;
    }
    /* torch.nn.utils.clip_grad_norm_ */
    if (o->clip > 0.0 && *norm > 0.0) {
        const double by = o->clip / (*norm + 1e-6);

        scale *= by < 1.0 ? by : 1.0;
    }
    a->t++;
    c.plain = (struct adamw_k){
        .scale = (float)scale,
        .beta2 = (float)o->beta2,
        .rest1 = rest_of(o->beta1),
        .rest2 = rest_of(o->beta2),
        .root = (float)(1.0 / sqrt(1.0 - pow(o->beta2, (double)a->t))),
        .eps = (float)o->eps,
    };
    begin = clock_now();
    pool_run(pool, a->nown, span_update, &c);
    timeline_add("compute", "AdamW", begin);
    gather_parameters(a, t);
    if (a->type == DT_BF16 && !(a->rounding > 0.0))
        a->rounding = all_rounding(a);
    return 0;
}
