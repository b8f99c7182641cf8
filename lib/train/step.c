/* A training step; see step.h. */
#include "train/step.h"
#include "base/profile.h"
#include "kern/kern.h"
#include "kern/loss.h"
#include "model/files/adapter.h"
#include "model/files/fetch.h"
#include "train/head_loss.h"
#include "train/head_logp.h"

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
    struct targets like;
    const struct weight *teacher_head;
    struct bwd *bwd;
    int dropping; /* step_dropout */
    uint64_t drop_key;
    struct pipe *pipe; /* NULL: this process has the whole model */
    struct arena arena;
    struct head_loss *head; /* NULL: o.logp, or not the last stage */
    struct head_logp *logp; /* NULL: no o.logp, or not the last stage */
    uint32_t *target;       /* [T] */
    uint32_t *place;        /* [T] indices of the scored tokens */
    float *values;          /* [4,T] with o.logp: log probabilities, entropies,
                             * gradients at both */
    uint8_t *hit;           /* [T] */
    double *num, *den;      /* [B * T/SH_TOKENS] tasks' sums for SquareHead */
    float *coef;            /* [B] */
    float *wide; /* [workers,depth] a teacher's output of another width
                        * than the student's */
};

/* Rows that go through the model together. */
struct row_pass {
    struct step *s;
    struct rows rows;
    const uint8_t *scored;  /* [B,T] */
    struct targets targets; /* of these rows */
    struct loss_sum *sum;   /* losses are added here */
};

/* A message, whose rows go through the model s->B at a time. */
struct message {
    struct step *s;
    const struct rows *rows;
    const uint8_t *scored; /* [B,T] */
    const struct targets *targets;
    struct loss_sum *sum;
};

/* SquareHead of one block for the rows of a pass. */
struct square {
    const struct row_pass *p;
    const struct targets_tensor *target; /* the teacher's output as in the
                                          * message */
    const float *student, *teacher;      /* [B*T,d] outputs of the block */
    float *dx;                           /* [B*T,d] gradient, added to */
};

void
loss_sum_add(struct loss_sum *to, const struct loss_sum *from)
{
    to->ce += from->ce;
    to->kl += from->kl;
    to->sh += from->sh;
    for (size_t i = 0; i < LOSS_OWN; i++)
        to->own[i] += from->own[i];
    to->balance += from->balance;
    to->n += from->n;
    to->tok += from->tok;
}

double
loss_sum_mean(const struct loss_sum *s, const struct loss_opt *o)
{
    return (o->w_ce * s->ce + o->w_kl * s->kl + o->w_sh * s->sh +
               o->w_balance * s->balance) /
        (double)s->n;
}

/* The student's head_loss, for targets of the kind and width of `like`. */
static struct head_loss *
new_head(const struct step *s, struct arena *a, const struct targets *like)
{
    const struct config *c = &s->t->m.c;
    struct head_loss *h = head_loss_new(a, s->pool, c->V, c->d, like, s->T,
        s->t->adapter != NULL);

    head_loss_caps(h, a, c->final_cap, like->cap);
    return h;
}

static void
plan_arena(struct step *s, struct arena *a)
{
    const struct config *c = &s->t->m.c;
    const size_t parts = s->B * ((s->T + SH_TOKENS - 1) / SH_TOKENS);

    if (stages_last(&s->t->stages) && s->o.logp == NULL)
        s->head = new_head(s, a, &s->like);
    if (stages_last(&s->t->stages) && s->o.logp != NULL) {
        s->logp = head_logp_new(a, s->pool, c->V, c->d, s->T);
        head_logp_cap(s->logp, a, c->final_cap);
        s->values = arena_alloc(a, 4 * s->T, sizeof(*s->values));
        s->hit = arena_alloc(a, s->T, sizeof(*s->hit));
    }
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
    size_t B, size_t T, int how, const struct targets *like,
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
    head_logp_free(s->logp);
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
step_dropout(struct step *s, const uint64_t *key)
{
    s->dropping = key != NULL;
    s->drop_key = key != NULL ? *key : 0;
}

void
step_free(struct step *s)
{
    if (s == NULL)
        return;
    bwd_free(s->bwd);
    head_loss_free(s->head);
    head_logp_free(s->logp);
    arena_release(&s->arena);
    free(s);
}

size_t
step_bytes(const struct step *s, size_t tokens)
{
    return s->arena.cap + bwd_bytes(s->bwd, tokens);
}

/* How row_losses computes losses; head is not used with o->logp. */
struct judge {
    struct head_loss *head;
    const struct loss_opt *o;
    const struct weight *teacher_head;
};

/* Let o->logp compute the loss of n positions of row b, whose gathered states
 * are hs, from their log probabilities.  dh NULL: compute no gradients. */
static void
row_logp(const struct row_pass *p, size_t b, const struct loss_opt *o,
    const float *hs, size_t n, float *dw, float *dh)
{
    struct step *s = p->s;
    const struct logp_row r = { .row = p->targets.row + b,
        .n = n,
        .place = s->place,
        .logp = s->values,
        .entropy = s->values + s->T,
        .hit = s->hit,
        .dlogp = s->values + 2 * s->T,
        .dentropy = s->values + 3 * s->T };
    const struct logp_out out = { s->values, s->values + s->T, s->hit };
    const struct weight *w = &s->t->m.head;

    head_logp_rows(s->logp, w, hs, s->target, n, o->tau, &out);
    memset(r.dlogp, 0, n * sizeof(float));
    memset(r.dentropy, 0, n * sizeof(float));
    o->logp->row(o->logp->ctx, &r, p->sum);
    if (dh != NULL)
        head_logp_grad(s->logp, w, hs, s->target, n, o->tau, r.dlogp,
            o->logp->entropy ? r.dentropy : NULL, dw, dh);
}

/* Compute head and losses of row b of a pass: gather the final states of scored
 * positions and, if `back`, overwrite them with their gradients.  dw: the
 * head's gradient, or NULL. */
static void
row_losses(const struct row_pass *p, size_t b, const struct judge *j, int back,
    float *dw)
{
    struct step *s = p->s;
    const size_t d = s->t->m.c.d, T = p->rows.T;
    float *final = bwd_final(s->bwd) + b * T * d;
    float *hs = bwd_spare(s->bwd, BWD_SPARE_X);
    float *dh = bwd_spare(s->bwd, BWD_SPARE_Y);
    const uint8_t *scored = p->scored + b * T;
    const struct targets targets = targets_rows(&p->targets, b);
    size_t n = 0;

    for (size_t i = 0; i < T; i++) {
        if (!scored[i])
            continue;
        assert(i + 1 < T);
        s->place[n] = (uint32_t)i;
        s->target[n] = p->rows.ids[b * T + i + 1];
        memcpy(hs + n * d, final + i * d, d * sizeof(float));
        n++;
    }
    memset(final, 0, T * d * sizeof(float));
    if (n == 0)
        return;
    if (j->o->logp != NULL)
        row_logp(p, b, j->o, hs, n, dw, back ? dh : NULL);
    else
        head_loss_rows(j->head, j->o, &s->t->m.head, j->teacher_head, hs,
            &targets, s->place, s->target, n, dw, back ? dh : NULL, p->sum);
    for (size_t i = 0; i < n && back; i++)
        memcpy(final + s->place[i] * d, dh + i * d, d * sizeof(float));
}

/* The number of tasks for SquareHead of a row. */
static size_t
square_parts(const struct row_pass *p)
{
    return (p->rows.T + SH_TOKENS - 1) / SH_TOKENS;
}

/* Set *from and *to: a task has tokens *from .. *to - 1 of the pass.  Returns
 * the row of these tokens. */
static size_t
square_tokens(const struct row_pass *p, size_t task, size_t *from, size_t *to)
{
    const size_t T = p->rows.T, b = task / square_parts(p);
    const size_t t0 = task % square_parts(p) * SH_TOKENS;

    *from = b * T + t0;
    *to = b * T + (t0 + SH_TOKENS < T ? t0 + SH_TOKENS : T);
    return b;
}

/* Does token i of a pass count in SquareHead? */
static int
square_counts(const struct row_pass *p, size_t i)
{
    return p->rows.first[i] != UINT32_MAX && targets_aligned(&p->targets, i);
}

/* Task: SquareHead's sums over some tokens of a row; padding is skipped. */
static void
square_sums(void *ctx, size_t task, size_t worker)
{
    const struct square *q = ctx;
    struct step *s = q->p->s;
    const size_t d = s->t->m.c.d;
    size_t from, to;
    const double begin = profile_begin();

    (void)worker;
    square_tokens(q->p, task, &from, &to);
    s->num[task] = s->den[task] = 0.0;
    for (size_t i = from; i < to; i++)
        if (square_counts(q->p, i))
            loss_kern()->ratio(q->student + i * d, q->teacher + i * d, d,
                &s->num[task], &s->den[task]);
    profile_end("SquareHead sums", begin, 0.0, 8.0 * (double)((to - from) * d));
}

static void
square_grad(void *ctx, size_t task, size_t worker)
{
    const struct square *q = ctx;
    const struct step *s = q->p->s;
    const size_t d = s->t->m.c.d;
    size_t from, to;
    const double begin = profile_begin();
    const size_t b = square_tokens(q->p, task, &from, &to);

    (void)worker;
    for (size_t i = from; i < to; i++)
        if (square_counts(q->p, i))
            loss_kern()->diff_add(q->dx + i * d, q->student + i * d,
                q->teacher + i * d, d, s->coef[b]);
    profile_end("SquareHead gradient", begin, 0.0,
        16.0 * (double)((to - from) * d));
}

/* Average x [n] as PyTorch's adaptive_avg_pool1d does: y[j], j < m, is the mean
 * of x from floor(j n/m) up to but not including ceil((j+1) n/m). */
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

/* Task: write the teacher's outputs of some tokens to BWD_SPARE_X, in fp32 and
 * in the student's width. */
static void
widen_target(void *ctx, size_t task, size_t worker)
{
    const struct square *q = ctx;
    const struct step *s = q->p->s;
    const struct targets_tensor *t = q->target;
    const size_t d = s->t->m.c.d, BT = q->p->rows.B * q->p->rows.T;
    const size_t i0 = task * SH_TOKENS;
    const size_t n = BT - i0 < SH_TOKENS ? BT - i0 : SH_TOKENS;
    const size_t size = t->dtype == DT_F32 ? 4 : 2;
    const struct weight w = { .data = targets_at(&q->p->targets, t, i0),
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

/* The teacher's outputs in fp32 and in the student's width: a pointer into the
 * message if they are stored so, else to BWD_SPARE_X, converted. */
static const float *
square_target(struct square *q)
{
    const struct row_pass *p = q->p;
    const struct targets_tensor *t = q->target;
    const float *as_it_is =
        (const float *)(const void *)targets_at(&p->targets, t, 0);

    if (t->dtype == DT_F32 && t->width == p->s->t->m.c.d &&
        (uintptr_t)as_it_is % sizeof(float) == 0)
        return as_it_is;
    pool_run(p->s->pool, (p->rows.B * p->rows.T + SH_TOKENS - 1) / SH_TOKENS,
        widen_target, q);
    return bwd_spare(p->s->bwd, BWD_SPARE_X);
}

/* Add SquareHead of block i to the losses, and its gradient to dx. */
static void
square_head(void *ctx, size_t i, float *dx)
{
    const struct row_pass *p = ctx;
    struct step *s = p->s;
    const size_t L = s->t->m.c.L, T = p->rows.T, parts = square_parts(p);
    struct square q = { .p = p,
        .target = &p->targets.hidden[i],
        .student = bwd_hidden(s->bwd, i),
        .dx = dx };

    q.teacher = square_target(&q);
    pool_run(s->pool, p->rows.B * parts, square_sums, &q);
    for (size_t b = 0; b < p->rows.B; b++) {
        double num = 0.0, den = 1e-6, nr = 0.0;

        for (size_t k = 0; k < parts; k++) {
            num += s->num[b * parts + k];
            den += s->den[b * parts + k];
        }
        for (size_t k = 0; k < T; k++)
            nr += p->scored[b * T + k] != 0;
        p->sum->sh += nr * num / den / (double)L;
        s->coef[b] = (float)(2.0 * s->o.w_sh * nr / den / (double)L);
    }
    pool_run(s->pool, p->rows.B * parts, square_grad, &q);
}

/* Run forward through the blocks; last: this rank has the last block and counts
 * the tokens. */
static void
forward_rows(const struct row_pass *p, int last)
{
    const struct rows *r = &p->rows;

    if (p->s->o.w_balance > 0.0)
        bwd_keep_balance(p->s->bwd);
    bwd_forward(p->s->bwd, r);
    for (size_t i = 0; i < r->B * r->T && last; i++) {
        p->sum->n += p->scored[i] != 0;
        p->sum->tok += r->first[i] != UINT32_MAX;
    }
}

/* Add the rows' load-balance losses, and their gradients (bwd_balance). */
static void
balance_rows(const struct row_pass *p)
{
    const size_t T = p->rows.T;

    for (size_t b = 0; b < p->rows.B; b++) {
        double n = 0.0;

        for (size_t i = 0; i < T; i++)
            n += p->scored[b * T + i] != 0;
        p->sum->balance += n * bwd_balance(p->s->bwd, b, n * p->s->o.w_balance);
    }
}

/* Where to add the gradient of the head's bias; NULL: there is none, or it is
 * not trained. */
static float *
bias_grad(const struct tmodel *t)
{
    const size_t at = t->m.c.L + OUTER_HEAD_BIAS;

    return family_has_outer(&t->m.c, OUTER_HEAD_BIAS) && !t->group[at].frozen
        ? t->group[at].g
        : NULL;
}

/* Compute the losses, if this rank has the last block, and run backward. */
static void
backward_rows(struct row_pass *p, int last)
{
    struct step *s = p->s;
    const struct model *m = &s->t->m;
    const int sh = p->targets.nblock > 0 && s->o.w_sh != 0.0;

    if (last) {
        const struct judge j = { s->head, &s->o, s->teacher_head };
        const struct group *head = &s->t->group[fetch_head(m)];
        float *db = bias_grad(s->t);

        fetch_now(m, fetch_head(m));
        if (s->logp != NULL)
            head_logp_bias(s->logp, db);
        else
            head_loss_bias(s->head, db);
        for (size_t b = 0; b < p->rows.B; b++)
            row_losses(p, b, &j, 1, head->frozen ? NULL : head->g);
        fetch_done(m, fetch_head(m));
    }
    if (s->o.w_balance > 0.0)
        balance_rows(p);
    if (s->t->take != NULL && !m->c.tied)
        s->t->take(s->t->take_ctx, fetch_head(m));
    if (s->t->take != NULL && family_has_outer(&m->c, OUTER_HEAD_BIAS))
        s->t->take(s->t->take_ctx, m->c.L + OUTER_HEAD_BIAS);
    bwd_backward(s->bwd, &p->rows, sh ? square_head : NULL, p);
}

static void
train_rows(struct row_pass *p, void *ctx)
{
    struct step *s = p->s;

    (void)ctx;
    bwd_dropout(s->bwd, s->dropping ? &s->drop_key : NULL);
    forward_rows(p, 1);
    backward_rows(p, 1);
    bwd_dropout(s->bwd, NULL);
}

/* Pass k over the rows of a message. */
static struct row_pass
message_pass(const struct message *m, size_t k)
{
    const struct rows *r = m->rows;
    const size_t b = k * m->s->B, at = b * r->T, n = r->B - b;

    return (struct row_pass){ m->s,
        { n < m->s->B ? n : m->s->B, r->T, r->ids + at, r->first + at },
        m->scored + at, targets_rows(m->targets, b), m->sum };
}

/* Call work with each pass over the message. */
static void
each_pass(const struct message *m, void (*work)(struct row_pass *, void *),
    void *ctx)
{
    assert(m->rows->T <= m->s->T);
    for (size_t k = 0; k < step_passes(m->s, m->rows->B); k++) {
        struct row_pass p = message_pass(m, k);

        work(&p, ctx);
    }
}

static void
stage_pass(void *ctx, size_t k, int back, int last)
{
    struct row_pass p = message_pass(ctx, k);

    if (back)
        backward_rows(&p, last);
    else
        forward_rows(&p, last);
}

void
step_add(struct step *s, const struct rows *r, const uint8_t *scored,
    const struct targets *targets, struct loss_sum *sum)
{
    struct message m = { s, r, scored, targets, sum };

    assert(targets->nblock == 0 || targets->nblock == s->t->m.c.L);
    assert(r->T <= s->T);
    if (s->pipe != NULL)
        pipe_run(s->pipe, s->bwd, r->B, s->B, r->T * s->t->m.c.d, stage_pass,
            &m);
    else
        each_pass(&m, train_rows, NULL);
}

size_t
step_passes(const struct step *s, size_t rows)
{
    return (rows + s->B - 1) / s->B;
}

void
step_pass(struct step *s, const struct rows *r, const struct targets *targets)
{
    struct loss_sum none = { 0 };
    struct row_pass p = { .s = s,
        .rows = { 0, r->T, r->ids, r->first },
        .targets = *targets,
        .sum = &none };

    train_rows(&p, NULL);
}

struct step_judge {
    struct step *s;
    struct loss_opt o;
    struct judge by;
    struct arena arena;
};

struct step_judge *
step_judge_new(struct step *s, const struct loss_opt *o,
    const struct targets *like, const struct weight *head)
{
    struct step_judge *j = xcalloc(1, sizeof(*j));
    struct arena count;

    j->s = s;
    j->o = *o;
    j->by = (struct judge){ NULL, &j->o, head };
    if (o->logp != NULL) /* the judge uses the step's head_logp */
        return j;
    arena_plan(&count);
    head_loss_free(new_head(s, &count, like));
    arena_init(&j->arena, count.used);
    j->by.head = new_head(s, &j->arena, like);
    return j;
}

void
step_judge_free(struct step_judge *j)
{
    if (j == NULL)
        return;
    head_loss_free(j->by.head);
    arena_release(&j->arena);
    free(j);
}

size_t
step_judge_bytes(const struct step_judge *j)
{
    return j->arena.cap;
}

static void
judge_rows(struct row_pass *p, void *ctx)
{
    const struct step_judge *j = ctx;
    const struct model *m = &j->s->t->m;

    forward_rows(p, 1);
    fetch_now(m, fetch_head(m));
    for (size_t b = 0; b < p->rows.B; b++)
        row_losses(p, b, &j->by, 0, NULL);
    fetch_done(m, fetch_head(m));
}

void
step_judge_add(struct step_judge *j, const struct rows *r,
    const uint8_t *scored, const struct targets *targets, struct loss_sum *sum)
{
    each_pass(&(struct message){ j->s, r, scored, targets, sum }, judge_rows,
        j);
}

void
step_judge_pass(struct step_judge *j, const struct rows *r)
{
    struct loss_sum none = { 0 };

    judge_rows(&(struct row_pass){ .s = j->s,
                   .rows = { 0, r->T, r->ids, r->first },
                   .sum = &none },
        j);
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
    for (size_t i = 0; s->t->adapter != NULL && i < s->t->m.c.L; i++)
        adapter_join(s->t->adapter, &s->t->m, i, s->t->group[i].g);
    if (s->pipe != NULL)
        pipe_finish(s->pipe);
}
