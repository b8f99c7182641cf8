/* Measuring and removing experts; see experts.h. */
#include "experts.h"
#include "base/mem.h"
#include "kern/kern.h"
#include "model/pass/forward.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void
add_routed(void *ctx, const struct fwd_routed *t)
{
    struct expert_sums *s = ctx;
    const size_t row = t->block * s->E;

    for (size_t i = 0; i < t->n * t->k; i++) {
        const size_t at = row + t->id[i];
        const float *y = t->y + t->pair[i] * t->d;

        s->n[at]++;
        s->mass[at] += t->w[i];
        s->norm[at] += t->w[i] * sqrt(kern.sumsq(y, t->d));
    }
}

void
experts_measure(struct expert_sums *s, const struct model *m,
    const struct calib *c, struct pool *pool)
{
    const size_t L = m->c.L, E = m->c.router.n, chunk = calib_chunk(c);
    struct fwd *f = fwd_new_blocks(m, pool, chunk, c->T);
    float *x = xcalloc(chunk * c->T * m->c.d, sizeof *x);

    *s = (struct expert_sums){ L, E, xcalloc(L * E, sizeof(double)),
        xcalloc(L * E, sizeof(double)), xcalloc(L * E, sizeof(double)) };
    fwd_tap_experts(f, add_routed, s);
    for (size_t r = 0; r < c->R; r += chunk) {
        const struct rows rows = calib_rows(c, r, chunk);

        fwd_states(f, &rows, x);
    }
    fwd_free(f);
    free(x);
}

void
experts_release(struct expert_sums *s)
{
    free(s->n);
    free(s->mass);
    free(s->norm);
}

double
experts_value(const struct expert_sums *s, enum expert_rank by, size_t i,
    size_t e)
{
    const size_t at = i * s->E + e;

    return by == RANK_MASS ? s->mass[at]
        : s->n[at] > 0.0   ? s->norm[at] / s->n[at]
                           : 0.0;
}

void
experts_choose(const struct expert_sums *s, enum expert_rank by, size_t n,
    uint32_t *kept)
{
    for (size_t i = 0; i < s->L; i++) {
        size_t k = 0;

        for (size_t e = 0; e < s->E; e++) {
            const double v = experts_value(s, by, i, e);
            size_t better = 0;

            for (size_t o = 0; o < s->E; o++) {
                const double other = experts_value(s, by, i, o);

                better += other > v || (other == v && o < e);
            }
            if (better < n)
                kept[i * n + k++] = (uint32_t)e;
        }
    }
}

/* Set w to the rows of the n kept experts in `from`, `each` rows per expert.
 * Element e of part [n] points to the rows of kept[e]. */
static void
cut_weight(struct weight *w, const struct weight *from, const uint32_t *kept,
    size_t n, size_t each, const unsigned char **part)
{
    for (size_t e = 0; e < n; e++)
        part[e] = weight_row(from, kept[e] * each);
    w->part = part;
    w->part_rows = each;
    w->data = part[0];
    w->rows = n * each;
}

/* Set w, a vector with a number for each expert, to those of the n kept ones in
 * `from`, which are copied to `to`. */
static void
cut_vector(struct weight *w, const struct weight *from, const uint32_t *kept,
    size_t n, float *to)
{
    float *all = xcalloc(from->cols + 1, sizeof *all);

    weight_rows(from, 0, 1, all);
    for (size_t e = 0; e < n; e++)
        to[e] = all[kept[e]];
    free(all);
    *w = (struct weight){ .data = (const unsigned char *)to,
        .dtype = DT_F32,
        .rows = 1,
        .cols = n,
        .stride = n * sizeof *to };
}

void
experts_cut(struct expert_cut *x, const struct model *m, const uint32_t *kept,
    size_t n)
{
    static const int cut[] = { W_ROUTER, W_EXPERT_GATE, W_EXPERT_UP,
        W_EXPERT_DOWN };
    const size_t L = m->c.L;

    x->m = *m;
    x->m.c.router.n = n;
    x->m.block = xcalloc(L, sizeof *x->m.block);
    x->part = xcalloc(L * 4 * n, sizeof *x->part);
    x->shift = xcalloc(L * n, sizeof *x->shift);
    memcpy(x->m.block, m->block, L * sizeof *m->block);
    for (size_t i = 0; i < L; i++) {
        struct block *b = &x->m.block[i];

        for (size_t k = 0; b->experts > 0 && k < 4; k++)
            cut_weight(&b->w[cut[k]], &m->block[i].w[cut[k]], kept + i * n, n,
                m->block[i].w[cut[k]].rows / b->experts,
                x->part + (i * 4 + k) * n);
        if (b->w[W_ROUTER_SHIFT].rows > 0)
            cut_vector(&b->w[W_ROUTER_SHIFT], &m->block[i].w[W_ROUTER_SHIFT],
                kept + i * n, n, x->shift + i * n);
        b->experts = b->experts > 0 ? n : 0;
    }
}

void
experts_cut_free(struct expert_cut *x)
{
    free(x->m.block);
    free(x->part);
    free(x->shift);
}
