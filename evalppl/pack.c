/* Rows of documents scored by every model; see pack.h. */
#include "pack.h"
#include "base_score.h"
#include "detail.h"
#include "print.h"
#include "spread.h"
#include "stream_base.h"
#include "losses.h"
#include "vocab.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/note.h"
#include "cli/die.h"
#include "cli/progress.h"
#include "eval/resume.h"
#include "model/pass/compute.h"
#include "model/pass/head.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TOKENS = 4096 }; /* default number of tokens of a forward pass */

void
pack_init(struct pack *p, struct eval *e, size_t T)
{
    size_t d = 0, V = 0, n;
    struct err err;

    memset(p, 0, sizeof(*p));
    e->units.models = e->nj;
    p->T = T;
    p->B = e->rows > 0 ? e->rows : T < TOKENS ? TOKENS / T : 1;
    if (size_mul(p->B, T, &n) < 0)
        die(EX_USAGE, "%zu rows of %zu tokens are too many", p->B, T);
    p->ids = xcalloc(n, sizeof(*p->ids));
    p->first = xcalloc(n, sizeof(*p->first));
    p->used = xcalloc(p->B, sizeof(*p->used));
    p->at = xcalloc(n, sizeof(*p->at));
    p->target = xcalloc(n, sizeof(*p->target));
    p->unit = xcalloc(n, sizeof(*p->unit));
    p->pos = xcalloc(n, sizeof(*p->pos));
    p->weight = xcalloc(n, sizeof(*p->weight));
    p->nll = xcalloc(n, sizeof(*p->nll));
    p->soft = xcalloc(n, sizeof(*p->soft));
    memset(p->first, 0xff, n * sizeof(*p->first));
    for (size_t i = 0; i < e->nj; i++) {
        struct eval_model *j = &e->j[i];

        j->pair = xcalloc(n, sizeof(*j->pair));
        if (j->recorded)
            continue;
        if (config_check_positions(&j->m.c, T, j->label, &err) < 0)
            die_err(&err);
        j->f = fwd_new(&j->m, e->pool, p->B, T);
        j->h = xreallocarray(NULL, n, j->m.c.d * sizeof(*j->h));
        d = j->m.c.d > d ? j->m.c.d : d;
        V = j->m.c.V > V ? j->m.c.V : V;
    }
    p->x = xreallocarray(NULL, n, d * sizeof(*p->x));
    if (e->base != NONE && e->kld.in == NULL)
        p->z = xreallocarray(NULL, head_draft_room(V), sizeof(*p->z));
    if (e->stream_base != NULL)
        stream_base_room(e, n);
}

void
pack_release(struct pack *p)
{
    free(p->ids);
    free(p->first);
    free(p->used);
    free(p->at);
    free(p->target);
    free(p->unit);
    free(p->pos);
    free(p->weight);
    free(p->nll);
    free(p->z);
    free(p->soft);
    free(p->x);
    memset(p, 0, sizeof(*p));
}

/* Run a model on the rows, and copy the final states of the scored predictions
 * to j->h [n,d]. */
static void
run_model(const struct pack *p, struct eval_model *j)
{
    /* A row alone may end where its documents end. */
    const size_t T = p->rows == 1 ? p->used[0] : p->T;
    const struct rows r = { p->rows, T, p->ids, p->first };
    const size_t d = j->m.c.d;
    const double start = clock_now();

    fwd_states(j->f, &r, p->x);
    for (size_t k = 0; k < p->n; k++)
        memcpy(j->h + k * d, p->x + p->at[k] * d, d * sizeof(*j->h));
    j->seconds += clock_now() - start;
}

static void
check_finite(const struct eval *e, const struct pack *p, size_t i, size_t k,
    double v)
{
    if (!isfinite(v))
        die(EX_NUM,
            "%s: the loss of token %" PRIu32 " in document %016" PRIx64
            " is not finite",
            e->j[i].label, p->target[k], e->units.unit[p->unit[k]].key);
}

static void
add_quantity(struct eval *e, const struct pack *p, size_t i, size_t k,
    enum quantity q, double v)
{
    check_finite(e, p, i, k, v);
    units_sums(&e->units, p->unit[k], i)->v[q] += p->weight[k] * v;
}

static void
add_nll(struct eval *e, const struct pack *p, size_t i, size_t k, double nll)
{
    add_quantity(e, p, i, k, Q_NLL, nll);
    add_quantity(e, p, i, k, Q_NLL2, nll * nll);
    e->j[i].pair[k].nll_q = nll;
}

/* Add a prediction's scores of model i against the base to the sums. */
static void
add_pair(struct eval *e, const struct pack *p, size_t i, size_t k)
{
    const struct pair_score *s = &e->j[i].pair[k], *soft = &p->soft[k];
    const double dp = delta_p(s);

    add_quantity(e, p, i, k, Q_KL, s->kl);
    add_quantity(e, p, i, k, Q_BACK, s->back);
    add_quantity(e, p, i, k, Q_AGREE, s->agree != 0);
    add_quantity(e, p, i, k, Q_ACCEPT, s->accept);
    add_quantity(e, p, i, k, Q_CROSS, s->nll_q * s->nll_p);
    add_quantity(e, p, i, k, Q_DP, dp);
    add_quantity(e, p, i, k, Q_DP2, dp * dp);
    if (e->temperature != 1.0) {
        add_quantity(e, p, i, k, Q_KLT, soft->kl);
        add_quantity(e, p, i, k, Q_BACKT, soft->back);
    }
    if (e->spread != NULL)
        spread_put(e->spread, i, k, s, e->temperature != 1.0 ? soft : NULL);
}

void
pack_add_pairs(struct eval *e, const struct pack *p, size_t i, size_t k,
    size_t n, int first)
{
    struct pair_score *s = e->j[i].pair;

    resume_pass(e->resume, s + k, n * sizeof *s);
    if (e->temperature != 1.0)
        resume_pass(e->resume, p->soft + k, n * sizeof *s);
    for (const size_t end = k + n; k < end; k++) {
        if (first)
            add_nll(e, p, e->base, k, s[k].nll_p);
        add_nll(e, p, i, k, s[k].nll_q);
        add_pair(e, p, i, k);
    }
}

/* Number of ids over which model q and the base p are compared: that of q and p
 * or, if they differ, the least of q's, p's and the tokenizer's. */
static size_t
compared_ids(const struct eval *e, const struct eval_model *q,
    const struct eval_model *p)
{
    const size_t Vq = q->m.c.V, Vp = p->m.c.V, n = Vq < Vp ? Vq : Vp;

    eval_check_sizes(e, q, p);
    return Vq == Vp || n < e->info.vocab ? n : e->info.vocab;
}

/* If the model has more than V ids, replace its loss in `pair`, which counts
 * only V ids, by the loss over all its ids.  base: 1: j is the base. */
static void
full_nll(struct pack *p, const struct eval_model *j, size_t V, int base,
    struct pair_score *pair)
{
    if (j->m.c.V == V)
        return;
    head_score(j->f, j->h, p->target, p->n, p->nll, NULL, NULL);
    for (size_t k = 0; k < p->n; k++)
        *(base ? &pair[k].nll_p : &pair[k].nll_q) = p->nll[k];
}

/* Score model i against the base into e->j[i].pair and p->soft.  Divide the
 * time for `pair` between both models by their widths; the base's part is added
 * only if `first`. */
static void
compute_pair(struct eval *e, struct pack *p, size_t i, int first)
{
    struct eval_model *j = &e->j[i], *b = &e->j[e->base];
    const double start = clock_now();
    const size_t V = compared_ids(e, j, b);
    const double share = (double)j->m.c.d / (double)(j->m.c.d + b->m.c.d);
    double t;

    head_score_draft(j->f, j->h, b->f, b->h, V, p->target, p->n, p->z, j->pair);
    full_nll(p, j, V, 0, j->pair);
    full_nll(p, b, V, 1, j->pair);
    t = clock_now() - start;
    j->seconds += t * share;
    b->seconds += first ? t * (1.0 - share) : 0.0;
    if (e->temperature != 1.0)
        head_score_pair(j->f, j->h, b->f, b->h, V, p->target, p->n,
            e->temperature, p->soft);
}

/* Score model i against the base, and add the scores to the sums; first 1: add
 * the base's own loss too. */
static void
score_beside_base(struct eval *e, struct pack *p, size_t i, int first)
{
    if (!p->known)
        compute_pair(e, p, i, first);
    pack_add_pairs(e, p, i, 0, p->n, first);
}

static void
score_alone(struct eval *e, struct pack *p, size_t i)
{
    struct eval_model *j = &e->j[i];
    const double start = clock_now();

    if (!p->known)
        head_score(j->f, j->h, p->target, p->n, p->nll, NULL, NULL);
    j->seconds += clock_now() - start;
    resume_pass(e->resume, p->nll, p->n * sizeof *p->nll);
    for (size_t k = 0; k < p->n; k++)
        add_nll(e, p, i, k, p->nll[k]);
}

/* Count prediction k in its unit, independently of models. */
static void
count_prediction(struct eval *e, const struct pack *p, size_t k)
{
    struct unit *u = &e->units.unit[p->unit[k]];
    const uint32_t before = p->ids[p->at[k]];

    u->n++;
    u->weight += p->weight[k];
    if (e->vocab != NULL && e->protocol != PROTO_LMEVAL)
        u->bytes += vocab_bytes(e->vocab, p->target[k],
            e->info.bos >= 0 && before == (uint32_t)e->info.bos);
}

static void
score_all(struct eval *e, struct pack *p)
{
    int first = 1;

    for (size_t i = 0; i < e->nj; i++) {
        if (e->base == NONE)
            score_alone(e, p, i);
        else if (i != e->base)
            score_beside_base(e, p, i, first);
        first = first && i == e->base;
    }
}

/* Run all models on the rows, unless e->resume has their results. */
static void
run_models(struct pack *p, struct eval *e)
{
    const size_t n = p->B * p->T;
    struct err err;

    if ((p->known = resume_begin(e->resume, &err)) < 0)
        die_err(&err);
    resume_same(e->resume, p->ids, n * sizeof *p->ids);
    resume_same(e->resume, p->first, n * sizeof *p->first);
    resume_same(e->resume, p->at, p->n * sizeof *p->at);
    resume_same(e->resume, p->target, p->n * sizeof *p->target);
    if (e->stream_base != NULL)
        resume_same(e->resume, e->j[e->base].h,
            p->n * e->j[e->base].m.c.d * sizeof(float));
    if (p->known)
        return;
    for (size_t i = 0; i < e->nj && !p->told_compute; i++)
        if (!e->j[i].recorded)
            compute_note(&e->j[i].m, e->pool,
                &(struct rows){ 1, p->T, p->ids, p->first }, e->compute,
                e->j[i].label);
    p->told_compute = 1;
    for (size_t i = 0; i < e->nj; i++)
        if (!e->j[i].recorded)
            run_model(p, &e->j[i]);
}

void
pack_flush(struct pack *p, struct eval *e)
{
    struct err err;

    if (p->n > 0) {
        run_models(p, e);
        if (e->spread != NULL)
            spread_begin(e->spread, p->n);
        if (e->kld.in != NULL)
            base_score_rows(e, p);
        else
            score_all(e, p);
        if (e->kld.out != NULL)
            base_write_rows(e, p);
        if (e->spread != NULL)
            spread_end(e->spread, e, p->unit, p->n);
        for (size_t k = 0; k < p->n; k++)
            count_prediction(e, p, k);
        if (e->detail != NULL)
            detail_add(e->detail, e, p);
        for (size_t i = 0; i < e->nj; i++)
            resume_pass(e->resume, &e->j[i].seconds, sizeof e->j[i].seconds);
        if (resume_end(e->resume, &err) < 0)
            die_err(&err);
        if (e->losses != NULL)
            losses_add(e->losses, e, p);
        for (size_t i = 0; i < p->rows * p->T; i++)
            e->nfed += p->first[i] != UINT32_MAX;
    }
    memset(p->ids, 0, p->B * p->T * sizeof(*p->ids));
    memset(p->first, 0xff, p->B * p->T * sizeof(*p->first));
    memset(p->used, 0, p->B * sizeof(*p->used));
    p->rows = p->n = 0;
    if (progress_asked())
        eval_partial(e);
}
