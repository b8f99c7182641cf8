/* AdamW, clipping and schedules; see step.h. */
#include "base/mem.h"
#include "base/profile.h"
#include "kern/kern.h"
#include "kern/loss.h"
#include "train/adamw.h"
#include "train/step.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* Parameters a task: fixed, so that the norm's order of sums is fixed. */
#define SPAN ((size_t)1 << 16)

struct span {
    size_t group, at, n;
    int decay;              /* weight decay applies */
    int embed;              /* lr_embed applies */
};

struct adamw {
    struct arena arena;
    float **m, **v;         /* [ngroup][n] */
    size_t ngroup, nspan;
    struct span *span;
    double *sq;             /* [nspan] */
    uint64_t t;             /* steps done */
    /* the step at hand */
    struct tmodel *model;
    const struct loss_kern *k;
    struct adamw_k plain;   /* decay = 1: set a span */
    const struct adamw_opt *o;
    double lr;
};

static void
add_spans(struct adamw *a, size_t group, size_t at, size_t n, int decay,
    int embed)
{
    while (n > 0) {
        const size_t k = n < SPAN ? n : SPAN;

        a->span = xreallocarray(a->span, a->nspan + 1, sizeof(*a->span));
        a->span[a->nspan++] = (struct span){ group, at, k, decay, embed };
        at += k;
        n -= k;
    }
}

/* Spans of group i: a block's norms are kept apart, since they do not decay. */
static void
group_spans(struct adamw *a, const struct tmodel *t, size_t i)
{
    const struct group *g = &t->group[i];
    const size_t L = t->m.c.L;

    if (i >= L) {
        add_spans(a, i, 0, g->n, i != L + 1, i != L + 1);
        return;
    }
    for (int w = 0; w < W_N; w++) {
        const size_t end = w + 1 < W_N ? g->at[w + 1] : g->n;

        add_spans(a, i, g->at[w], end - g->at[w], w != W_NORM1
            && w != W_NORM2, 0);
    }
}

struct adamw *
adamw_new(const struct tmodel *t)
{
    struct adamw *a = xcalloc(1, sizeof(*a));

    a->ngroup = t->ngroup;
    a->m = xcalloc(t->ngroup, sizeof(*a->m));
    a->v = xcalloc(t->ngroup, sizeof(*a->v));
    arena_init(&a->arena, adamw_bytes(t));
    for (size_t i = 0; i < t->ngroup; i++) {
        a->m[i] = arena_alloc(&a->arena, t->group[i].n, sizeof(float));
        a->v[i] = arena_alloc(&a->arena, t->group[i].n, sizeof(float));
        group_spans(a, t, i);
    }
    a->sq = xcalloc(a->nspan, sizeof(*a->sq));
    return a;
}

size_t
adamw_bytes(const struct tmodel *t)
{
    struct arena a;

    arena_plan(&a);
    for (size_t i = 0; i < 2 * t->ngroup; i++)
        arena_alloc(&a, t->group[i / 2].n, sizeof(float));
    return a.used;
}

void
adamw_free(struct adamw *a)
{
    if (a == NULL)
        return;
    arena_release(&a->arena);
    free(a->m);
    free(a->v);
    free(a->span);
    free(a->sq);
    free(a);
}

float *
adamw_moment(struct adamw *a, size_t group, int which)
{
    return which == 0 ? a->m[group] : a->v[group];
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

static void
span_sumsq(void *ctx, size_t i, size_t worker)
{
    struct adamw *a = ctx;
    const struct span *s = &a->span[i];
    const double t = profile_begin();

    (void)worker;
    a->sq[i] = a->k->sumsq(a->model->group[s->group].g + s->at, s->n);
    profile_end("gradient norm", t, 0.0, 4.0 * (double)s->n);
}

static void
span_update(void *ctx, size_t i, size_t worker)
{
    struct adamw *a = ctx;
    const struct span *s = &a->span[i];
    struct group *g = &a->model->group[s->group];
    struct adamw_k k = a->plain;
    const double lr = s->embed ? a->lr * a->o->lr_embed : a->lr;
    const int decay = s->decay && (!s->embed || a->o->decay_embed);

    const double t = profile_begin();

    (void)worker;
    k.step = (float)(lr / (1.0 - pow(a->o->beta1, (double)a->t)));
    k.decay = decay ? (float)(1.0 - lr * a->o->decay) : 1.0f;
    a->k->adamw(g->p + s->at, g->g + s->at, a->m[s->group] + s->at,
        a->v[s->group] + s->at, s->n, &k);
    profile_end("AdamW", t, 0.0, 32.0 * (double)s->n);
}

int
adamw_step(struct adamw *a, struct tmodel *t, struct pool *pool,
    const struct adamw_opt *o, size_t n, double *norm, struct err *e)
{
    const double inv = n > 0 ? 1.0 / (double)n : 0.0;
    double sq = 0.0, scale = inv;

    a->model = t;
    a->k = loss_kern();
    a->o = o;
    a->lr = o->lr;
    pool_run(pool, a->nspan, span_sumsq, a);
    for (size_t i = 0; i < a->nspan; i++)
        sq += a->sq[i];
    *norm = sqrt(sq) * inv;
    if (!isfinite(*norm))
        return err_set(e, EX_NUM, "gradient norm is not finite");
    /* torch.nn.utils.clip_grad_norm_ */
    if (o->clip > 0.0 && *norm > 0.0) {
        const double c = o->clip / (*norm + 1e-6);

        scale *= c < 1.0 ? c : 1.0;
    }
    a->t++;
    a->plain = (struct adamw_k){
        .scale = (float)scale,
        .beta1 = (float)o->beta1,
        .beta2 = (float)o->beta2,
        .root = (float)(1.0 / sqrt(1.0 - pow(o->beta2, (double)a->t))),
        .eps = (float)o->eps,
    };
    pool_run(pool, a->nspan, span_update, a);
    return 0;
}

double
sched_lr(enum sched s, double lr, size_t k, size_t n, size_t w, double floor)
{
    const double pi = 3.14159265358979323846;
    double x;

    if (k < w)
        return lr * (double)k / (double)w;
    if (s == SCHED_CONST || n <= w)
        return lr;
    x = k < n ? (double)(k - w) / (double)(n - w) : 1.0;
    x = s == SCHED_COSINE ? 0.5 * (1.0 + cos(pi * x)) : 1.0 - x;
    return lr * (floor + (1.0 - floor) * x);
}
