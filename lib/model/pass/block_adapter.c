/* Adapters in a block's forward and backward pass; see block_adapter.h. */
#include "model/pass/block_adapter.h"
#include "kern/kern.h"

#include <string.h>

float *
low_rows(const struct run *u, size_t k, size_t row)
{
    return u->a.low + row * low_width(u->b) + low_offset(u->b, k);
}

static float *
low_grads(const struct run *u, size_t k, size_t row)
{
    return u->g->low + row * low_width(u->b) + low_offset(u->b, k);
}

static uint64_t
drop_key(const struct run *u, size_t b, size_t k)
{
    return dropout_key(u->drop, b, (size_t)(u->b - u->f->m->block), k);
}

/* If a tile has no tokens, set matrix k's numbers at p in its rows to zero and
 * return 1. */
static int
is_padding(const struct run *u, size_t k, size_t b, size_t t0, float *p)
{
    if (tile_live(u->r, b, t0, u->c.tile))
        return 0;
    for (size_t t = 0; t < u->c.tile; t++)
        memset(p + t * low_width(u->b), 0, u->b->w[k].low->rank * sizeof *p);
    return 1;
}

void
low_tile(struct run *u, size_t k, const float *x, size_t b, size_t t0,
    size_t worker)
{
    const struct weight *w = &u->b->w[k];
    const size_t row = b * u->c.Tp + t0, ld = low_width(u->b), in = w->cols;

    if (w->low == NULL || is_padding(u, k, b, t0, low_rows(u, k, row)))
        return;
    if (u->drop == NULL) {
        low_down(w->low, in, x + row * in, u->c.tile, low_rows(u, k, row), ld);
        return;
    }
    for (size_t t = 0; t < u->c.tile; t += CHUNK) {
        float *kept = u->drop->room[worker];

        dropout_copy(u->drop, drop_key(u, b, k), in, t0 + t, CHUNK, 0, in,
            x + (row + t) * in, in, kept);
        low_down(w->low, in, kept, CHUNK, low_rows(u, k, row + t), ld);
    }
}

void
low_back_tile(struct run *u, size_t k, float *dy, size_t lddy, size_t b,
    size_t t0)
{
    const struct low_rank *l = u->b->w[k].low;
    const size_t row = b * u->c.Tp + t0, ld = low_width(u->b);
    const size_t out = u->b->w[k].rows;
    float *g;

    if (l == NULL || is_padding(u, k, b, t0, low_grads(u, k, row)))
        return;
    g = low_grads(u, k, row);
    for (size_t t = 0; t < u->c.tile && l->by != NULL; t++)
        kern.mul(dy + (row + t) * lddy, l->by, out);
    kern.gemm_nn(u->c.tile, l->rank, out, dy + row * lddy, lddy, l->b, l->rank,
        GEMM_SET, g, ld);
    for (size_t t = 0; t < u->c.tile; t++)
        kern.scale(g + t * ld, l->scale, l->rank);
}

void
low_back_input(struct run *u, size_t k, size_t b, size_t t0, size_t c0,
    size_t n, size_t worker, float *dx)
{
    const struct low_rank *l = u->b->w[k].low;
    const size_t row = b * u->c.Tp + t0, ld = low_width(u->b);
    const size_t in = u->b->w[k].cols;

    if (l == NULL)
        return;
    if (u->drop == NULL) {
        kern.gemm_nn(u->c.tile, n, l->rank, low_grads(u, k, row), ld, l->a + c0,
            in, GEMM_ADD, dx + row * in + c0, in);
        return;
    }
    for (size_t t = 0; t < u->c.tile; t += CHUNK) {
        float *d = u->drop->room[worker];

        kern.gemm_nn(CHUNK, n, l->rank, low_grads(u, k, row + t), ld, l->a + c0,
            in, GEMM_SET, d, n);
        dropout_copy(u->drop, drop_key(u, b, k), in, t0 + t, CHUNK, c0, n, d, n,
            d);
        for (size_t i = 0; i < CHUNK; i++) {
            float *to = dx + (row + t + i) * in + c0;

            kern.add(to, to, d + i * n, n);
        }
    }
}

void
low_grad_a(struct run *u, size_t k, const float *x, size_t b, size_t c0,
    size_t n, size_t worker, float *g)
{
    const size_t in = u->b->w[k].cols, rank = u->b->w[k].low->rank;
    const size_t row = b * u->c.Tp, ld = low_width(u->b);

    if (u->drop == NULL) {
        kern.gemm_tn(rank, n, u->r->T, low_grads(u, k, row), ld,
            x + row * in + c0, in, GEMM_ADD, g + c0, in);
        return;
    }
    for (size_t t = 0; t < u->r->T; t += CHUNK) {
        float *kept = u->drop->room[worker];

        dropout_copy(u->drop, drop_key(u, b, k), in, t, CHUNK, c0, n,
            x + (row + t) * in + c0, in, kept);
        kern.gemm_tn(rank, n, CHUNK, low_grads(u, k, row + t), ld, kept, n,
            GEMM_ADD, g + c0, in);
    }
}

/* ---- DoRA's magnitudes ---- */

/* With z = W x + scale B A x and dy = the output's gradient times m / n, the
 * gradient of m is the sum of z dy / m over tokens. */
struct magnitude {
    struct run *u;
    size_t k;
    const float *x, *dy;
    size_t lddy;
    float *g;
};

/* Compute a tile's outputs again, without DoRA's factors, in u->g->again. */
static void
again_task(void *ctx, size_t tile, size_t worker)
{
    const struct magnitude *j = ctx;
    struct run *u = j->u;
    const struct weight *w = &u->b->w[j->k];
    const struct low_rank plain = { w->low->rank, 0.0f, NULL, w->low->b, NULL,
        NULL };
    const size_t b = tile / u->c.n, t0 = tile % u->c.n * u->c.tile;
    const size_t row = b * u->c.Tp + t0;
    float *y = u->g->again + row * w->rows;

    if (!tile_live(u->r, b, t0, u->c.tile)) {
        memset(y, 0, u->c.tile * w->rows * sizeof *y);
        return;
    }
    weight_product(w, 0, w->rows, u->c.tile, j->x + row * w->cols,
        u->f->wide[worker], y, w->rows);
    low_up(&plain, low_rows(u, j->k, row), low_width(u->b), u->c.tile, 0,
        w->rows, y, w->rows);
}

static void
magnitude_task(void *ctx, size_t task, size_t worker)
{
    const struct magnitude *j = ctx;
    struct run *u = j->u;
    const struct weight *w = &u->b->w[j->k];
    const size_t c0 = task * VEC_COLS;
    const size_t n = w->rows - c0 < VEC_COLS ? w->rows - c0 : VEC_COLS;

    (void)worker;
    for (size_t b = 0; b < u->r->B; b++) {
        float sum[VEC_COLS] = { 0.0f };

        for (size_t t = 0; t < u->r->T; t++) {
            const size_t row = b * u->c.Tp + t;

            kern.axmul(sum, 1.0f, u->g->again + row * w->rows + c0,
                j->dy + row * j->lddy + c0, n);
        }
        for (size_t i = 0; i < n; i++)
            j->g[c0 + i] += sum[i] / w->low->m[c0 + i];
    }
}

void
low_grad_m(struct run *u, size_t k, const float *x, const float *dy,
    size_t lddy, float *g)
{
    struct magnitude j = { u, k, x, dy, lddy, g };

    pool_run(u->f->pool, u->r->B * u->c.n, again_task, &j);
    pool_run(u->f->pool, (u->b->w[k].rows + VEC_COLS - 1) / VEC_COLS,
        magnitude_task, &j);
}
