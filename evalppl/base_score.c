/* Scoring rows of logits against a file that --read-base names; see
 * base_score.h. */
#include "base_score.h"
#include "base_file.h"
#include "eval/resume.h"
#include "base/clock.h"
#include "base/mem.h"
#include "cli/die.h"
#include "kern/kern.h"
#include "model/pass/head.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS = 128,
    FLOOR = -16,   /* smaller log p are left out of KL at temperature 1, as
                    * llama-perplexity does */
    NOTHING = -100 /* stands for a log p that is left out */
};

struct base_scorer {
    size_t V, row_bytes;
    float *z;           /* [ROWS,V] */
    unsigned char *row; /* [ROWS,row_bytes] */
    float *logp, *high; /* [threads,V] */
    /* arguments of compare_task, for n rows */
    const uint32_t *target; /* [n] */
    float s;                /* 1 / temperature */
    struct pair_score *pair, *soft;
    int damaged[ROWS];
};

static struct base_scorer *
base_scorer_of(struct eval *e)
{
    const size_t V = e->j[0].m.c.V, threads = pool_size(e->pool);
    struct base_scorer *w = e->kld.scorer;

    if (w != NULL)
        return w;
    w = e->kld.scorer = xcalloc(1, sizeof(*w));
    w->V = V;
    w->row_bytes = base_row_bytes(V);
    w->s = (float)(1.0 / e->temperature);
    w->z = xreallocarray(NULL, V, ROWS * sizeof(*w->z));
    w->row = xreallocarray(NULL, w->row_bytes, ROWS);
    w->logp = xreallocarray(NULL, V, threads * sizeof(*w->logp));
    w->high = xreallocarray(NULL, V, threads * sizeof(*w->high));
    return w;
}

void
base_score_open(struct eval *e, const char *path)
{
    struct err err;

    e->kld.in = xmalloc(sizeof(*e->kld.in));
    if (base_in_open(e->kld.in, path, &err) < 0)
        die_err(&err);
    eval_add_base(e, path, e->kld.in->V);
}

void
base_score_close(struct eval *e)
{
    struct base_scorer *w = e->kld.scorer;

    if (e->kld.in != NULL)
        base_in_close(e->kld.in);
    free(e->kld.in);
    free(e->kld.out);
    if (w == NULL)
        return;
    free(w->z);
    free(w->row);
    free(w->logp);
    free(w->high);
    free(w);
}

static size_t
first_index(const float *x, size_t n, float value)
{
    size_t i = 0;

    while (i + 1 < n && x[i] != value)
        i++;
    return i;
}

/* E_p[(a - b) s] with p = softmax(a s); *lse: log sum exp(a s). */
static double
mean_gap(const float *a, const float *b, size_t V, float max, float s,
    double *lse)
{
    double gap;
    const double sum = kern.kl_sums(a, b, V, max, s, &gap);

    *lse = (double)max * s + log(sum);
    return gap / sum * s;
}

/* KL in both directions between softmax(logp s), the base's, and softmax(z s).
 */
static void
divergences(const float *logp, const float *z, size_t V, float top_p,
    float top_q, float s, struct pair_score *out)
{
    double lse_p, lse_q;
    const double forth = mean_gap(logp, z, V, top_p, s, &lse_p);
    const double back = mean_gap(z, logp, V, top_q, s, &lse_q);

    out->kl = forth - lse_p + lse_q;
    out->back = back - lse_q + lse_p;
}

/* Score row r.  The base's probabilities are rounded and do not sum to exactly
 * 1; its loss, and KL(base || model) at temperature 1, take them as they are,
 * as llama-perplexity does. */
static void
compare_task(void *ctx, size_t r, size_t worker)
{
    struct base_scorer *w = ctx;
    const size_t V = w->V, target = w->target[r];
    const float *z = w->z + r * V;
    float *logp = w->logp + worker * V, *high = w->high + worker * V;
    const float max = kern.max(z, V);
    struct pair_score *out = &w->pair[r];
    double gap, sum, lse;
    float top;

    w->damaged[r] = base_row_unpack(w->row + r * w->row_bytes, logp, V) < 0;
    if (w->damaged[r])
        return;
    top = kern.max(logp, V);
    for (size_t v = 0; v < V; v++)
        high[v] = logp[v] > (float)FLOOR ? logp[v] : (float)NOTHING;
    lse = max + log(kern.expsum(z, V, max, 1.0f));
    sum = kern.kl_sums(high, z, V, 0.0f, 1.0f, &gap);
    *out = (struct pair_score){
        .nll_p = -(double)logp[target],
        .agree = first_index(z, V, max) == first_index(logp, V, top),
    };
    divergences(logp, z, V, top, max, 1.0f, out);
    out->accept = head_accept(z, lse, logp,
        top + log(kern.expsum(logp, V, top, 1.0f)), V, high);
    out->kl = gap + lse * sum;
    out->nll_q = lse - z[target];
    if (w->s != 1.0f)
        divergences(logp, z, V, top, max, w->s, &w->soft[r]);
}

/* Score n predictions from index `at` on by model i.  The file's rows for them
 * are in w->row. */
static void
compute_rows(struct eval *e, const struct pack *p, size_t i, size_t at,
    size_t n)
{
    struct base_scorer *w = e->kld.scorer;
    struct eval_model *j = &e->j[i];
    const double start = clock_now();

    fwd_head(j->f, j->h + at * j->m.c.d, n, w->z);
    w->target = p->target + at;
    w->pair = j->pair + at;
    w->soft = p->soft + at;
    pool_run(e->pool, n, compare_task, w);
    j->seconds += clock_now() - start;
    for (size_t k = 0; k < n; k++)
        if (w->damaged[k])
            die(EX_INPUT,
                "%s: prediction %zu: the row has a scale or a low end that is "
                "not possible",
                e->kld.in->path, e->kld.in->row - n + k);
}

void
base_score_rows(struct eval *e, const struct pack *p)
{
    struct base_scorer *w = base_scorer_of(e);
    struct err err;

    for (size_t at = 0; at < p->n; at += ROWS) {
        const size_t n = p->n - at < ROWS ? p->n - at : ROWS;
        int first = 1;

        if (base_in_rows(e->kld.in, w->row, n, &err) < 0)
            die_err(&err);
        resume_same(e->resume, w->row, n * w->row_bytes);
        for (size_t i = 0; i < e->nj; i++)
            if (i != e->base) {
                if (!p->known)
                    compute_rows(e, p, i, at, n);
                pack_add_pairs(e, p, i, at, n, first);
                first = 0;
            }
    }
}

/* ---- writing a file ---- */

void
base_write_begin(struct eval *e, const uint32_t *ids, size_t n)
{
    const struct eval_model *j = &e->j[e->base != NONE ? e->base : 0];
    struct err err;

    e->kld.out = xmalloc(sizeof(*e->kld.out));
    if (base_out_begin(e->kld.out, e->kld.out_path, e->c, j->m.c.V, ids,
            n / e->c, &err) < 0)
        die_err(&err);
}

void
base_write_end(struct eval *e)
{
    struct err err;

    if (io_out_commit(&e->kld.out->o, &err) < 0)
        die_err(&err);
}

static void
pack_task(void *ctx, size_t r, size_t worker)
{
    struct base_scorer *w = ctx;

    (void)worker;
    base_row_pack(w->row + r * w->row_bytes, w->z + r * w->V, w->V);
}

void
base_write_rows(struct eval *e, const struct pack *p)
{
    struct base_scorer *w = base_scorer_of(e);
    const struct eval_model *j = &e->j[e->base != NONE ? e->base : 0];
    struct err err;

    for (size_t at = 0; at < p->n; at += ROWS) {
        const size_t n = p->n - at < ROWS ? p->n - at : ROWS;

        fwd_head(j->f, j->h + at * j->m.c.d, n, w->z);
        pool_run(e->pool, n, pack_task, w);
        if (base_out_rows(e->kld.out, w->row, n, &err) < 0)
            die_err(&err);
    }
}
