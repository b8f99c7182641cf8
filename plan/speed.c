/*
 * Speeds by size: see speed.h.  The columns of a product are cut into tasks as
 * lib/model cuts them.
 */
#include "speed.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/median.h"
#include "kern/attn.h"
#include "kern/kern.h"
#include "model/pass/forward.h"

#include <math.h>
#include <stdlib.h>

double
speed_time(const struct dist_group *g, void (*run)(void *ctx), void *ctx,
    size_t times)
{
    enum { TAKES = 5 };
    double t[TAKES];

    for (int i = 0; i < TAKES; i++) {
        double start;

        dist_barrier(g);
        start = clock_now();
        for (size_t k = 0; k < times; k++)
            run(ctx);
        t[i] = (clock_now() - start) / (double)times;
    }
    return median(t, TAKES);
}

/* Measure the TFLOP/s of run(ctx), which computes `flop` FLOP.  run is called
 * so often that a measurement has at least 4 GFLOP. */
static double
flop_rate(void (*run)(void *ctx), void *ctx, double flop)
{
    return 1e-12 * flop /
        speed_time(dist_world(), run, ctx, 1 + (size_t)(4e9 / flop));
}

/* An array of n numbers between -1/2 and 1/2, which the caller frees. */
static float *
new_numbers(size_t n)
{
    float *x = xcalloc(n, sizeof *x);

    for (size_t i = 0; i < n; i++)
        x[i] = (float)(i * 2654435761u % 1021) / 1021.0f - 0.5f;
    return x;
}

/* ---- products ---- */

/* A product c [m,n] of depth k.  The numbers of a for row i of c begin at a + i
 * row_step, those of b for column j at b + j col_step.  All leading dimensions
 * are n. */
struct product {
    void (*gemm)(size_t m, size_t n, size_t k, const float *a, size_t lda,
        const float *b, size_t ldb, int add, float *c, size_t ldc);
    size_t m, n, k, row_step, col_step;
    const float *a, *b;
    float *c;
};

/* Most rows of a task. */
enum { ROWS = 512 };

static void
product_task(void *ctx, size_t task, size_t worker)
{
    const struct product *p = ctx;
    const size_t cols = part_cols(p->n, p->k);
    const size_t across = part_count(p->n, p->k);
    const size_t row = task / across * ROWS, col = task % across * cols;

    (void)worker;
    p->gemm(ROWS < p->m - row ? ROWS : p->m - row,
        cols < p->n - col ? cols : p->n - col, p->k, p->a + row * p->row_step,
        p->n, p->b + col * p->col_step, p->n, GEMM_SET, p->c + row * p->n + col,
        p->n);
}

/* A forward and backward pass through a matrix w: y = x w^T, dx = dy w and dw =
 * dy^T x.  x is used as dy too, and y as dx. */
struct product_pass {
    struct pool *pool;
    struct product p[3];
};

static void
pass_products(void *ctx)
{
    struct product_pass *s = ctx;

    for (int i = 0; i < 3; i++) {
        struct product *p = &s->p[i];

        pool_run(s->pool, (p->m + ROWS - 1) / ROWS * part_count(p->n, p->k),
            product_task, p);
    }
}

/* The TFLOP/s, by measure(), of passes of `rows` rows through a matrix of n x
 * n. */
static double
time_products(struct pool *pool, size_t rows, size_t n,
    double (*measure)(struct product_pass *s, double flop))
{
    float *x = new_numbers(rows * n), *w = new_numbers(n * n);
    float *y = new_numbers(rows * n), *dw = new_numbers(n * n);
    struct product_pass s = { pool,
        { { kern.gemm_nt, rows, n, n, n, n, x, w, y },
            { kern.gemm_nn, rows, n, n, n, 1, x, w, y },
            { kern.gemm_tn, n, n, rows, 1, 1, x, x, dw } } };
    const double rate = measure(&s, 6.0 * (double)rows * (double)n * (double)n);

    free(x);
    free(w);
    free(y);
    free(dw);
    return rate;
}

static double
median_rate(struct product_pass *s, double flop)
{
    return flop_rate(pass_products, s, flop);
}

/* The TFLOP/s of the fastest of many short passes. */
static double
fastest_rate(struct product_pass *s, double flop)
{
    enum { TRIES = 60 };
    const double end = clock_now() + 0.5;
    double least = INFINITY;

    for (int i = 0; i < TRIES || clock_now() < end; i++) {
        const double start = clock_now();
        double taken;

        pass_products(s);
        taken = clock_now() - start;
        least = taken < least ? taken : least;
    }
    return 1e-12 * flop / least;
}

/* Measure the TFLOP/s of forward and backward passes of `rows` rows through a
 * matrix of n x n. */
static double
matrix_rate(struct pool *pool, size_t rows, size_t n)
{
    return time_products(pool, rows, n, median_rate);
}

double
speed_fastest(struct pool *pool, size_t rows)
{
    return time_products(pool, rows, 512, fastest_rate);
}

/* ---- attention ---- */

struct attention_pass {
    struct pool *pool;
    struct attn a;
    float *dout, *dqkv, *scratch; /* scratch: [threads,attn_scratch] */
};

static void
attend_task(void *ctx, size_t task, size_t worker)
{
    const struct attention_pass *s = ctx;

    attn_fwd(&s->a, task % s->a.KV, task / s->a.KV,
        s->scratch + worker * attn_scratch(&s->a));
}

static void
attend_back_task(void *ctx, size_t h, size_t worker)
{
    const struct attention_pass *s = ctx;
    float *dk = s->dqkv + s->a.T * (s->a.ld + 2 * h * s->a.D);

    attn_bwd(&s->a, h, s->dout, s->dqkv, dk, dk + s->a.T * s->a.D,
        s->scratch + worker * attn_scratch(&s->a));
}

static void
pass_attention(void *ctx)
{
    struct attention_pass *s = ctx;

    pool_run(s->pool, s->a.KV * s->a.T / ATTN_TILE, attend_task, s);
    pool_run(s->pool, s->a.H, attend_back_task, s);
}

/* The TFLOP/s of causal attention, forward and backward, measured with one row
 * of T tokens and one head of D numbers for each thread.  T is a multiple of
 * ATTN_TILE.  As in plan's predictions, a forward pass has two products and a
 * backward pass five, over the keys that a token attends to. */
static double
attention_rate(struct pool *pool, size_t T, size_t D)
{
    const size_t H = pool_size(pool), d = H * D;
    float *x = new_numbers(T * (10 * d + H));
    uint32_t *first = xcalloc(T, sizeof *first);
    struct attention_pass s = { pool,
        { T, T, H, H, D, 3 * d, d, x, x + d, x + 2 * d, first, x + 3 * T * d,
            x + 10 * T * d, 0.0f, NULL, NULL, 0.0f, NULL },
        x + 4 * T * d, x + 5 * T * d, NULL };
    double rate;

    s.scratch = new_numbers(H * attn_scratch(&s.a));
    rate = flop_rate(pass_attention, &s,
        14.0 * (double)(T * d) * ((double)T + 1.0) / 2.0);
    free(s.scratch);
    free(first);
    free(x);
    return rate;
}

/* ---- tables ---- */

void
speed_table(struct rates *r, int attention, struct pool *pool, int quick)
{
    const struct rates products = { .n = { 3, 4 },
        .size = { { 64, 256, 1024 }, { 576, 1024, 2048, 5120 } } };
    const struct rates heads = { .n = { 3, 2 },
        .size = { { 256, 1024, 4096 }, { 64, 128 } } };

    *r = attention ? heads : products;
    if (quick)
        r->n[0] = r->n[1] = 2;
    for (size_t i = 0; i < r->n[0] * r->n[1]; i++)
        r->share[i] = (attention ? attention_rate : matrix_rate)(pool,
            (size_t)r->size[0][i / r->n[1]], (size_t)r->size[1][i % r->n[1]]);
}
