/* The most probable tokens, and sampled tokens: see top.h. */
#include "top.h"
#include "student_top.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/profile.h"
#include "base/rng.h"
#include "cli/die.h"
#include "kern/kern.h"
#include "model/pass/head_top.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PART = 64 }; /* tokens of a thread pool's task */

/* Sums over tokens: how much of their distributions is sent. */
struct told {
    double tokens;      /* number of tokens */
    double mass1, mass; /* probability of the top k at temperature 1, at tau */
    double rounding;    /* KL(top k exact || top k as sent), nats */
    double rest;        /* KL(distribution || top k, uniform otherwise), nats */
    double drawn;       /* number of different tokens drawn */
};

struct top {
    const struct model *m;
    struct pool *pool;
    struct head_top *head;
    struct top_opt o;
    size_t cap;      /* tokens that the arrays have room for */
    float *logp;     /* [cap,k] log-probabilities of the top k */
    float *lse;      /* [cap,2] log-sum-exps of the logits, at T = 1 and tau */
    double *self;    /* [cap] sum of p log p at tau over all ids */
    double *u;       /* [cap] random numbers in [0,1) for the draws */
    uint32_t *drawn; /* [cap,draws] ids */
    uint16_t *count; /* [cap,draws] how often each of them was drawn */
    uint32_t *ids;   /* [cap,k] ids, unless the message has room for them; or
                      * NULL */
    struct told *part, sum;      /* [tasks] sums of a batch; of all batches */
    struct student_top *student; /* for a student of another tokenizer */
    uint32_t *next;   /* [cap] with `student`: next id in each token's row */
    float *next_logp; /* [cap] log-probability of that next id */
    /* the current batch */
    const struct batch *b;
    size_t n;
    void *out;   /* [n,k] logp in the type sent */
    float *sent; /* [workers,k] a token's `out`, widened to fp32 */
};

struct top *
top_new(const struct model *m, struct pool *pool, const struct top_opt *o)
{
    struct top *t = xcalloc(1, sizeof(*t));
    const uint32_t *among, *named;
    size_t n;

    if (o->k > m->c.V)
        die(EX_USAGE, "--top %zu: take %zu at most, the model's vocabulary",
            o->k, m->c.V);
    t->m = m;
    t->pool = pool;
    t->head = head_top_new(m, pool, o->k, o->draws);
    t->o = *o;
    t->sent = xreallocarray(NULL, pool_size(pool) * o->k, sizeof(*t->sent));
    if (o->student != NULL) {
        t->student = student_top_new(o->student, o->k, o->half);
        student_tokenizer_shared(o->student, &among, &named, &n);
        head_top_among(t->head, among, n);
    }
    return t;
}

static void
free_tokens(struct top *t)
{
    free(t->logp);
    free(t->lse);
    free(t->self);
    free(t->u);
    free(t->drawn);
    free(t->count);
    free(t->part);
    free(t->ids);
    free(t->next);
    free(t->next_logp);
    t->ids = NULL;
}

void
top_free(struct top *t)
{
    if (t == NULL)
        return;
    head_top_free(t->head);
    student_top_free(t->student);
    free_tokens(t);
    free(t->sent);
    free(t);
}

static void
reserve_top(struct top *t, size_t n)
{
    if (n <= t->cap)
        return;
    free_tokens(t);
    t->logp = xreallocarray(NULL, n * t->o.k, sizeof(*t->logp));
    t->lse = xreallocarray(NULL, n * 2, sizeof(*t->lse));
    t->self = xreallocarray(NULL, n, sizeof(*t->self));
    t->u = xreallocarray(NULL, n, sizeof(*t->u));
    t->drawn = xreallocarray(NULL, n * t->o.draws, sizeof(*t->drawn));
    t->count = xreallocarray(NULL, n * t->o.draws, sizeof(*t->count));
    t->part = xreallocarray(NULL, n / PART + 1, sizeof(*t->part));
    t->next = xreallocarray(NULL, t->student != NULL ? n : 0, sizeof(*t->next));
    t->next_logp =
        xreallocarray(NULL, t->student != NULL ? n : 0, sizeof(*t->next_logp));
    t->cap = n;
}

size_t
top_bytes(const struct top *t, size_t n)
{
    return head_top_bytes(t->head) +
        n *
        ((t->o.k + 2) * sizeof(float) + 2 * sizeof(double) +
            t->o.draws * (sizeof(*t->drawn) + sizeof(*t->count)));
}

/* Type of the counts of draws: a byte if it can count them all. */
static enum dtype
count_type(const struct top *t)
{
    return t->o.draws <= UINT8_MAX ? DT_U8 : DT_U16;
}

void
top_stream(struct top *t, const struct stream_info *i)
{
    if (t->student != NULL)
        student_top_sources(t->student, i);
}

void
top_begin(const struct top *t, struct st_out *o, size_t B, size_t T)
{
    const size_t top[3] = { B, T, t->o.k }, drawn[3] = { B, T, t->o.draws };
    const size_t two[3] = { B, T, 2 };

    if (t->student != NULL) {
        student_top_begin(t->student, o, B, T);
        return;
    }
    if (t->o.k > 0) {
        st_out_tensor(o, "teacher.top.ids", DT_U32, 3, top, NULL);
        st_out_tensor(o, "teacher.top.logp", t->o.half ? DT_F16 : DT_F32, 3,
            top, NULL);
        st_out_tensor(o, "teacher.lse", DT_F32, 3, two, NULL);
    }
    if (t->o.draws > 0) {
        st_out_tensor(o, "teacher.sample.ids", DT_U32, 3, drawn, NULL);
        st_out_tensor(o, "teacher.sample.count", count_type(t), 3, drawn, NULL);
        st_out_tensor(o, "teacher.sample.plogp", DT_F32, 2, drawn, NULL);
    }
}

/* Has the head computed the prediction at token i?  With a loss mask it has
 * those that are scored, without one those of all tokens. */
static int
is_computed(const struct top *t, size_t i)
{
    return t->b->first[i] != BATCH_PAD && (!t->b->masked || t->b->scored[i]);
}

/* Add to *r how much of token i's distribution is sent.  sent [k]: the
 * log-probabilities of its top k, rounded to the type of the stream. */
static void
measure_token(const struct top *t, size_t i, const float *sent, struct told *r)
{
    const float *logp = t->logp + i * t->o.k, *lse = t->lse + i * 2;
    const double it = 1.0 / t->o.tau;
    double mass1 = 0.0, mass = 0.0, other = 0.0, kl = 0.0, self = t->self[i];
    double P, R;

    for (size_t j = 0; j < t->o.k; j++) {
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
    if (R <= 0.0 || t->o.k == t->m->c.V)
        kl += mass * log(other); /* the student divides by `other` as well */
    else if (P > 0.0)
        kl += P * log(P / R);
    r->tokens++;
    r->mass1 += mass1;
    r->mass += mass;
    r->rounding += kl;
    if (P > 0.0 && t->o.k < t->m->c.V)
        r->rest += self + P * log((double)(t->m->c.V - t->o.k) / P);
}

/* Task of the thread pool: round the log-probabilities of PART tokens to the
 * type sent, and measure how much of these tokens' distributions is sent. */
static void
record_task(void *ctx, size_t task, size_t worker)
{
    struct top *t = ctx;
    const size_t k = t->o.k, i0 = task * PART;
    const size_t i1 = i0 + PART < t->n ? i0 + PART : t->n;
    float *sent = t->sent + worker * k;
    const double begin = profile_begin();

    t->part[task] = (struct told){ 0 };
    for (size_t i = i0; i < i1; i++) {
        const float *logp = t->logp + i * k;

        if (t->o.half) {
            uint16_t *half = (uint16_t *)t->out + i * k;

            kern.narrow_f16(half, logp, k);
            kern.widen_f16(sent, half, k);
        } else {
            memcpy((float *)t->out + i * k, logp, k * sizeof(*logp));
        }
        if (is_computed(t, i))
            measure_token(t, i, t->o.half ? sent : logp, &t->part[task]);
    }
    profile_end("head record", begin, 0.0, 30.0 * (double)((i1 - i0) * k));
}

static void
record_tokens(struct top *t)
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

/* Set t->u, a random number for each token.  A number depends on the seed, the
 * document and the token's offset in it, but not on rows or ranks. */
static void
throw_dice(struct top *t)
{
    const struct batch *b = t->b;
    size_t at = 0;

    memset(t->u, 0, t->n * sizeof(*t->u));
    for (size_t p = 0; p < b->P; p++) {
        const uint64_t key = rng_key(rng_key(t->o.seed, b->piece_key[p]),
            0x73616d70); /* "samp" */

        if (p == 0 || b->piece_row[p] != b->piece_row[p - 1])
            at = b->piece_row[p] * b->T;
        for (size_t i = 0; i < b->piece_len[p]; i++)
            t->u[at++] = rng_unit(key, b->piece_off[p] + i);
    }
}

static int
send_top(struct top *t, struct msg_out *w, struct err *e)
{
    int r = msg_send_next(w, e); /* the ids are in w's room already */

    if (r != 0)
        return r;
    t->out = msg_room(w, t->o.half ? sizeof(uint16_t) : sizeof(float));
    record_tokens(t);
    if ((r = msg_send_next(w, e)) != 0)
        return r;
    memcpy(msg_room(w, sizeof(float)), t->lse, t->n * 2 * sizeof(*t->lse));
    return msg_send_next(w, e);
}

/* Send the draws; padding has none. */
static int
send_draws(struct top *t, struct msg_out *w, struct err *e)
{
    const size_t draws = t->o.draws, n = t->n * draws;
    unsigned char *byte;
    float *self;
    int r;

    for (size_t i = 0; i < t->n; i++) {
        uint32_t *ids = t->drawn + i * draws;
        uint16_t *count = t->count + i * draws;

        if (t->b->first[i] == BATCH_PAD) {
            memset(ids, 0, draws * sizeof(*ids));
            memset(count, 0, draws * sizeof(*count));
            t->self[i] = 0.0;
            continue;
        }
        t->sum.tokens += t->o.k == 0 && is_computed(t, i);
        for (size_t j = 0; j < draws && count[j] > 0; j++)
            t->sum.drawn++;
    }
    memcpy(msg_room(w, sizeof(*t->drawn)), t->drawn, n * sizeof(*t->drawn));
    if ((r = msg_send_next(w, e)) != 0)
        return r;
    byte = msg_room(w, sizeof(*t->count));
    if (count_type(t) == DT_U16)
        memcpy(byte, t->count, n * sizeof(*t->count));
    else
        for (size_t i = 0; i < n; i++)
            byte[i] = (unsigned char)t->count[i];
    if ((r = msg_send_next(w, e)) != 0)
        return r;
    self = msg_room(w, sizeof(*self));
    for (size_t i = 0; i < t->n; i++)
        self[i] = fminf((float)t->self[i], 0.0f);
    return msg_send_next(w, e);
}

/* Return the addresses of the results for the tokens from number `from` on. */
static struct head_targets
targets_from(const struct top *t, uint32_t *ids, size_t from)
{
    const size_t k = from * t->o.k, draws = from * t->o.draws;
    struct head_targets s = { .lse = t->lse + from * 2,
        .self = t->self + from };

    if (t->o.k > 0) {
        s.ids = ids + k;
        s.logp = t->logp + k;
    }
    if (t->o.draws > 0) {
        s.drawn = t->drawn + draws;
        s.count = t->count + draws;
        s.u = t->u + from;
    }
    if (t->student != NULL) {
        s.next = t->next + from;
        s.next_logp = t->next_logp + from;
    } else if (t->b->masked) {
        s.wanted = t->b->scored + from;
    }
    return s;
}

/* All-gather the results within the team. */
static void
gather_tokens(const struct top *t, uint32_t *ids, const struct dist_group *team,
    const size_t *at)
{
    const size_t k = t->o.k, draws = t->o.draws;

    dist_all_gather(team, t->lse, 2 * sizeof *t->lse, at);
    dist_all_gather(team, t->self, sizeof *t->self, at);
    if (k > 0) {
        dist_all_gather(team, ids, k * sizeof *ids, at);
        dist_all_gather(team, t->logp, k * sizeof *t->logp, at);
    }
    if (draws > 0) {
        dist_all_gather(team, t->drawn, draws * sizeof *t->drawn, at);
        dist_all_gather(team, t->count, draws * sizeof *t->count, at);
    }
    if (t->student != NULL)
        dist_all_gather(team, t->next_logp, sizeof *t->next_logp, at);
}

/* Set t->next to the next id in the row, 0 at its end. */
static void
set_next(struct top *t)
{
    const struct batch *b = t->b;

    for (size_t i = 0; i < t->n; i++)
        t->next[i] = (i + 1) % b->T > 0 ? b->ids[i + 1] : 0;
}

int
top_send(struct top *t, struct fwd *f, const float *x, const struct batch *b,
    const struct dist_group *team, const size_t *at, struct msg_out *w,
    struct err *e)
{
    const size_t n = b->B * b->T, from = at[team->rank];
    struct head_targets targets;
    uint32_t *ids;
    int r = 0;

    reserve_top(t, n);
    t->n = n;
    t->b = b;
    if (t->o.draws > 0)
        throw_dice(t);
    if (t->student != NULL)
        set_next(t);
    if ((w == NULL || t->student != NULL) && t->ids == NULL)
        t->ids = xreallocarray(NULL, t->cap * t->o.k, sizeof *t->ids);
    ids = t->o.k == 0                     ? NULL
        : w != NULL && t->student == NULL ? msg_room(w, sizeof *ids)
                                          : t->ids;
    targets = targets_from(t, ids, from);
    head_top_rows(t->head, f, x + from * t->m->c.d, at[team->rank + 1] - from,
        t->o.tau, &targets);
    gather_tokens(t, ids, team, at);
    if (w == NULL)
        return 0;
    for (size_t i = 0; i < 2 * n; i++)
        if (!isfinite(t->lse[i]))
            return err_set(e, EX_NUM,
                "token %zu of the batch: a logit is not finite", i / 2);
    if (t->student != NULL)
        return student_top_send(t->student,
            &(struct student_told){ ids, t->logp, t->next_logp }, w, e);
    if (t->o.k > 0)
        r = send_top(t, w, e);
    if (r == 0 && t->o.draws > 0)
        r = send_draws(t, w, e);
    return r;
}

void
top_tell(const struct top *t)
{
    const struct told *s = &t->sum;

    if (t->student != NULL)
        student_top_tell(t->student);
    if (s->tokens > 0 && t->o.k > 0)
        note("top %zu: %.2f %% of the mass at temperature 1, %.2f %% at %g; KL "
             "to the whole at %g: %.2g nats by rounding, %.3g by what the rest "
             "is made of; %zu bytes a token",
            t->o.k, 100.0 * s->mass1 / s->tokens, 100.0 * s->mass / s->tokens,
            t->o.tau, t->o.tau, s->rounding / s->tokens, s->rest / s->tokens,
            t->o.k * (t->o.half ? 6 : 8) + 8);
    if (s->tokens > 0 && t->o.draws > 0)
        note("%zu draws at %g: %.1f different tokens; %zu bytes a token",
            t->o.draws, t->o.tau, s->drawn / s->tokens,
            t->o.draws * (count_type(t) == DT_U8 ? 5 : 6) + 4);
}
