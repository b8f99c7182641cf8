/* Slices of a head's logits; see head_slices.h. */
#include "train/head_slices.h"
#include "base/profile.h"
#include "kern/kern.h"

#include <string.h>

/* Number of predictions that are computed together, in a tile.  For every tile
 * all weights of the head are read, and the gradient of all is read and
 * written: with tiles of MORE_ROWS a step of SmolLM2 by AMX takes 2.6 % less
 * time.  The gradient is a sum over predictions, so its bits depend on the size
 * of a tile, unless sums may be cut anywhere (kern.chunk); only then is
 * MORE_ROWS used. */
enum { TILE_ROWS = 256, MORE_ROWS = 512 };
/* Rows of dh that one task adds up over the slices. */
enum { JOIN_ROWS = 16 };
enum { LINE = 16 }; /* numbers of a cache line */

/* Parts of dh of n predictions, for tasks that join them. */
struct dh_parts {
    const struct head_slices *h;
    size_t n;
    float *dh;
};

void
head_slices_init(struct head_slices *h, struct arena *a, struct pool *pool,
    size_t V, size_t d, size_t rows, int widen)
{
    const size_t most = kern.chunk > 0 ? MORE_ROWS : TILE_ROWS;

    h->pool = pool;
    h->V = V;
    h->d = d;
    h->R = rows < most ? rows : most;
    h->width = kern_slice(V);
    h->nslice = (V + h->width - 1) / h->width;
    h->ld = h->width + LINE;
    h->zs = arena_alloc(a, h->nslice * h->R * h->ld, sizeof(float));
    h->part = arena_alloc(a, h->nslice * h->R * d, sizeof(float));
    if (widen)
        h->wide = arena_alloc(a, pool_size(pool) * WEIGHT_PIECE, sizeof(float));
}

float *
head_slices_wide(const struct head_slices *h, size_t worker)
{
    return h->wide != NULL ? h->wide + worker * WEIGHT_PIECE : NULL;
}

void
head_slices_cap(struct head_slices *h, struct arena *a, double cap)
{
    h->cap = (float)cap;
    if (h->cap > 0.0f)
        h->capped =
            arena_alloc(a, pool_size(h->pool) * h->width, sizeof(float));
}

static float *
slice_row(const struct head_slices *h, size_t s, size_t i)
{
    return h->zs + (s * h->R + i) * h->ld;
}

void
head_slices_capped(const struct head_slices *h, size_t s, size_t n)
{
    for (size_t i = 0; h->cap > 0.0f && i < n; i++)
        kern.softcap(slice_row(h, s, i), h->cap, head_slices_cols(h, s));
}

void
head_slices_keep(const struct head_slices *h, size_t s, size_t i, size_t worker)
{
    if (h->cap > 0.0f)
        memcpy(h->capped + worker * h->width, slice_row(h, s, i),
            head_slices_cols(h, s) * sizeof(float));
}

void
head_slices_uncap(const struct head_slices *h, size_t s, size_t i,
    size_t worker, float by)
{
    if (h->cap > 0.0f)
        kern.softcap_bwd(slice_row(h, s, i), h->capped + worker * h->width,
            h->cap * by, head_slices_cols(h, s));
}

size_t
head_slices_cols(const struct head_slices *h, size_t s)
{
    const size_t left = h->V - s * h->width;

    return left < h->width ? left : h->width;
}

void
head_slices_products(const struct head_slices *h, size_t s, size_t n,
    const struct weight *ws, const float *hs, float *dw, size_t worker)
{
    const size_t w = h->width, d = h->d, cols = head_slices_cols(h, s);
    const float *grad = h->zs + s * h->R * h->ld;
    const double t = profile_begin();

    if (dw != NULL)
        kern.gemm_tn(cols, d, n, grad, h->ld, hs, d, GEMM_ADD, dw + s * w * d,
            d);
    for (size_t i = 0; h->db != NULL && i < n; i++)
        kern.add(h->db + s * w, h->db + s * w, grad + i * h->ld, cols);
    weight_product_back(ws, s * w, cols, 0, d, n, grad, h->ld, GEMM_SET,
        head_slices_wide(h, worker), h->part + s * h->R * d, d);
    profile_end("head gradients", t,
        (dw != NULL ? 4.0 : 2.0) * (double)(n * cols) * (double)d, 0.0);
}

/* Task: sum the parts of dh over slices, for a few rows. */
static void
sum_parts(void *ctx, size_t task, size_t worker)
{
    const struct dh_parts *q = ctx;
    const struct head_slices *h = q->h;
    const size_t r0 = task * JOIN_ROWS, d = h->d;
    const size_t r1 = r0 + JOIN_ROWS < q->n ? r0 + JOIN_ROWS : q->n;
    float *dh = q->dh + r0 * d;
    const double t = profile_begin();

    (void)worker;
    memcpy(dh, h->part + r0 * d, (r1 - r0) * d * sizeof(float));
    for (size_t s = 1; s < h->nslice; s++) {
        const float *p = h->part + (s * h->R + r0) * d;

        for (size_t i = 0; i < (r1 - r0) * d; i++)
            dh[i] += p[i];
    }
    profile_end("head sum of parts", t, 0.0,
        4.0 * (double)((r1 - r0) * d) * (double)(h->nslice + 1));
}

void
head_slices_join(const struct head_slices *h, size_t n, float *dh)
{
    struct dh_parts q = { h, n, dh };

    pool_run(h->pool, (n + JOIN_ROWS - 1) / JOIN_ROWS, sum_parts, &q);
}
