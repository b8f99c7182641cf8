/* Scores of choices: see judge.h. */
#include "judge.h"
#include "base/mem.h"
#include "cli/die.h"
#include "kern/kern.h"
#include "model/pass/head.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void
judge_keep_logits(struct judge *j)
{
    j->zp = xreallocarray(NULL, j->c->n, j->m->c.V * sizeof(*j->zp));
}

size_t
judge_bytes(const struct model *m, const struct calib *c)
{
    const size_t row = c->T * sizeof(float);

    return (m->c.L + 1) * c->R * row * m->c.d + c->n * m->c.d * sizeof(float) +
        calib_chunk(c) * row * 3 * m->c.d;
}

/* Rows r0..r1-1 of the data, at most a chunk. */
static struct rows
rows_at(const struct judge *j, size_t r0, size_t r1)
{
    return calib_rows(j->c, r0, r1 - r0 < j->chunk ? r1 - r0 : j->chunk);
}

void
judge_init(struct judge *j, const struct model *m, const struct calib *c,
    struct pool *pool)
{
    const size_t L = m->c.L, state = m->c.d * sizeof(float);
    size_t row;

    memset(j, 0, sizeof(*j));
    j->m = m;
    j->c = c;
    j->pool = pool;
    j->chunk = calib_chunk(c);
    row = j->chunk * c->T;
    j->f = fwd_new(m, pool, j->chunk, c->T);
    j->base = fwd_new(m, pool, 1, 1);
    j->x = xreallocarray(NULL, row, state);
    j->h = xreallocarray(NULL, row, state);
    j->hp = xreallocarray(NULL, c->n, state);
    j->from = xcalloc(c->R + 1, sizeof(*j->from));
    for (size_t r = 0; r <= c->R; r++)
        j->from[r] = calib_scored(c, r);
    j->own = xcalloc(L + 1, sizeof(*j->own));
    j->in = xcalloc(L + 1, sizeof(*j->in));
    j->at = xcalloc(L, sizeof(*j->at));
    for (size_t i = 0; i <= L; i++)
        j->own[i] = xreallocarray(NULL, c->R * c->T, state);
    j->in[0] = j->own[0];
    for (size_t i = 0; i < L; i++) {
        j->at[i].o = xcalloc(m->block[i].w[W_O].cols, sizeof(double));
        j->at[i].chan = xcalloc(m->block[i].mlp, sizeof(double));
    }
}

void
judge_release(struct judge *j)
{
    for (size_t i = 0; i <= j->m->c.L; i++)
        free(j->own[i]);
    for (size_t i = 0; i < j->m->c.L; i++) {
        free(j->at[i].o);
        free(j->at[i].chan);
    }
    choice_release(&j->now);
    free(j->own);
    free(j->in);
    free(j->at);
    free(j->from);
    free(j->x);
    free(j->h);
    free(j->hp);
    free(j->zp);
    fwd_free(j->f);
    fwd_free(j->base);
    memset(j, 0, sizeof(*j));
}

/* ---- blocks of a choice ---- */

/* The entry of the block in c; NULL: c drops the block. */
static const struct choice_block *
block_in(const struct choice *c, size_t block)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->b[i].block == block)
            return &c->b[i];
    return NULL;
}

static int
same_list(const size_t *a, size_t na, const size_t *b, size_t nb)
{
    return na == nb && (a == NULL) == (b == NULL) &&
        (a == NULL || memcmp(a, b, na * sizeof(*a)) == 0);
}

/* First block in which c differs from j->now; L: no block differs. */
static size_t
first_other(const struct judge *j, const struct choice *c)
{
    for (size_t i = 0; i < j->m->c.L; i++) {
        const struct choice_block *a = block_in(&j->now, i),
                                  *b = block_in(c, i);

        if ((a == NULL) != (b == NULL))
            return i;
        if (a != NULL &&
            (!same_list(a->group, a->ngroups, b->group, b->ngroups) ||
                !same_list(a->chan, a->nchan, b->chan, b->nchan)))
            return i;
    }
    return j->m->c.L;
}

/* [all] a factor for each part: 1 if it is in the list, else 0.  NULL if the
 * list is NULL, which means all parts. */
static float *
factors(const size_t *list, size_t n, size_t all)
{
    float *f;

    if (list == NULL)
        return NULL;
    f = xcalloc(all, sizeof(*f));
    for (size_t i = 0; i < n; i++)
        f[list[i]] = 1.0f;
    return f;
}

/* For each block [L], the parts that fwd_block_part has to compute for c; freed
 * by free_parts. */
static struct fwd_part *
parts_of(const struct model *m, const struct choice *c)
{
    struct fwd_part *p = xcalloc(m->c.L, sizeof(*p));

    for (size_t i = 0; i < c->n; i++) {
        const struct choice_block *b = &c->b[i];
        const struct block *of = &m->block[b->block];

        p[b->block] = (struct fwd_part){ b->ngroups == 0 && !of->linear,
            b->nchan == 0, factors(b->group, b->ngroups, of->groups),
            factors(b->chan, b->nchan, of->mlp) };
    }
    return p;
}

static void
free_parts(struct fwd_part *p, size_t L)
{
    for (size_t i = 0; i < L; i++) {
        free((void *)(uintptr_t)p[i].group);
        free((void *)(uintptr_t)p[i].chan);
    }
    free(p);
}

/* ---- measuring blocks ---- */

static double
turn_between(const float *a, const float *b, size_t d)
{
    const double n = sqrt(kern.sumsq(a, d) * kern.sumsq(b, d));

    return n > 0.0 ? 1.0 - kern.dot(a, b, d) / n : 0.0;
}

/* Rows of calibration data, with their weights. */
struct weighted {
    struct rows r;
    const double *weight; /* [r.B] weight of each token of a row */
};

static double
sum_turns(const struct weighted *w, const float *a, const float *b, size_t d)
{
    double sum = 0.0;

    for (size_t t = 0; t < w->r.B * w->r.T; t++)
        if (w->r.first[t] != UINT32_MAX)
            sum +=
                w->weight[t / w->r.T] * turn_between(a + t * d, b + t * d, d);
    return sum;
}

static double
sum_squares(const struct weighted *w, const float *x, size_t d)
{
    double sum = 0.0;

    for (size_t t = 0; t < w->r.B * w->r.T; t++)
        if (w->r.first[t] != UINT32_MAX)
            sum += w->weight[t / w->r.T] * kern.sumsq(x + t * d, d);
    return sum;
}

/* Argument of tap_sums. */
struct measuring {
    struct judge *j;
    const struct weighted *w;
};

/* Add the squared inputs of the projections `o` and `down` to the sums of their
 * channels, and copy the residual stream before the MLP to j->x. */
static void
tap_sums(void *ctx, const struct fwd_tapped *t)
{
    const struct weighted *w = ((struct measuring *)ctx)->w;
    struct judge *j = ((struct measuring *)ctx)->j;
    struct measured *m = &j->at[t->block];
    const size_t d = j->m->c.d, rows = t->r->B * t->r->T;
    double *sum = t->input == FWD_O ? m->o : m->chan;

    if (t->input == FWD_MLP)
        memcpy(j->x, t->stream, rows * d * sizeof(float));
    if (!(t->input == FWD_O && m->on_o) && !(t->input == FWD_DOWN && m->on_mlp))
        return;
    *(t->input == FWD_O ? &m->before_o : &m->before_mlp) +=
        sum_squares(w, t->stream, d);
    for (size_t k = 0; k < rows; k++) {
        const float *a = t->x + (k / t->r->T * t->Tp + k % t->r->T) * t->ld;

        if (t->r->first[k] == UINT32_MAX)
            continue;
        for (size_t c = 0; c < t->n; c++)
            sum[c] += w->weight[k / t->r->T] * ((double)a[c] * a[c]);
    }
}

void
judge_weigh(const struct weight *w, double *sum)
{
    float *row = xreallocarray(NULL, w->cols, sizeof(*row));
    double *sq = xcalloc(w->cols, sizeof(*sq));

    for (size_t r = 0; r < w->rows; r++) {
        weight_rows(w, r, 1, row);
        for (size_t c = 0; c < w->cols; c++)
            sq[c] += (double)row[c] * row[c];
    }
    for (size_t c = 0; c < w->cols; c++)
        sum[c] *= sq[c];
    free(row);
    free(sq);
}

/* Reset the measurements of the parts of the block that c keeps whole. */
static void
measure_begin(struct judge *j, const struct choice_block *c)
{
    const struct block *b = &j->m->block[c->block];
    struct measured *m = &j->at[c->block];

    m->on_o = c->group == NULL && c->ngroups > 0;
    m->on_mlp = c->chan == NULL && c->nchan > 0;
    if (m->on_o) {
        memset(m->o, 0, b->w[W_O].cols * sizeof(double));
        m->attn = m->before_o = 0.0;
    }
    if (m->on_mlp) {
        memset(m->chan, 0, b->mlp * sizeof(double));
        m->mlp = m->before_mlp = 0.0;
    }
    m->influence = 0.0;
}

static void
measure_end(struct judge *j, size_t i)
{
    const struct block *b = &j->m->block[i];
    struct measured *m = &j->at[i];
    const double n = (double)j->c->ntok;

    if (m->on_o) {
        judge_weigh(&b->w[W_O], m->o);
        m->attn /= n;
    }
    if (m->on_mlp) {
        judge_weigh(&b->w[W_DOWN], m->chan);
        m->mlp /= n;
    }
    m->influence /= n;
}

/* Compute block i for a chunk of rows from r0 on, and measure it. */
static void
measure_block(struct judge *j, size_t i, size_t r0, const struct fwd_part *part)
{
    const size_t d = j->m->c.d;
    const struct weighted w = { rows_at(j, r0, j->c->R),
        j->c->token_weight + r0 };
    const float *x = j->in[i] + r0 * w.r.T * d;
    float *y = j->in[i + 1] + r0 * w.r.T * d;
    struct measured *m = &j->at[i];

    fwd_tap(j->f, tap_sums, &(struct measuring){ j, &w });
    fwd_block_part(j->f, i, &w.r, x, y, part);
    fwd_tap(j->f, NULL, NULL);
    m->influence += sum_turns(&w, x, y, d);
    if (m->on_o && m->on_mlp) {
        m->attn += sum_turns(&w, x, j->x, d);
        m->mlp += sum_turns(&w, j->x, y, d);
    } else {
        m->attn += m->on_o ? sum_turns(&w, x, y, d) : 0.0;
        m->mlp += m->on_mlp ? sum_turns(&w, x, y, d) : 0.0;
    }
}

/* ---- walks ---- */

/* Apply the final norm to x, the last block's output for the rows r, which
 * begin at row r0 of the data.  Copy to h the states whose predictions are
 * scored. */
static void
gather_states(struct judge *j, struct fwd *f, const struct rows *r, size_t r0,
    const float *x, float *h)
{
    const size_t d = j->m->c.d, base = r0 * r->T;

    fwd_norm(f, r, x, j->x);
    for (size_t k = j->from[r0]; k < j->from[r0 + r->B]; k++, h += d)
        memcpy(h, j->x + (j->c->at[k] - base) * d, d * sizeof(*h));
}

/* Score the rows r, which begin at row r0 of the data, into out [r->B].  x:
 * output of the last block. */
static void
score_chunk(struct judge *j, struct fwd *f, const struct rows *r, size_t r0,
    const float *x, struct row_score *out)
{
    const size_t k0 = j->from[r0], n = j->from[r0 + r->B] - k0;
    struct pair_score *p = xreallocarray(NULL, n, sizeof(*p));

    gather_states(j, f, r, r0, x, j->h);
    if (j->zp != NULL)
        head_score_logits(f, j->h, j->zp + k0 * j->m->c.V, j->c->target + k0, n,
            1.0, p);
    else
        head_score_pair(f, j->h, j->base, j->hp + k0 * j->m->c.d, j->m->c.V,
            j->c->target + k0, n, 1.0, p);
    for (size_t b = 0; b < r->B; b++) {
        out[b] = (struct row_score){ 0.0, 0.0 };
        for (size_t k = j->from[r0 + b]; k < j->from[r0 + b + 1]; k++) {
            out[b].nll += p[k - k0].nll_q;
            out[b].kl += p[k - k0].kl;
        }
    }
    free(p);
}

void
judge_set(struct judge *j, const struct choice *c, int measuring)
{
    const size_t L = j->m->c.L, R = j->c->R, td = j->c->T * j->m->c.d;
    const int begin = j->now.n == 0;
    const size_t from = begin ? 0 : first_other(j, c);
    struct fwd_part *parts = parts_of(j->m, c);

    for (size_t i = from; i < L; i++) {
        j->in[i + 1] = block_in(c, i) != NULL ? j->own[i + 1] : j->in[i];
        if (measuring && block_in(c, i) != NULL)
            measure_begin(j, block_in(c, i));
    }
    for (size_t r0 = 0; r0 < R; r0 += j->chunk) {
        const struct rows r = rows_at(j, r0, R);

        if (begin)
            fwd_embed(j->f, &r, j->in[0] + r0 * td);
        for (size_t i = from; i < L; i++) {
            if (block_in(c, i) != NULL && measuring)
                measure_block(j, i, r0, &parts[i]);
            else if (block_in(c, i) != NULL)
                fwd_block_part(j->f, i, &r, j->in[i] + r0 * td,
                    j->in[i + 1] + r0 * td, &parts[i]);
        }
        if (begin)
            gather_states(j, j->f, &r, r0, j->in[L] + r0 * td,
                j->hp + j->from[r0] * j->m->c.d);
    }
    if (begin && j->zp != NULL)
        fwd_head(j->f, j->hp, j->c->n, j->zp);
    for (size_t i = from; measuring && i < L; i++)
        if (block_in(c, i) != NULL)
            measure_end(j, i);
    free_parts(parts, L);
    choice_release(&j->now);
    choice_copy(&j->now, c);
}

void
judge_rows(struct judge *j, const struct choice *c, size_t r0, size_t r1,
    struct row_score *out)
{
    const size_t L = j->m->c.L, td = j->c->T * j->m->c.d;
    const size_t from = first_other(j, c);
    struct fwd_part *parts = parts_of(j->m, c);

    for (size_t r = r0; r < r1; r += j->chunk) {
        const struct rows rows = rows_at(j, r, r1);
        const float *x = j->in[from] + r * td;

        for (size_t i = from; i < L; i++) {
            if (block_in(c, i) == NULL)
                continue;
            fwd_block_part(j->f, i, &rows, x, j->x, &parts[i]);
            x = j->x;
        }
        score_chunk(j, j->f, &rows, r, x, out + (r - r0));
    }
    free_parts(parts, L);
}

void
judge_model(struct judge *j, const struct model *m, struct row_score *out)
{
    struct fwd *f = fwd_new(m, j->pool, j->chunk, j->c->T);

    for (size_t r = 0; r < j->c->R; r += j->chunk) {
        const struct rows rows = rows_at(j, r, j->c->R);

        fwd_embed(f, &rows, j->x);
        for (size_t i = 0; i < m->c.L; i++)
            fwd_block(f, i, &rows, j->x, j->x);
        score_chunk(j, f, &rows, r, j->x, out + r);
    }
    fwd_free(f);
}
