/* One training step; see step.h for the losses. */
#include "train/step.h"
#include "base/profile.h"
#include "kern/kern.h"
#include "kern/loss.h"
#include "model/fetch.h"
#include "train/head_loss.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Tokens of a SquareHead task. */
enum { SH_TOKENS = 64 };

struct step {
    struct tmodel *t;
    struct pool *pool;
    struct loss_opt o;
    size_t B, T;
    struct said like;
    const struct weight *teacher_head;
    struct bwd *bwd;
    struct pipe *pipe; /* NULL: this process has the whole model */
    struct arena arena;
    struct head_loss *head;
    uint32_t *target;  /* [T] */
    uint32_t *place;   /* [T] tokens that are scored */
    double *num, *den; /* [B * T/SH_TOKENS] parts of SquareHead */
    float *coef;       /* [B] */
    float *wide;       /* [workers,depth] outputs wider or narrower than the
                        * student's */
    /* the message, and the rows of it at hand */
    const struct rows *all;
    const uint8_t *all_scored;
    const struct said *all_said;
    struct rows rows;
    struct said its;
    const struct rows *r;
    const uint8_t *scored;
    const struct said *y;
    struct loss_sum *sum;
    const struct said_tensor *sh_y;
    const float *sh_s, *sh_t;
    float *sh_dx;
};

void
loss_sum_add(struct loss_sum *to, const struct loss_sum *from)
{
    to->ce += from->ce;
    to->kl += from->kl;
    to->sh += from->sh;
    to->n += from->n;
    to->tok += from->tok;
}

static void
plan_arena(struct step *s, struct arena *a)
{
    const struct config *c = &s->t->m.c;
    const size_t parts = s->B * ((s->T + SH_TOKENS - 1) / SH_TOKENS);

    if (stages_last(&s->t->stages))
        s->head = head_loss_new(a, s->pool, c->V, c->d, &s->like, s->T);
    s->target = arena_alloc(a, s->T, sizeof(*s->target));
    s->place = arena_alloc(a, s->T, sizeof(*s->place));
    s->num = arena_alloc(a, parts, sizeof(double));
    s->den = arena_alloc(a, parts, sizeof(double));
    s->coef = arena_alloc(a, s->B, sizeof(float));
    if (s->like.nblock > 0 && s->like.depth != c->d)
        s->wide =
            arena_alloc(a, pool_size(s->pool) * s->like.depth, sizeof(float));
}

struct step *
step_new(struct tmodel *t, struct pool *pool, const struct loss_opt *o,
    size_t B, size_t T, int how, const struct said *like,
    const struct weight *head)
{
    struct step *s = xcalloc(1, sizeof(*s));
    struct arena count;

    s->t = t;
    s->pool = pool;
    s->o = *o;
    s->B = B;
    s->T = T;
    s->like = *like;
    s->teacher_head = head;
    s->bwd = bwd_new(t, pool, B, T, how);
    arena_plan(&count);
    plan_arena(s, &count);
    head_loss_free(s->head);
    arena_init(&s->arena, count.used);
    plan_arena(s, &s->arena);
    return s;
}

void
step_pipe(struct step *s, struct pipe *pipe)
{
    s->pipe = pipe;
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

/* Head and losses of row b: gathers the scored positions, scatters their
 * gradients to where the final states were.  dw: the head's gradient, or NULL:
 * none are made. */
static void
row_losses(struct step *s, size_t b, struct head_loss *h,
    const struct loss_opt *o, const struct weight *teacher, float *dw)
{
    const size_t d = s->t->m.c.d, T = s->r->T;
    float *final = bwd_final(s->bwd) + b * T * d;
    float *hs = bwd_spare(s->bwd, BWD_SPARE_X);
    float *dh = bwd_spare(s->bwd, BWD_SPARE_Y);
    const uint8_t *scored = s->scored + b * T;
    const struct said said = said_rows(s->y, b);
    size_t n = 0;

    for (size_t i = 0; i < T; i++) {
        if (!scored[i])
            continue;
        assert(i + 1 < T);
        s->place[n] = (uint32_t)i;
        s->target[n] = s->r->ids[b * T + i + 1];
        memcpy(hs + n * d, final + i * d, d * sizeof(float));
        n++;
    }
    memset(final, 0, T * d * sizeof(float));
    if (n == 0)
        return;
    head_loss_rows(h, o, weight_f32(&s->t->m.head), teacher, hs, &said,
        s->place, s->target, n, dw, dh, s->sum);
    for (size_t i = 0; i < n && dw != NULL; i++)
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

/* Averages of x [n] as PyTorch's adaptive_avg_pool1d has them: y[j], j < m, is
 * that of x from floor(j n/m) to before ceil((j+1) n/m). */
static void
adaptive_mean(const float *x, size_t n, float *y, size_t m)
{
    for (size_t j = 0; j < m; j++) {
        const size_t i0 = j * n / m, i1 = ((j + 1) * n + m - 1) / m;
        double sum = 0.0;

        for (size_t i = i0; i < i1; i++)
            sum += x[i];
        y[j] = (float)(sum / (double)(i1 - i0));
    }
}

/* Task: the teacher's output of some tokens in fp32, as wide as the student's.
 */
static void
target_task(void *ctx, size_t task, size_t worker)
{
    struct step *s = ctx;
    const struct said_tensor *t = s->sh_y;
    const size_t d = s->t->m.c.d, BT = s->r->B * s->r->T;
    const size_t i0 = task * SH_TOKENS;
    const size_t n = BT - i0 < SH_TOKENS ? BT - i0 : SH_TOKENS;
    const size_t size = t->dtype == DT_F32 ? 4 : 2;
    const struct weight w = { .data = said_at(s->y, t, i0),
        .dtype = t->dtype,
        .rows = n,
        .cols = t->width,
        .stride = t->width * size };
    float *out = bwd_spare(s->bwd, BWD_SPARE_X) + i0 * d;
    const double begin = profile_begin();

    if (t->width == d)
        weight_rows(&w, 0, n, out);
    else
        for (size_t i = 0; i < n; i++) {
            float *wide = s->wide + worker * t->width;

            weight_rows(&w, i, 1, wide);
            adaptive_mean(wide, t->width, out + i * d, d);
        }
    profile_end("widening", begin, 0.0,
        (double)((size * t->width + 4 * d) * n));
}

/* SquareHead of block i: its value, and its gradient into dx. */
static void
square_head(void *ctx, size_t i, float *dx)
{
    struct step *s = ctx;
    const struct said_tensor *t = &s->y->hidden[i];
    const size_t L = s->t->m.c.L, n = s->r->B * s->r->T;
    const size_t parts = sh_parts(s);

    s->sh_s = bwd_hidden(s->bwd, i);
    s->sh_dx = dx;
    s->sh_y = t;
    s->sh_t = (const float *)(const void *)said_at(s->y, t, 0);
    if (t->dtype != DT_F32 || t->width != s->t->m.c.d ||
        (uintptr_t)s->sh_t % sizeof(float) != 0) {
        pool_run(s->pool, (n + SH_TOKENS - 1) / SH_TOKENS, target_task, s);
        s->sh_t = bwd_spare(s->bwd, BWD_SPARE_X);
    }
    pool_run(s->pool, s->r->B * parts, sh_sums, s);
    for (size_t b = 0; b < s->r->B; b++) {
        double num = 0.0, den = 1e-6, nr = 0.0;

        for (size_t k = 0; k < parts; k++) {
            num += s->num[b * parts + k];
            den += s->den[b * parts + k];
        }
        for (size_t k = 0; k < s->r->T; k++)
            nr += s->scored[b * s->r->T + k] != 0;
        s->sum->sh += nr * num / den / (double)L;
        s->coef[b] = (float)(2.0 * s->o.w_sh * nr / den / (double)L);
    }
    pool_run(s->pool, s->r->B * parts, sh_grad, s);
}

/* Forward through the blocks; behind the last one the tokens are counted. */
static void
forward_rows(struct step *s, const struct rows *r, int last)
{
    s->r = r;
    bwd_forward(s->bwd, r);
    for (size_t i = 0; i < r->B * r->T && last; i++) {
        s->sum->n += s->scored[i] != 0;
        s->sum->tok += r->first[i] != UINT32_MAX;
    }
}

/* The losses, behind the last block, and backward. */
static void
backward_rows(struct step *s, const struct rows *r, int last)
{
    const int sh = s->y->nblock > 0 && s->o.w_sh != 0.0;
    const struct model *m = &s->t->m;

    s->r = r;
    if (last) {
        fetch_now(m, fetch_head(m));
        for (size_t b = 0; b < r->B; b++)
            row_losses(s, b, s->head, &s->o, s->teacher_head,
                s->t->group[fetch_head(m)].g);
        fetch_done(m, fetch_head(m));
    }
    if (s->t->take != NULL && !m->c.tied)
        s->t->take(s->t->take_ctx, fetch_head(m));
    bwd_backward(s->bwd, r, sh ? square_head : NULL, s);
}

static void
add_rows(struct step *s, const struct rows *r, void *ctx)
{
    (void)ctx;
    forward_rows(s, r, 1);
    backward_rows(s, r, 1);
}

/* s->rows, its scored tokens and what is said of it: piece k of the message. */
static void
piece(struct step *s, size_t k)
{
    const struct rows *r = s->all;
    const size_t b = k * s->B, at = b * r->T, n = r->B - b;

    s->scored = s->all_scored + at;
    s->its = said_rows(s->all_said, b);
    s->y = &s->its;
    s->rows =
        (struct rows){ n < s->B ? n : s->B, r->T, r->ids + at, r->first + at };
}

static void
message(struct step *s, const struct rows *r, const uint8_t *scored,
    const struct said *said, struct loss_sum *sum)
{
    assert(r->T <= s->T);
    s->all = r;
    s->all_scored = scored;
    s->all_said = said;
    s->sum = sum;
}

/* Call work with s->B rows at a time. */
static void
each_rows(struct step *s,
    void (*work)(struct step *, const struct rows *, void *), void *ctx)
{
    for (size_t k = 0; k < step_passes(s, s->all->B); k++) {
        piece(s, k);
        work(s, &s->rows, ctx);
    }
}

static void
stage_pass(void *ctx, size_t k, int back, int last)
{
    struct step *s = ctx;

    piece(s, k);
    (back ? backward_rows : forward_rows)(s, &s->rows, last);
}

void
step_add(struct step *s, const struct rows *r, const uint8_t *scored,
    const struct said *said, struct loss_sum *sum)
{
    assert(said->nblock == 0 || said->nblock == s->t->m.c.L);
    message(s, r, scored, said, sum);
    if (s->pipe != NULL)
        pipe_run(s->pipe, s->bwd, r->B, s->B, r->T * s->t->m.c.d, stage_pass,
            s);
    else
        each_rows(s, add_rows, NULL);
}

size_t
step_passes(const struct step *s, size_t rows)
{
    return (rows + s->B - 1) / s->B;
}

void
step_pass(struct step *s, const struct rows *r, const struct said *said)
{
    struct loss_sum none = { 0 };

    s->sum = &none;
    s->y = said;
    add_rows(s, &(struct rows){ 0, r->T, r->ids, r->first }, NULL);
}

struct step_judge {
    struct step *s;
    struct loss_opt o;
    const struct weight *teacher_head;
    struct head_loss *head;
    struct arena arena;
};

struct step_judge *
step_judge_new(struct step *s, const struct loss_opt *o,
    const struct said *like, const struct weight *head)
{
    const struct config *c = &s->t->m.c;
    struct step_judge *j = xcalloc(1, sizeof(*j));
    struct arena count;

    j->s = s;
    j->o = *o;
    j->teacher_head = head;
    arena_plan(&count);
    head_loss_free(head_loss_new(&count, s->pool, c->V, c->d, like, s->T));
    arena_init(&j->arena, count.used);
    j->head = head_loss_new(&j->arena, s->pool, c->V, c->d, like, s->T);
    return j;
}

void
step_judge_free(struct step_judge *j)
{
    if (j == NULL)
        return;
    head_loss_free(j->head);
    arena_release(&j->arena);
    free(j);
}

size_t
step_judge_bytes(const struct step_judge *j)
{
    return j->arena.cap;
}

static void
judge_rows(struct step *s, const struct rows *r, void *ctx)
{
    const struct step_judge *j = ctx;
    const struct model *m = &s->t->m;

    forward_rows(s, r, 1);
    fetch_now(m, fetch_head(m));
    for (size_t b = 0; b < r->B; b++)
        row_losses(s, b, j->head, &j->o, j->teacher_head, NULL);
    fetch_done(m, fetch_head(m));
}

void
step_judge_add(struct step_judge *j, const struct rows *r,
    const uint8_t *scored, const struct said *said, struct loss_sum *sum)
{
    message(j->s, r, scored, said, sum);
    each_rows(j->s, judge_rows, j);
}

void
step_judge_pass(struct step_judge *j, const struct rows *r)
{
    j->s->rows = (struct rows){ 0, r->T, r->ids, r->first };
    judge_rows(j->s, &j->s->rows, j);
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
    if (s->pipe != NULL)
        pipe_finish(s->pipe);
}
