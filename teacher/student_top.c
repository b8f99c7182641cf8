/* The most probable tokens in the student's ids: see student_top.h. */
#include "student_top.h"
#include "base/mem.h"
#include "base/note.h"
#include "cli/die.h"
#include "kern/kern.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The least probability that the tokens that are not sent may have in sum: a
 * smaller sum would be a rounding error of fp32. */
#define LEAST_REST 0x1p-24
/* Least log-probability: the lowest finite number in half precision. */
#define LEAST_LOGP (-65504.0f)

/* Counts over the predictions of one source. */
struct source_share {
    double kind[3]; /* number of predictions, by enum align_kind */
    double mass; /* probability of the tokens sent, summed over predictions of
                  * kind WHOLE */
};

struct student_top {
    const struct student_tokenizer *s;
    const uint32_t *named; /* the student's id of each pair */
    size_t k;
    int half;
    float *rest;                /* [cap] log of the probability of the tokens
                                 * that are not sent for a prediction */
    size_t cap;                 /* room in rest */
    struct source_share *share; /* [nshare] */
    char **name;                /* [nname] */
    size_t nshare, nname;
};

struct student_top *
student_top_new(const struct student_tokenizer *s, size_t k, int half)
{
    struct student_top *t = xcalloc(1, sizeof *t);
    const uint32_t *teacher;
    size_t n;

    student_tokenizer_shared(s, &teacher, &t->named, &n);
    if (k > n)
        die(EX_USAGE,
            "--top %zu: take %zu at most, the tokens that both vocabularies "
            "have",
            k, n);
    t->s = s;
    t->k = k;
    t->half = half;
    return t;
}

void
student_top_free(struct student_top *t)
{
    if (t == NULL)
        return;
    for (size_t i = 0; i < t->nname; i++)
        free(t->name[i]);
    free(t->name);
    free(t->share);
    free(t->rest);
    free(t);
}

void
student_top_sources(struct student_top *t, const struct stream_info *i)
{
    if (t->nname > 0)
        return;
    t->nname = i->nsource;
    t->name = xreallocarray(NULL, i->nsource, sizeof *t->name);
    for (size_t s = 0; s < i->nsource; s++)
        t->name[s] = xstrdup(i->source[s]);
}

void
student_top_begin(const struct student_top *t, struct st_out *o, size_t B,
    size_t T)
{
    const size_t shape[3] = { B, T, t->k };

    st_out_tensor(o, "teacher.top.ids", DT_U32, 3, shape, NULL);
    st_out_tensor(o, "teacher.top.logp", t->half ? DT_F16 : DT_F32, 3, shape,
        NULL);
    st_out_tensor(o, "teacher.rest", DT_F32, 2, shape, NULL);
    st_out_tensor(o, "teacher.kind", DT_U8, 2, shape, NULL);
}

/* Write the k ids of a target. */
static void
put_target_ids(const struct student_top *t, const struct align_target *a,
    const struct student_told *told, uint32_t *out)
{
    memset(out, 0, t->k * sizeof *out);
    if (a->kind == ALIGN_TOKEN)
        out[0] = a->next;
    for (size_t j = 0; a->kind == ALIGN_WHOLE && j < t->k; j++)
        out[j] = t->named[told->ids[a->at * t->k + j]];
}

/* Write the k log-probabilities of a target; returns the log of the probability
 * that is left for other tokens. */
static float
put_target_logp(const struct student_top *t, const struct align_target *a,
    const struct student_told *told, float *out)
{
    const float *logp = told->logp + a->at * t->k;
    double sum = 0.0;

    memset(out, 0, t->k * sizeof *out);
    if (a->kind == ALIGN_NONE)
        return 0.0f;
    if (a->kind == ALIGN_TOKEN) {
        for (size_t j = a->at; j < a->at + a->n; j++)
            sum += told->next_logp[j];
        out[0] = fmaxf((float)sum, LEAST_LOGP);
        return (float)log(fmax(-expm1(sum), LEAST_REST));
    }
    for (size_t j = 0; j < t->k; j++) {
        out[j] = fmaxf(logp[j], LEAST_LOGP);
        sum += exp(logp[j]);
    }
    return (float)log(fmax(1.0 - sum, LEAST_REST));
}

/* Send the log-probabilities, and set t->rest. */
static int
send_logp(struct student_top *t, const struct student_told *told, size_t n,
    struct msg_out *w, struct err *e)
{
    const struct align_target *target = student_tokenizer_targets(t->s);
    float *row = xreallocarray(NULL, t->k, sizeof *row);
    void *out = msg_room(w, t->half ? sizeof(uint16_t) : sizeof(float));

    for (size_t i = 0; i < n; i++) {
        t->rest[i] = put_target_logp(t, &target[i], told, row);
        if (t->half)
            kern.narrow_f16((uint16_t *)out + i * t->k, row, t->k);
        else
            memcpy((float *)out + i * t->k, row, t->k * sizeof *row);
    }
    free(row);
    return msg_send_next(w, e);
}

static void
reserve_share(struct student_top *t, size_t n)
{
    if (n <= t->nshare)
        return;
    t->share = xreallocarray(t->share, n, sizeof *t->share);
    memset(t->share + t->nshare, 0, (n - t->nshare) * sizeof *t->share);
    t->nshare = n;
}

/* Count the scored predictions of the batch by source. */
static void
count_shares(struct student_top *t)
{
    const struct batch *b = student_tokenizer_from(t->s);
    const struct align_target *target = student_tokenizer_targets(t->s);
    size_t at = 0;

    for (size_t p = 0; p < b->P; p++) {
        if (p == 0 || b->piece_row[p] != b->piece_row[p - 1])
            at = b->piece_row[p] * b->T;
        reserve_share(t, (size_t)b->piece_source[p] + 1);
        for (size_t i = 0; i < b->piece_len[p]; i++, at++) {
            struct source_share *s = &t->share[b->piece_source[p]];

            if (!b->scored[at])
                continue;
            s->kind[target[at].kind]++;
            if (target[at].kind == ALIGN_WHOLE)
                s->mass += -expm1(t->rest[at]);
        }
    }
}

int
student_top_send(struct student_top *t, const struct student_told *told,
    struct msg_out *w, struct err *e)
{
    const struct batch *b = student_tokenizer_from(t->s);
    const struct align_target *target = student_tokenizer_targets(t->s);
    const size_t n = b->B * b->T;
    uint32_t *ids;
    uint8_t *kind;
    int r;

    if (n > t->cap) {
        free(t->rest);
        t->rest = xreallocarray(NULL, n, sizeof *t->rest);
        t->cap = n;
    }
    ids = msg_room(w, sizeof *ids);
    for (size_t i = 0; i < n; i++)
        put_target_ids(t, &target[i], told, ids + i * t->k);
    if ((r = msg_send_next(w, e)) != 0 ||
        (r = send_logp(t, told, n, w, e)) != 0)
        return r;
    count_shares(t);
    memcpy(msg_room(w, sizeof *t->rest), t->rest, n * sizeof *t->rest);
    if ((r = msg_send_next(w, e)) != 0)
        return r;
    kind = msg_room(w, sizeof *kind);
    for (size_t i = 0; i < n; i++)
        kind[i] = (uint8_t)target[i].kind;
    return msg_send_next(w, e);
}

void
student_top_tell(const struct student_top *t)
{
    note("top %zu of the tokens that both vocabularies have: %zu bytes a token",
        t->k, t->k * (t->half ? 6 : 8) + 5);
    for (size_t i = 0; i < t->nshare && i < t->nname; i++) {
        const struct source_share *s = &t->share[i];
        const double n = s->kind[0] + s->kind[1] + s->kind[2];

        if (n > 0)
            note("%s: of %.0f predictions %.1f %% have a distribution, %.1f %% "
                 "the next token alone, %.1f %% no target; %.1f %% of the "
                 "mass is of tokens that are compared",
                t->name[i], n, 100.0 * s->kind[ALIGN_WHOLE] / n,
                100.0 * s->kind[ALIGN_TOKEN] / n,
                100.0 * s->kind[ALIGN_NONE] / n,
                100.0 * s->mass / fmax(s->kind[ALIGN_WHOLE], 1.0));
    }
}
