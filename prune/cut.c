/* Cutting a model: see cut.h */
#include "cut.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Allocate an fp32 matrix in a; data is NULL while that is only planned. */
static struct weight
matrix(struct arena *a, size_t rows, size_t cols)
{
    return (struct weight){
        .data = arena_alloc(a, rows * cols, sizeof(float)),
        .dtype = DT_F32,
        .rows = rows,
        .cols = cols,
        .stride = cols * sizeof(float),
    };
}

/* The rows of w that are kept. */
static struct weight
cut_rows(const struct weight *w, const struct keep *k, struct arena *a)
{
    struct weight o = matrix(a, k->n, w->cols);

    for (size_t i = 0; o.data != NULL && i < k->n; i++) {
        assert(k->chan[i] < w->rows);
        weight_rows(w, k->chan[i], 1, (float *)(uintptr_t)o.data + i * w->cols);
    }
    return o;
}

/* The columns of w that are kept. */
static struct weight
cut_cols(const struct weight *w, const struct keep *k, struct arena *a)
{
    struct weight o = matrix(a, w->rows, k->n);
    float *row, *to = (float *)(uintptr_t)o.data;

    if (to == NULL)
        return o;
    row = xreallocarray(NULL, w->cols, sizeof *row);
    for (size_t r = 0; r < w->rows; r++) {
        weight_rows(w, r, 1, row);
        for (size_t i = 0; i < k->n; i++)
            to[r * k->n + i] = row[k->chan[i]];
    }
    free(row);
    return o;
}

static void
cut_blocks(struct model *out, const struct model *m, const struct keep *keep,
    struct arena *a)
{
    out->c.mlp = 1;
    for (size_t i = 0; i < out->c.L; i++) {
        const struct keep *k = &keep[i];
        const struct block *from = &m->block[k->block];
        struct block *b = &out->block[i];

        assert(k->block < m->c.L);
        *b = *from;
        config_set_local(&out->c, i, config_window(&m->c, k->block) > 0);
        if (k->chan != NULL) {
            assert(k->n > 0 && k->n <= from->mlp);
            b->mlp = k->n;
            b->w[W_GATE] = cut_rows(&from->w[W_GATE], k, a);
            b->w[W_UP] = cut_rows(&from->w[W_UP], k, a);
            b->w[W_DOWN] = cut_cols(&from->w[W_DOWN], k, a);
        }
        if (b->mlp > out->c.mlp)
            out->c.mlp = b->mlp;
    }
}

void
model_cut(struct model *out, const struct model *m, const struct keep *keep,
    size_t L, struct arena *a)
{
    struct arena plan;

    assert(L > 0);
    *out = *m;
    out->own = NULL;
    out->c.L = L;
    out->c.cut = m->c.cut || L < m->c.L;
    out->path = xstrdup(m->path != NULL ? m->path : "model");
    out->block = xcalloc(L, sizeof *out->block);
    arena_plan(&plan);
    cut_blocks(out, m, keep, &plan);
    arena_init(a, plan.used > 0 ? plan.used : 64);
    cut_blocks(out, m, keep, a);
}

/* ---- rows of the vocabulary ---- */

/* Where id is in the ascending list, or -1. */
static int64_t
place(const uint32_t *list, size_t n, int64_t id)
{
    size_t lo = 0, hi = n;

    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;

        if (list[mid] < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < n && list[lo] == id ? (int64_t)lo : -1;
}

static void
cut_ids(struct config *c, const uint32_t *id, size_t n)
{
    size_t k = 0;

    c->V = n;
    c->bos = place(id, n, c->bos);
    c->pad = place(id, n, c->pad);
    for (size_t i = 0; i < c->neos; i++)
        if ((c->eos[k] = place(id, n, c->eos[i])) >= 0)
            k++;
    c->neos = k;
}

void
model_cut_rows(struct model *out, const struct model *m, const uint32_t *id,
    size_t n, struct arena *a)
{
    size_t *rows = xreallocarray(NULL, n, sizeof *rows);
    const struct keep k = { .chan = rows, .n = n };
    const size_t bytes = n * m->c.d * sizeof(float) + 64;

    for (size_t i = 0; i < n; i++)
        rows[i] = id[i];
    *out = *m;
    out->own = NULL;
    out->path = xstrdup(m->path != NULL ? m->path : "model");
    out->block = xreallocarray(NULL, m->c.L, sizeof *out->block);
    memcpy(out->block, m->block, m->c.L * sizeof *out->block);
    cut_ids(&out->c, id, n);
    arena_init(a, m->c.tied ? bytes : 2 * bytes);
    out->embed = cut_rows(&m->embed, &k, a);
    out->head = m->c.tied ? out->embed : cut_rows(&m->head, &k, a);
    free(rows);
}

void
model_cut_free(struct model *out, struct arena *a)
{
    free(out->block);
    free(out->path);
    memset(out, 0, sizeof *out);
    arena_release(a);
}
