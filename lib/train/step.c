/* One training step; see step.h for the losses. */
#include "train/step.h"
#include "base/profile.h"
#include "kern/kern.h"
#include "kern/loss.h"
#include "train/head.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Tokens of a SquareHead task. */
enum { SH_TOKENS = 64 };

struct step {
    struct tmodel *t;
    struct pool *pool;
    struct loss_opt o;
    size_t B, T, dt, top;
    struct bwd *bwd;
    struct arena arena;
    struct head_loss *head;
    float *ht;         /* [T,dt] teacher's scored states of a row */
    uint32_t *top_ids; /* [T,top] its scored tokens' tokens */
    float *top_p;      /* [T,top] their logp or share */
    float *top_sum;    /* [T,2] their lse, or [T] their self */
    uint32_t *target;  /* [T] */
    uint32_t *place;   /* [T] tokens that are scored */
    double *num, *den; /* [B * T/SH_TOKENS] parts of SquareHead */
    float *coef;       /* [B] */
    /* the micro-batch at hand */
    const struct rows *r;
    const struct target *y;
    struct loss_sum *sum;
    const float *sh_s, *sh_t;
    float *sh_dx;
};

static void
plan_arena(struct step *s, struct arena *a)
{
    const struct config *c = &s->t->m.c;
    const size_t parts = s->B * ((s->T + SH_TOKENS - 1) / SH_TOKENS);

    s->head = head_loss_new(a, s->pool, c->V, c->d, s->dt, s->top, s->T);
    s->target = arena_alloc(a, s->T, sizeof(*s->target));
    s->place = arena_alloc(a, s->T, sizeof(*s->place));
    s->num = arena_alloc(a, parts, sizeof(double));
    s->den = arena_alloc(a, parts, sizeof(double));
    s->coef = arena_alloc(a, s->B, sizeof(float));
    if (s->dt > 0)
        s->ht = arena_alloc(a, s->T * s->dt, sizeof(float));
    if (s->top > 0) {
        s->top_ids = arena_alloc(a, s->T * s->top, sizeof(*s->top_ids));
        s->top_p = arena_alloc(a, s->T * s->top, sizeof(float));
        s->top_sum = arena_alloc(a, s->T * 2, sizeof(float));
    }
}

struct step *
step_new(struct tmodel *t, struct pool *pool, const struct loss_opt *o,
    size_t B, size_t T, int how, size_t teacher_d, size_t top)
{
    struct step *s = xcalloc(1, sizeof(*s));
    struct arena count;

    s->t = t;
    s->pool = pool;
    s->o = *o;
    s->B = B;
    s->T = T;
    s->dt = teacher_d;
    s->top = top;
    s->bwd = bwd_new(t, pool, B, T, how);
    arena_plan(&count);
    plan_arena(s, &count);
    head_loss_free(s->head);
    arena_init(&s->arena, count.used);
    plan_arena(s, &s->arena);
    return s;
}

void
step_free(struct step *s)
{
    if (s == NULL)
        return;
    bwd_free(s->bwd);
    head_loss_free(s->head);
    arena_release(&s->arena);
    free(s);
}

size_t
step_bytes(const struct step *s, size_t tokens)
{
    return s->arena.cap + bwd_bytes(s->bwd, tokens);
}

/* n rows of d numbers from type t at src to fp32. */
static void
widen(enum dtype t, const void *src, size_t n, size_t d, float *out)
{
    const struct weight w = {
        .data = src,
        .dtype = t,
        .rows = n,
        .cols = d,
        .stride = d * (t == DT_F32 ? 4 : 2),
    };

    weight_rows(&w, 0, n, out);
}

/* What is said of token i of the micro-batch, as the n-th that is scored. */
static void
take_top(struct step *s, size_t i, size_t n)
{
    const size_t k = s->top, size = s->y->top_dtype == DT_F32 ? 4 : 2;

    memcpy(s->top_ids + n * k, (const char *)s->y->top_ids + i * k * 4, k * 4);
    widen(s->y->top_dtype, (const char *)s->y->top_logp + i * k * size, 1, k,
        s->top_p + n * k);
    memcpy(s->top_sum + n * 2, (const char *)s->y->top_lse + i * 8, 8);
}

static void
take_draws(struct step *s, size_t i, size_t n)
{
    const size_t k = s->top;
    const unsigned char *count = s->y->draw_count;

    memcpy(s->top_ids + n * k, (const char *)s->y->draw_ids + i * k * 4, k * 4);
    memcpy(s->top_sum + n, (const char *)s->y->draw_self + i * 4, 4);
    for (size_t j = 0; j < k; j++) {
        uint16_t c = 0;

        if (s->y->draw_dtype == DT_U16)
            memcpy(&c, count + (i * k + j) * 2, 2);
        else
            c = count[i * k + j];
        s->top_p[n * k + j] = (float)c / (float)k;
    }
}

/* Head and losses of row b: gathers the scored positions, scatters their
 * gradients to where the final states were. */
static void
row_losses(struct step *s, size_t b)
{
    const size_t d = s->t->m.c.d, L = s->t->m.c.L, T = s->r->T;
    const struct group *head = &s->t->group[s->t->m.c.tied ? L : L + 2];
    float *final = bwd_final(s->bwd) + b * T * d;
    float *hs = bwd_spare(s->bwd, BWD_SPARE_X);
    float *dh = bwd_spare(s->bwd, BWD_SPARE_Y);
    const uint8_t *scored = s->y->scored + b * T;
    const int kd = s->y->final != NULL;
    const int draws = !kd && s->y->draw_ids != NULL;
    const int said = draws || (!kd && s->y->top_ids != NULL);
    const struct top_rows top = { s->top, s->top_ids, s->top_p, s->top_sum,
        draws ? s->top_p : NULL, s->top_sum };
    const size_t size = s->y->final_dtype == DT_F32 ? 4 : 2;
    size_t n = 0;

    for (size_t i = 0; i < T; i++) {
        if (!scored[i])
            continue;
        assert(i + 1 < T);
        s->place[n] = (uint32_t)i;
        s->target[n] = s->r->ids[b * T + i + 1];
        memcpy(hs + n * d, final + i * d, d * sizeof(float));
        if (kd)
            widen(s->y->final_dtype,
                (const char *)s->y->final + (b * T + i) * s->dt * size, 1,
                s->dt, s->ht + n * s->dt);
        else if (draws)
            take_draws(s, b * T + i, n);
        else if (said)
            take_top(s, b * T + i, n);
        n++;
    }
    memset(final, 0, T * d * sizeof(float));
    if (n == 0)
        return;
    head_loss_rows(s->head, &s->o, head->p, s->y->head, hs, kd ? s->ht : NULL,
        said ? &top : NULL, s->target, n, head->g, dh, s->sum);
    for (size_t i = 0; i < n; i++)
        memcpy(final + s->place[i] * d, dh + i * d, d * sizeof(float));
}

static size_t
sh_parts(const struct step *s)
{
    return (s->r->T + SH_TOKENS - 1) / SH_TOKENS;
}

/* Task: SquareHead's sums over some tokens of a row; padding is skipped. */
static void
sh_sums(void *ctx, size_t task, size_t worker)
{
    struct step *s = ctx;
    const size_t T = s->r->T, d = s->t->m.c.d, b = task / sh_parts(s);
    const size_t t0 = task % sh_parts(s) * SH_TOKENS;
    const size_t t1 = t0 + SH_TOKENS < T ? t0 + SH_TOKENS : T;
    const double begin = profile_begin();

    (void)worker;
    s->num[task] = s->den[task] = 0.0;
    for (size_t i = b * T + t0; i < b * T + t1; i++)
        if (s->r->first[i] != UINT32_MAX)
            loss_kern()->ratio(s->sh_s + i * d, s->sh_t + i * d, d,
                &s->num[task], &s->den[task]);
    profile_end("SquareHead sums", begin, 0.0, 8.0 * (double)((t1 - t0) * d));
}

static void
sh_grad(void *ctx, size_t task, size_t worker)
{
    struct step *s = ctx;
    const size_t T = s->r->T, d = s->t->m.c.d, b = task / sh_parts(s);
    const size_t t0 = task % sh_parts(s) * SH_TOKENS;
    const size_t t1 = t0 + SH_TOKENS < T ? t0 + SH_TOKENS : T;
    const double begin = profile_begin();

    (void)worker;
    for (size_t i = b * T + t0; i < b * T + t1; i++)
        if (s->r->first[i] != UINT32_MAX)
            loss_kern()->diff_add(s->sh_dx + i * d, s->sh_s + i * d,
                s->sh_t + i * d, d, s->coef[b]);
    profile_end("SquareHead gradient", begin, 0.0,
        16.0 * (double)((t1 - t0) * d));
}

struct widen_job {
    enum dtype t;
    const void *src;
    size_t n, d;
    float *out;
};

static void
widen_task(void *ctx, size_t task, size_t worker)
{
    const struct widen_job *j = ctx;
    const size_t i = task * SH_TOKENS;
    const size_t n = j->n - i < SH_TOKENS ? j->n - i : SH_TOKENS;
    const size_t size = j->t == DT_F32 ? 4 : 2;
    const double t = profile_begin();

    (void)worker;
    widen(j->t, (const char *)j->src + i * j->d * size, n, j->d,
        j->out + i * j->d);
    profile_end("widening", t, 0.0, (double)((size + 4) * n * j->d));
}

/* SquareHead of block i: its value, and its gradient into dx. */
static void
square_head(void *ctx, size_t i, float *dx)
{
    struct step *s = ctx;
    const size_t L = s->t->m.c.L, d = s->t->m.c.d, n = s->r->B * s->r->T;
    const size_t parts = sh_parts(s);

    s->sh_s = bwd_hidden(s->bwd, i);
    s->sh_dx = dx;
    if (s->y->hidden_dtype == DT_F32 &&
        (uintptr_t)s->y->hidden[i] % sizeof(float) == 0) {
        s->sh_t = s->y->hidden[i];
    } else {
        float *wide = bwd_spare(s->bwd, BWD_SPARE_X);
        struct widen_job j = { s->y->hidden_dtype, s->y->hidden[i], n, d,
            wide };

        pool_run(s->pool, (n + SH_TOKENS - 1) / SH_TOKENS, widen_task, &j);
        s->sh_t = wide;
    }
    pool_run(s->pool, s->r->B * parts, sh_sums, s);
    for (size_t b = 0; b < s->r->B; b++) {
        double num = 0.0, den = 1e-6, nr = 0.0;

        for (size_t k = 0; k < parts; k++) {
            num += s->num[b * parts + k];
            den += s->den[b * parts + k];
        }
        for (size_t t = 0; t < s->r->T; t++)
            nr += s->y->scored[b * s->r->T + t] != 0;
        s->sum->sh += nr * num / den / (double)L;
        s->coef[b] = (float)(2.0 * s->o.w_sh * nr / den / (double)L);
    }
    pool_run(s->pool, s->r->B * parts, sh_grad, s);
}

void
step_add(struct step *s, const struct rows *r, const struct target *y,
    struct loss_sum *sum)
{
    const size_t BT = r->B * r->T;
    const int sh = y->hidden != NULL && s->o.w_sh != 0.0;

    assert(r->B <= s->B && r->T <= s->T);
    s->r = r;
    s->y = y;
    s->sum = sum;
    bwd_forward(s->bwd, r);
    for (size_t b = 0; b < r->B; b++)
        row_losses(s, b);
    for (size_t i = 0; i < BT; i++) {
        sum->n += y->scored[i] != 0;
        sum->tok += r->first[i] != UINT32_MAX;
    }
    bwd_backward(s->bwd, r, sh ? square_head : NULL, s);
}

double
step_rounding(const struct step *s)
{
    return bwd_rounding(s->bwd);
}

double
step_grad_rounding(const struct step *s)
{
    return bwd_grad_rounding(s->bwd);
}

void
step_flush(struct step *s)
{
    bwd_flush(s->bwd);
}
