/*
 * What a search is compared with: parts are dropped in the order of a list, and
 * for each number of them channels meet the rest of the goal.
 */
#include "search.h"
#include "base/mem.h"
#include "base/rng.h"

#include <stdlib.h>
#include <string.h>

/* All parts that may go, in the order of what v says, rising. */
struct line {
    struct piece *p;
    double *v;
    size_t n;
};

static void
line_init(const struct search *s, struct line *l)
{
    static const enum unit units[] = { UNIT_BLOCKS, UNIT_ATTN, UNIT_MLP };
    const struct conf *whole = &s->log->t[0].conf;

    l->p = xcalloc(3 * whole->L, sizeof(*l->p));
    l->v = xcalloc(3 * whole->L, sizeof(*l->v));
    l->n = 0;
    for (size_t i = 0; i < 3 * whole->L; i++) {
        const struct piece p = { units[i % 3], i / 3 };

        if (part_there(s, whole, p))
            l->p[l->n++] = p;
    }
}

static void
line_release(struct line *l)
{
    free(l->p);
    free(l->v);
}

static void
line_sort(struct line *l)
{
    size_t *order = xcalloc(l->n, sizeof(*order));
    struct piece *p = xcalloc(l->n, sizeof(*p));

    for (size_t i = 0; i < l->n; i++)
        l->v[i] = -l->v[i]; /* rising */
    rank_values(l->v, l->n, order);
    for (size_t i = 0; i < l->n; i++)
        p[i] = l->p[order[i]];
    memcpy(l->p, p, l->n * sizeof(*p));
    free(order);
    free(p);
}

static size_t
channels(const struct conf *c)
{
    size_t n = 0;

    for (size_t i = 0; i < c->L; i++)
        n += c->b[i].mlp;
    return n;
}

/* The whole without the first k of them, met by channels; 1: that took some, 0:
 * none, -1: the goal is not met. */
static int
without(const struct search *s, const struct line *l, size_t k,
    struct conf *out)
{
    size_t before;

    conf_copy(out, &s->log->t[0].conf);
    for (size_t i = 0; i < k; i++)
        if (part_there(s, out, l->p[i]))
            part_drop(s, out, l->p[i]);
    before = channels(out);
    if (conf_blocks(out) > 0 &&
        (s->g.blocks == 0 || conf_blocks(out) == s->g.blocks) &&
        fit(s, out, 0) == 0)
        return channels(out) < before;
    conf_release(out);
    return -1;
}

static void
try_one(struct search *s, struct conf *conf)
{
    struct cand c;

    cand_init(&c, s, "mix", conf);
    try_all(s, &c, 1);
    try_best(s, &c);
    cand_release(&c);
}

/* Each number of parts, until what is left is small enough as it is. */
static void
walk(struct search *s, struct line *l)
{
    line_sort(l);
    for (size_t k = 0; k <= l->n; k++) {
        struct conf c;
        const int took = without(s, l, k, &c);

        if (took < 0)
            continue;
        try_one(s, &c);
        if (took == 0 && s->g.blocks == 0)
            break;
    }
}

void
search_influence(struct search *s)
{
    struct line l;

    line_init(s, &l);
    for (size_t i = 0; i < l.n; i++)
        l.v[i] = part_influence(s, &s->log->t[0].conf, l.p[i]);
    walk(s, &l);
    line_release(&l);
}

/* ---- magnitude ---- */

/* Sums of squares of w: of row r into by_row[r], of column c into by_col[c],
 * where they are not NULL; of all. */
static double
squares(const struct weight *w, double *by_row, double *by_col)
{
    float *row = xreallocarray(NULL, w->cols, sizeof(*row));
    double all = 0.0;

    for (size_t r = 0; r < w->rows; r++) {
        weight_rows(w, r, 1, row);
        for (size_t c = 0; c < w->cols; c++) {
            const double v = (double)row[c] * row[c];

            all += v;
            if (by_row != NULL)
                by_row[r] += v;
            if (by_col != NULL)
                by_col[c] += v;
        }
    }
    free(row);
    return all;
}

/* Order block i's channels by v, as shares of their sum, if no profile has
 * ordered them. */
static void
order_channels(struct search *s, size_t i, const double *v)
{
    const size_t n = s->j->m->block[i].mlp;
    struct rank *r = &s->rank[i];
    double all = 0.0;

    if (s->fixed)
        return;
    for (size_t c = 0; c < n; c++)
        all += v[c];
    rank_values(v, n, r->chan);
    for (size_t c = 0; c < n; c++)
        r->chan_energy[c + 1] = r->chan_energy[c] + v[r->chan[c]] / all;
}

/* Mean square of the weights of a part. */
static double
part_magnitude(const struct search *s, struct piece p)
{
    const struct block *b = &s->j->m->block[p.block];
    double sum = 0.0, n = 0.0;

    for (int t = W_Q; t <= W_DOWN; t++) {
        const struct weight *w = &b->w[t];

        if (t == W_NORM2 || (p.unit == UNIT_ATTN && t > W_O) ||
            (p.unit == UNIT_MLP && t <= W_O))
            continue;
        sum += squares(w, NULL, NULL);
        n += (double)w->rows * (double)w->cols;
    }
    return n > 0.0 ? sum / n : 0.0;
}

void
search_magnitude(struct search *s)
{
    const struct model *m = s->j->m;
    struct line l;

    for (size_t i = 0; i < m->c.L; i++) {
        const struct block *b = &m->block[i];
        double *v = xcalloc(b->mlp, sizeof(*v));

        squares(&b->w[W_GATE], v, NULL);
        squares(&b->w[W_UP], v, NULL);
        squares(&b->w[W_DOWN], NULL, v);
        order_channels(s, i, v);
        free(v);
    }
    line_init(s, &l);
    for (size_t i = 0; i < l.n; i++)
        l.v[i] = part_magnitude(s, l.p[i]);
    walk(s, &l);
    line_release(&l);
}

/* ---- chance ---- */

/* Any order of parts and channels, and of the numbers of parts that meet the
 * goal any one. */
static void
try_random(struct search *s, uint64_t key)
{
    struct line l;
    size_t *able, n = 0;
    struct conf c;

    for (size_t i = 0; i < s->j->m->c.L; i++) {
        const size_t chans = s->j->m->block[i].mlp;
        double *v = xcalloc(chans, sizeof(*v));

        for (size_t k = 0; k < chans; k++)
            v[k] = rng_unit(rng_key(key, i + 2), k);
        order_channels(s, i, v);
        free(v);
    }
    line_init(s, &l);
    able = xcalloc(l.n + 1, sizeof(*able));
    for (size_t i = 0; i < l.n; i++)
        l.v[i] = rng_unit(rng_key(key, 0), i);
    line_sort(&l);
    for (size_t k = 0; k <= l.n; k++)
        if (without(s, &l, k, &c) >= 0) {
            able[n++] = k;
            conf_release(&c);
        }
    if (n > 0 && without(s, &l, able[rng_u64(key, 1) % n], &c) >= 0)
        try_one(s, &c);
    else
        s->spent += 1.0;
    line_release(&l);
    free(able);
}

void
search_random(struct search *s)
{
    const double most = s->spent + (s->evals > 0.0 ? s->evals : 32.0);

    for (uint64_t i = 0; s->spent < most; i++)
        try_random(s, rng_key(s->seed, i));
}
