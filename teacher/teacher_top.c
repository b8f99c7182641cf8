/* The most probable tokens instead of a final state; see teacher.h. */
#include "teacher.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/profile.h"
#include "base/prog.h"
#include "data/batch.h"
#include "kern/kern.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PART = 64 };             /* tokens of a task */

/* Sums over tokens of what a record does not tell. */
struct told {
    double tokens;
    double mass1, mass;         /* of the top at temperature 1 and tau */
    double rounding;            /* KL of the record unrounded || as sent */
    double rest;                /* KL of the whole || the rest made even */
};

struct top {
    const struct model *m;
    struct pool *pool;
    struct head_top *head;
    size_t k, cap;              /* cap: tokens there is room for */
    double tau;
    int half;
    float *logp, *lse;          /* [cap,k] [cap,2] */
    double *self;               /* [cap] */
    struct told *part, sum;     /* part [cap/PART] */
    /* the batch at hand */
    const uint32_t *first;
    size_t n;
    void *out;                  /* [n,k] logp as it is sent */
    float *sent;                /* [workers,k] the same widened again */
};

struct top *
top_new(const struct model *m, struct pool *pool, size_t k, double tau,
    int half)
{
    struct top *t = xcalloc(1, sizeof(*t));

    if (k > m->c.V)
        die(EX_USAGE, "--top %zu: the model's vocabulary is %zu", k, m->c.V);
    t->m = m;
    t->pool = pool;
    t->head = head_top_new(m, pool, k);
    t->k = k;
    t->tau = tau;
    t->half = half;
    t->sent = xreallocarray(NULL, pool_size(pool) * k, sizeof(*t->sent));
    return t;
}

void
top_free(struct top *t)
{
    if (t == NULL)
        return;
    head_top_free(t->head);
    free(t->logp);
    free(t->lse);
    free(t->self);
    free(t->part);
    free(t->sent);
    free(t);
}

static void
reserve(struct top *t, size_t n)
{
    if (n <= t->cap)
        return;
    free(t->logp);
    free(t->lse);
    free(t->self);
    free(t->part);
    t->logp = xreallocarray(NULL, n * t->k, sizeof(*t->logp));
    t->lse = xreallocarray(NULL, n * 2, sizeof(*t->lse));
    t->self = xreallocarray(NULL, n, sizeof(*t->self));
    t->part = xreallocarray(NULL, n / PART + 1, sizeof(*t->part));
    t->cap = n;
}

size_t
top_bytes(const struct top *t, size_t n)
{
    return head_top_bytes(t->head) + n * ((t->k + 2) * sizeof(float)
        + sizeof(*t->self));
}

void
top_begin(const struct top *t, struct st_out *o, size_t B, size_t T)
{
    size_t shape[3] = { B, T, t->k };

    st_out_tensor(o, "teacher.top.ids", DT_U32, 3, shape, NULL);
    st_out_tensor(o, "teacher.top.logp", t->half ? DT_F16 : DT_F32, 3, shape,
        NULL);
    shape[2] = 2;
    st_out_tensor(o, "teacher.lse", DT_F32, 3, shape, NULL);
}

/* What the record of one token, whose log-probabilities are sent as `sent`,
 * tells and does not tell. */
static void
measure(const struct top *t, size_t i, const float *sent, struct told *r)
{
    const float *logp = t->logp + i * t->k, *lse = t->lse + i * 2;
    const double it = 1.0 / t->tau;
    double mass1 = 0.0, mass = 0.0, other = 0.0, kl = 0.0, self = t->self[i];
    double P, R;

    for (size_t j = 0; j < t->k; j++) {
        const double lp = ((double)logp[j] + lse[0]) * it - lse[1];
        const double lr = ((double)sent[j] + lse[0]) * it - lse[1];
        const double p = exp(lp);

        mass1 += exp(logp[j]);
        mass += p;
        other += exp(lr);
        kl += p * (lp - lr);
        self -= p * lp;
    }
    P = 1.0 - mass;
    R = 1.0 - other;
    if (R <= 0.0 || t->k == t->m->c.V)
        kl += mass * log(other);        /* as student takes it */
    else if (P > 0.0)
        kl += P * log(P / R);
    r->tokens++;
    r->mass1 += mass1;
    r->mass += mass;
    r->rounding += kl;
    if (P > 0.0 && t->k < t->m->c.V)
        r->rest += self + P * log((double)(t->m->c.V - t->k) / P);
}

/* Task: some tokens as they are sent, and what that tells of them. */
static void
record_task(void *ctx, size_t task, size_t worker)
{
    struct top *t = ctx;
    const size_t k = t->k, i0 = task * PART;
    const size_t i1 = i0 + PART < t->n ? i0 + PART : t->n;
    float *sent = t->sent + worker * k;
    const double begin = profile_begin();

    t->part[task] = (struct told){ 0 };
    for (size_t i = i0; i < i1; i++) {
        const float *logp = t->logp + i * k;

        if (t->half) {
            uint16_t *half = (uint16_t *)t->out + i * k;

            kern.narrow_f16(half, logp, k);
            kern.widen_f16(sent, half, k);
        } else {
            memcpy((float *)t->out + i * k, logp, k * sizeof(*logp));
        }
        if (t->first[i] != BATCH_PAD)
            measure(t, i, t->half ? sent : logp, &t->part[task]);
    }
    profile_end("head record", begin, 0.0, 30.0 * (double)((i1 - i0) * k));
}

static void
record(struct top *t)
{
    const size_t parts = (t->n + PART - 1) / PART;

    pool_run(t->pool, parts, record_task, t);
    for (size_t i = 0; i < parts; i++) {
        t->sum.tokens += t->part[i].tokens;
        t->sum.mass1 += t->part[i].mass1;
        t->sum.mass += t->part[i].mass;
        t->sum.rounding += t->part[i].rounding;
        t->sum.rest += t->part[i].rest;
    }
}

int
top_send(struct top *t, struct fwd *f, const float *x, size_t n,
    const uint32_t *first, struct msg_out *w, struct err *e)
{
    uint32_t *ids = msg_room(w, sizeof(*ids));
    int r;

    reserve(t, n);
    t->n = n;
    t->first = first;
    head_top_rows(t->head, f, x, n, t->tau, ids, t->logp, t->lse, t->self);
    for (size_t i = 0; i < 2 * n; i++)
        if (!isfinite(t->lse[i]))
            return err_set(e, EX_NUM, "token %zu of the batch: a logit is not "
                "finite", i / 2);
    if ((r = msg_send_next(w, e)) != 0)
        return r;
    t->out = msg_room(w, t->half ? sizeof(uint16_t) : sizeof(float));
    record(t);
    if ((r = msg_send_next(w, e)) != 0)
        return r;
    memcpy(msg_room(w, sizeof(float)), t->lse, n * 2 * sizeof(*t->lse));
    return msg_send_next(w, e);
}

void
top_tell(const struct top *t)
{
    const struct told *s = &t->sum;

    if (s->tokens > 0)
        note("top %zu: %.2f %% of the mass at temperature 1, %.2f %% at %g; "
            "KL to the whole at %g: %.2g nats by rounding, %.3g by what the "
            "rest is made of; %zu bytes a token", t->k,
            100.0 * s->mass1 / s->tokens, 100.0 * s->mass / s->tokens, t->tau,
            t->tau, s->rounding / s->tokens, s->rest / s->tokens,
            t->k * (t->half ? 6 : 8) + 8);
}
