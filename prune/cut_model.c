/* Cutting a model: see cut_model.h. */
#include "cut_model.h"
#include "model/config/family.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Allocate a matrix in an arena; if arena_plan made the arena, the matrix has
 * no data (NULL). */
static struct weight
new_matrix(struct arena *a, enum dtype type, size_t rows, size_t cols)
{
    struct weight w = { .dtype = type, .rows = rows, .cols = cols };
    const int r = dtype_bytes(type, cols, &w.stride);

    assert(r == 0);
    w.data = arena_alloc(a, rows, w.stride);
    return w;
}

/* Copy rows list[n] of w in their stored type, or as fp32 if they have a mask.
 * If list is NULL or w is empty, return w itself. */
static struct weight
cut_rows(const struct weight *w, const size_t *list, size_t n, struct arena *a)
{
    struct weight o;

    if (list == NULL || w->rows == 0)
        return *w;
    o = new_matrix(a, w->mask == NULL ? w->dtype : DT_F32, n, w->cols);
    for (size_t i = 0; o.data != NULL && i < n; i++) {
        unsigned char *to = (unsigned char *)(uintptr_t)o.data + i * o.stride;

        assert(list[i] < w->rows);
        if (w->mask == NULL)
            memcpy(to, weight_row(w, list[i]), o.stride);
        else
            weight_rows(w, list[i], 1, (float *)(void *)to);
    }
    return o;
}

/* Each part has `size` elements: return the indices [n*size] of the elements
 * that the parts list[n] have; NULL if `list` is NULL. */
static size_t *
spread_indices(const size_t *list, size_t n, size_t size)
{
    size_t *out;

    if (list == NULL)
        return NULL;
    out = xcalloc(n * size, sizeof *out);
    for (size_t i = 0; i < n * size; i++)
        out[i] = list[i / size] * size + i % size;
    return out;
}

/* Copy columns list[n] of w, or elements of a vector.  If list is NULL or w is
 * empty, return w itself. */
static struct weight
cut_cols(const struct weight *w, const size_t *list, size_t n, struct arena *a)
{
    struct weight o;
    float *row, *to;

    if (list == NULL || w->rows == 0)
        return *w;
    o = new_matrix(a, DT_F32, w->rows, n);
    o.add = w->add;
    if ((to = (float *)(uintptr_t)o.data) == NULL)
        return o;
    row = xreallocarray(NULL, w->cols, sizeof *row);
    for (size_t r = 0; r < w->rows; r++) {
        weight_rows(w, r, 1, row);
        for (size_t i = 0; i < n; i++)
            to[r * n + i] = row[list[i]];
    }
    free(row);
    return o;
}

size_t *
cut_columns(const struct model *m, const struct choice_block *b)
{
    return spread_indices(b->group, b->ngroups, m->c.H / m->c.KV * m->c.D);
}

/* Cut the heads of Q, K, V and of their biases, and the columns of o. */
static void
cut_attention(struct block *out, const struct model *m,
    const struct choice_block *b, struct arena *a)
{
    const struct block *from = &m->block[b->block];
    const size_t D = m->c.D, heads = m->c.H / m->c.KV;
    size_t *q = cut_columns(m, b), nq = b->ngroups * heads * D;
    size_t *k = spread_indices(b->group, b->ngroups, D), nk = b->ngroups * D;

    out->w[W_Q] = cut_rows(&from->w[W_Q], q, nq, a);
    out->w[W_K] = cut_rows(&from->w[W_K], k, nk, a);
    out->w[W_V] = cut_rows(&from->w[W_V], k, nk, a);
    out->w[W_O] = cut_cols(&from->w[W_O], q, nq, a);
    out->w[W_BQ] = cut_cols(&from->w[W_BQ], q, nq, a);
    out->w[W_BK] = cut_cols(&from->w[W_BK], k, nk, a);
    out->w[W_BV] = cut_cols(&from->w[W_BV], k, nk, a);
    if (b->group != NULL)
        out->sparse &= ~W_BIT(W_O);
    free(q);
    free(k);
}

static void
cut_mlp(struct block *out, const struct block *from,
    const struct choice_block *b, struct arena *a)
{
    out->w[W_GATE] = cut_rows(&from->w[W_GATE], b->chan, b->nchan, a);
    out->w[W_UP] = cut_rows(&from->w[W_UP], b->chan, b->nchan, a);
    out->w[W_BUP] = cut_cols(&from->w[W_BUP], b->chan, b->nchan, a);
    out->w[W_DOWN] = cut_cols(&from->w[W_DOWN], b->chan, b->nchan, a);
    if (b->chan != NULL)
        out->sparse &= ~W_BIT(W_DOWN);
}

/* Remove the tensors that a block of its shape does not have. */
static void
drop_others(const struct config *c, struct block *b)
{
    const struct block_shape shape = block_shape(b);

    for (int t = 0; t < W_N; t++) {
        size_t rows, cols;

        block_dims(c, t, &shape, &rows, &cols);
        if (rows == 0) {
            memset(&b->w[t], 0, sizeof b->w[t]);
            b->sparse &= ~W_BIT(t);
        }
    }
}

static void
cut_blocks(struct model *out, const struct model *m, const struct choice *c,
    struct arena *a)
{
    const size_t heads = m->c.H / m->c.KV;

    out->c.mlp = out->c.KV = 1;
    for (size_t i = 0; i < c->n; i++) {
        const struct choice_block *k = &c->b[i];
        struct block *b = &out->block[i];

        assert(k->block < m->c.L);
        *b = m->block[k->block];
        config_set_local(&out->c, i, config_window(&m->c, k->block) > 0);
        config_set_rope(&out->c, i, config_rope(&m->c, k->block));
        config_bit_set(out->c.linear, i, b->linear > 0);
        if ((b->groups = k->ngroups) > 0)
            cut_attention(b, m, k, a);
        if ((b->mlp = k->nchan) > 0)
            cut_mlp(b, &m->block[k->block], k, a);
        drop_others(&m->c, b);
        out->c.mlp = b->mlp > out->c.mlp ? b->mlp : out->c.mlp;
        out->c.KV = b->groups > out->c.KV ? b->groups : out->c.KV;
    }
    if (family_of(&m->c)->even_heads) /* config.json has no KV heads */
        out->c.KV = m->c.KV;
    out->c.H = out->c.KV * heads;
}

void
model_cut(struct model *out, const struct model *m, const struct choice *c,
    struct arena *a)
{
    struct arena plan;

    assert(c->n > 0);
    *out = *m;
    out->own = NULL;
    out->c.L = c->n;
    out->c.cut = m->c.cut || c->n < m->c.L;
    out->path = xstrdup(m->path != NULL ? m->path : "model");
    out->origin = choice_kept(c, m);
    out->block = xcalloc(c->n, sizeof *out->block);
    arena_plan(&plan);
    cut_blocks(out, m, c, &plan);
    arena_init(a, plan.used > 0 ? plan.used : 64);
    cut_blocks(out, m, c, a);
}

/* ---- rows of the vocabulary ---- */

/* Index of id in the ascending list, or -1. */
static int64_t
index_in(const uint32_t *list, size_t n, int64_t id)
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
    c->bos = index_in(id, n, c->bos);
    c->pad = index_in(id, n, c->pad);
    for (size_t i = 0; i < c->neos; i++)
        if ((c->eos[k] = index_in(id, n, c->eos[i])) >= 0)
            k++;
    c->neos = k;
}

void
model_cut_rows(struct model *out, const struct model *m, const uint32_t *id,
    size_t n, struct arena *a)
{
    size_t *rows = xreallocarray(NULL, n, sizeof *rows);
    const size_t bytes = n * m->c.d * sizeof(float) + 64;

    for (size_t i = 0; i < n; i++)
        rows[i] = id[i];
    *out = *m;
    out->own = NULL;
    out->path = xstrdup(m->path != NULL ? m->path : "model");
    json_incref(out->origin);
    out->block = xreallocarray(NULL, m->c.L, sizeof *out->block);
    memcpy(out->block, m->block, m->c.L * sizeof *out->block);
    cut_ids(&out->c, id, n);
    arena_init(a, (m->c.tied ? bytes : 2 * bytes) + n * sizeof(float) + 64);
    out->embed = cut_rows(&m->embed, rows, n, a);
    out->head = m->c.tied ? out->embed : cut_rows(&m->head, rows, n, a);
    if (m->head_bias.rows > 0)
        out->head_bias = cut_cols(&m->head_bias, rows, n, a);
    model_set_bias(out);
    free(rows);
}

void
model_cut_free(struct model *out, struct arena *a)
{
    free(out->block);
    free(out->path);
    json_decref(out->origin);
    memset(out, 0, sizeof *out);
    arena_release(a);
}
