/* The model on the calibration data: walks that restart from cached inputs. */
#include "prune.h"
#include "base/mem.h"
#include "cli/die.h"
#include "kern/kern.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TOKENS = 4096 }; /* of one pass */

double
score_sum(const struct score *s)
{
    return s->nll + s->kl;
}

static size_t
chunk_of(const struct calib *c)
{
    const size_t n = c->T < TOKENS ? TOKENS / c->T : 1;

    return n < c->R ? n : c->R;
}

size_t
judge_bytes(const struct model *m, const struct calib *c)
{
    const size_t row = c->T * sizeof(float);

    return (m->c.L + 1) * c->R * row * m->c.d + c->n * m->c.d * sizeof(float) +
        chunk_of(c) * row * 2 * m->c.d;
}

/* The rows of the data from r0 on, at most a chunk. */
static struct rows
rows_at(const struct judge *j, size_t r0)
{
    const struct calib *c = j->c;

    return (struct rows){
        c->R - r0 < j->chunk ? c->R - r0 : j->chunk,
        c->T,
        c->ids + r0 * c->T,
        c->first + r0 * c->T,
    };
}

/* How many scored predictions, from the k-th on, lie in rows r. */
static size_t
scored_in(const struct judge *j, const struct rows *r, size_t r0, size_t k)
{
    const size_t end = (r0 + r->B) * r->T;
    size_t n = 0;

    while (k + n < j->c->n && j->c->at[k + n] < end)
        n++;
    return n;
}

/* Norm x, the output of the last block on a chunk, and gather the states of n
 * scored predictions, from the k-th on, into h [n,d]. */
static void
final_states(struct judge *j, struct fwd *f, const struct rows *r, size_t r0,
    size_t k, size_t n, const float *x, float *h)
{
    const size_t d = j->m->c.d, base = r0 * r->T;

    fwd_norm(f, r, x, j->x);
    for (size_t i = 0; i < n; i++)
        memcpy(h + i * d, j->x + (j->c->at[k + i] - base) * d, d * sizeof(*h));
}

/* Add losses and divergences of a chunk to s; x: output of the last block. */
static void
add_scores(struct judge *j, struct fwd *f, const struct rows *r, size_t r0,
    size_t *k, const float *x, struct score *s)
{
    const size_t n = scored_in(j, r, r0, *k), d = j->m->c.d;
    struct pair_score *p;

    if (n == 0)
        return;
    p = xreallocarray(NULL, n, sizeof(*p));
    final_states(j, f, r, r0, *k, n, x, j->h);
    head_score_pair(f, j->h, j->base, j->hp + *k * d, j->c->target + *k, n, 1.0,
        p);
    for (size_t i = 0; i < n; i++) {
        s->nll += p[i].nll_q;
        s->kl += p[i].kl;
    }
    free(p);
    *k += n;
}

static void
mean_score(const struct judge *j, struct score *s)
{
    s->nll /= (double)j->c->n;
    s->kl /= (double)j->c->n;
    if (!isfinite(s->nll) || !isfinite(s->kl))
        die(EX_NUM, "%s: its loss on the calibration data is not finite",
            j->m->path);
}

void
judge_init(struct judge *j, const struct model *m, const struct calib *c,
    struct pool *pool)
{
    const size_t L = m->c.L;
    size_t row;

    memset(j, 0, sizeof(*j));
    j->m = m;
    j->c = c;
    j->pool = pool;
    j->chunk = chunk_of(c);
    row = j->chunk * c->T;
    j->f = fwd_new(m, pool, j->chunk, c->T);
    j->base = fwd_new(m, pool, 1, 1);
    j->x = xreallocarray(NULL, row, m->c.d * sizeof(float));
    j->h = xreallocarray(NULL, row, m->c.d * sizeof(float));
    j->hp = xreallocarray(NULL, c->n, m->c.d * sizeof(float));
    j->cache = xcalloc(L + 1, sizeof(*j->cache));
    j->importance = xcalloc(L, sizeof(*j->importance));
    j->influence = xcalloc(L, sizeof(*j->influence));
    for (size_t i = 0; i <= L; i++)
        j->cache[i] = xreallocarray(NULL, c->R * c->T, m->c.d * sizeof(float));
    for (size_t i = 0; i < L; i++)
        j->importance[i] = xcalloc(m->block[i].mlp, sizeof(double));
}

void
judge_release(struct judge *j)
{
    for (size_t i = 0; i <= j->m->c.L; i++)
        free(j->cache[i]);
    for (size_t i = 0; i < j->m->c.L; i++)
        free(j->importance[i]);
    free(j->cache);
    free(j->importance);
    free(j->influence);
    free(j->x);
    free(j->h);
    free(j->hp);
    fwd_free(j->f);
    fwd_free(j->base);
    memset(j, 0, sizeof(*j));
}

/* 1 - cos of a token's state before and after a block (ShortGPT,
 * arXiv:2403.03853, eq. 1). */
static double
turned(const float *a, const float *b, size_t d)
{
    const double n = sqrt(kern.sumsq(a, d) * kern.sumsq(b, d));

    return n > 0.0 ? 1.0 - kern.dot(a, b, d) / n : 0.0;
}

/* Add the energy of a block's channels over the tokens of a chunk. */
static void
add_energy(void *ctx, const struct fwd_tapped *t)
{
    const struct judge *j = ctx;
    double *imp = j->importance[t->block];

    for (size_t k = 0; t->input == FWD_DOWN && k < t->r->B * t->r->T; k++) {
        const float *a = t->x + (k / t->r->T * t->Tp + k % t->r->T) * t->ld;

        if (t->r->first[k] == UINT32_MAX)
            continue;
        for (size_t c = 0; c < t->n; c++)
            imp[c] += (double)a[c] * a[c];
    }
}

static void
add_influence(struct judge *j, size_t i, const struct rows *r, const float *x,
    const float *y)
{
    const size_t d = j->m->c.d;

    for (size_t t = 0; t < r->B * r->T; t++) {
        if (r->first[t] != UINT32_MAX)
            j->influence[i] += turned(x + t * d, y + t * d, d);
    }
}

/* After the last token: multiply the energies by the squared norms of the
 * columns of down, and make influence a mean. */
static void
weigh(struct judge *j, size_t i)
{
    const struct weight *w = &j->m->block[i].w[W_DOWN];
    float *row = xreallocarray(NULL, w->cols, sizeof(*row));
    double *sq = xcalloc(w->cols, sizeof(*sq));

    for (size_t r = 0; r < w->rows; r++) {
        weight_rows(w, r, 1, row);
        for (size_t c = 0; c < w->cols; c++)
            sq[c] += (double)row[c] * row[c];
    }
    for (size_t c = 0; c < w->cols; c++)
        j->importance[i][c] *= sq[c];
    j->influence[i] /= (double)j->c->ntok;
    free(row);
    free(sq);
}

void
judge_profile(struct judge *j, const struct shape *s, size_t from)
{
    const size_t td = j->c->T * j->m->c.d;
    const int first = s->n == j->m->c.L && from == 0;
    size_t k = 0;

    for (size_t i = from; i < s->n; i++) {
        const size_t b = s->block[i];

        memset(j->importance[b], 0, j->m->block[b].mlp * sizeof(double));
        j->influence[b] = 0.0;
    }
    for (size_t r0 = 0; r0 < j->c->R; r0 += j->chunk) {
        const struct rows r = rows_at(j, r0);
        const size_t n = scored_in(j, &r, r0, k);

        if (from == 0)
            fwd_embed(j->f, &r, j->cache[0] + r0 * td);
        for (size_t i = from; i < s->n; i++) {
            const float *x = j->cache[i] + r0 * td;
            float *y = j->cache[i + 1] + r0 * td;

            fwd_tap(j->f, add_energy, j);
            fwd_block(j->f, s->block[i], &r, x, y);
            fwd_tap(j->f, NULL, NULL);
            add_influence(j, s->block[i], &r, x, y);
        }
        if (first)
            final_states(j, j->f, &r, r0, k, n, j->cache[s->n] + r0 * td,
                j->hp + k * j->m->c.d);
        k += n;
    }
    for (size_t i = from; i < s->n; i++)
        weigh(j, s->block[i]);
}

void
judge_score(struct judge *j, size_t from, const size_t *blocks, size_t n,
    const float *const *keep, struct score *out)
{
    const size_t td = j->c->T * j->m->c.d;
    struct score s = { 0 };
    size_t k = 0;

    for (size_t r0 = 0; r0 < j->c->R; r0 += j->chunk) {
        const struct rows r = rows_at(j, r0);
        const float *x = j->cache[from] + r0 * td;

        for (size_t i = 0; i < n; i++) {
            const struct fwd_part p = { .chan = keep != NULL ? keep[i] : NULL };

            fwd_block_part(j->f, blocks[i], &r, x, j->x, &p);
            x = j->x;
        }
        add_scores(j, j->f, &r, r0, &k, x, &s);
    }
    mean_score(j, &s);
    *out = s;
}

void
judge_model(struct judge *j, const struct model *m, struct score *out)
{
    struct fwd *f = fwd_new(m, j->pool, j->chunk, j->c->T);
    struct score s = { 0 };
    size_t k = 0;

    for (size_t r0 = 0; r0 < j->c->R; r0 += j->chunk) {
        const struct rows r = rows_at(j, r0);

        fwd_embed(f, &r, j->x);
        for (size_t i = 0; i < m->c.L; i++)
            fwd_block(f, i, &r, j->x, j->x);
        add_scores(j, f, &r, r0, &k, j->x, &s);
    }
    mean_score(j, &s);
    fwd_free(f);
    *out = s;
}
