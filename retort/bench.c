/* Measures products and memory; see bench.h. */
#include "bench.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/pool.h"
#include "cli/die.h"
#include "kern/int.h"
#include "kern/kern.h"

#include <assert.h>
#include <string.h>

/* A product of a thread: x [ROWS,DEPTH] w [ROWS,DEPTH]^T, small enough for the
 * caches.  Memory: each thread reads its part of WEIGHT bytes, rows of COLS
 * numbers, or copies it. */
enum { ROWS = 256, DEPTH = 768, COLS = 4096, WEIGHT = 256 << 20, FIGURES = 5 };

struct machine {
    struct pool *pool;
    double seconds; /* for a figure */
    float *x, *w;   /* [ROWS,DEPTH] */
    float *y;       /* [threads,ROWS,ROWS] */
    struct int_matrix ints;
    struct int_block *rounded;    /* [ROWS] rows of DEPTH numbers */
    unsigned char *panel;         /* [threads,panel_size] */
    size_t panel_size, part;      /* bytes; rows of COLS of a thread */
    float *from, *to, *in, *sums; /* [rows,COLS], the same, [COLS], [rows] */
};

/* Run all threads until the time is over.  Returns how many of the things of
 * which a run does `amount` were done in a second. */
static double
rate(struct machine *m, void (*run)(void *m, size_t task, size_t worker),
    double amount)
{
    const size_t threads = pool_size(m->pool);
    double start, t, done = 0.0;

    pool_run(m->pool, threads, run, m);
    start = clock_now();
    do {
        pool_run(m->pool, threads, run, m);
        done += amount;
        t = clock_now() - start;
    } while (t < m->seconds);
    return done / t;
}

static void
multiply(void *ctx, size_t task, size_t worker)
{
    const struct machine *m = ctx;

    (void)worker;
    kern.gemm_nt(ROWS, ROWS, DEPTH, m->x, DEPTH, m->w, DEPTH, GEMM_SET,
        m->y + task * ROWS * ROWS, ROWS);
}

static void
multiply_ints(void *ctx, size_t task, size_t worker)
{
    const struct machine *m = ctx;

    (void)worker;
    kern.ints->multiply(&m->ints, 0, ROWS / INT_ROWS, m->rounded, ROWS,
        m->panel + task * m->panel_size, m->y + task * ROWS * ROWS, ROWS);
}

static void
read_weight(void *ctx, size_t task, size_t worker)
{
    const struct machine *m = ctx;
    const size_t row = task * m->part;

    (void)worker;
    kern.dots(1, m->part, COLS, m->in, m->from + row * COLS, COLS,
        m->sums + row, m->part);
}

static void
copy(void *ctx, size_t task, size_t worker)
{
    const struct machine *m = ctx;
    const size_t first = task * m->part * COLS;

    (void)worker;
    memcpy(m->to + first, m->from + first, m->part * COLS * sizeof *m->to);
}

/* Each thread writes its part of memory first, so that it lies near it. */
static void
fill(void *ctx, size_t task, size_t worker)
{
    const struct machine *m = ctx;
    const size_t first = task * m->part * COLS;

    (void)worker;
    for (size_t i = 0; i < m->part * COLS; i++)
        m->from[first + i] = m->to[first + i] = (float)(i % 7) - 3.0f;
}

/* Allocate the arrays of m; if a only counts, to NULL. */
static void
place(struct machine *m, struct arena *a)
{
    const size_t threads = pool_size(m->pool), rows = threads * m->part;

    m->x = arena_alloc(a, ROWS * DEPTH, sizeof *m->x);
    m->w = arena_alloc(a, ROWS * DEPTH, sizeof *m->w);
    m->y = arena_alloc(a, threads * ROWS * ROWS, sizeof *m->y);
    m->ints.strips = arena_alloc(a, ROWS / INT_ROWS, m->ints.strip);
    m->rounded = arena_alloc(a, ROWS, int_row_bytes(DEPTH));
    m->panel = arena_alloc(a, threads, m->panel_size);
    m->from = arena_alloc(a, rows * COLS, sizeof *m->from);
    m->to = arena_alloc(a, rows * COLS, sizeof *m->to);
    m->in = arena_alloc(a, COLS, sizeof *m->in);
    m->sums = arena_alloc(a, rows, sizeof *m->sums);
}

/* Fill the factors of products with numbers, in fp32 and in Q8_0. */
static void
fill_factors(struct machine *m)
{
    const struct quant_type t = quant_type(QUANT_Q8_0);
    unsigned char row[DEPTH / 32 * 34];
    const unsigned char *rows[INT_ROWS];
    unsigned char *strip = (unsigned char *)m->ints.strips;
    unsigned char *out = (unsigned char *)m->rounded;

    for (size_t i = 0; i < ROWS * DEPTH; i++)
        m->x[i] = m->w[i] = (float)(i % 13) - 6.0f;
    for (size_t i = 0; i < COLS; i++)
        m->in[i] = (float)(i % 5) - 2.0f;
    assert(t.elements == 32 && t.bytes == 34);
    memset(row, 17, sizeof row);
    for (size_t i = 0; i < INT_ROWS; i++)
        rows[i] = row;
    for (size_t i = 0; i < ROWS / INT_ROWS; i++)
        int_pack(QUANT_Q8_0, DEPTH, rows, strip + i * m->ints.strip);
    for (size_t i = 0; i < ROWS; i++)
        kern.ints->round((void *)(out + i * int_row_bytes(DEPTH)),
            m->x + i * DEPTH, DEPTH);
}

static void
measure(struct buf *b, struct machine *m)
{
    const double threads = (double)pool_size(m->pool);
    const double flop = 2e-9 * threads * ROWS * ROWS * DEPTH;
    const double gb = 1e-9 * threads * (double)(m->part * COLS * sizeof *m->to);

    buf_addf(b, "%-12s %.4g GFLOP/s on %.0f threads\n", "fp32",
        rate(m, multiply, flop), threads);
    kern_compute("bf16");
    if (kern_slow())
        buf_addf(b, "%-12s not measured: by plain C alone\n", "bf16");
    else
        buf_addf(b, "%-12s %.4g GFLOP/s (%s)\n", "bf16",
            rate(m, multiply, flop), kern_name());
    kern_compute("f32");
    buf_addf(b, "%-12s %.4g GFLOP/s (8-bit integers)\n", "q8_0",
        rate(m, multiply_ints, flop));
    buf_addf(b, "%-12s %.4g GB/s of weights, multiplied by one row\n", "dots",
        rate(m, read_weight, gb));
    buf_addf(b, "%-12s %.4g GB/s, read and written\n", "copy",
        rate(m, copy, 2.0 * gb));
}

void
bench_machine(struct buf *b, double seconds)
{
    struct machine m = { .seconds = seconds / FIGURES,
        .ints = { NULL, QUANT_Q8_0, ROWS, DEPTH,
            int_strip_bytes(QUANT_Q8_0, DEPTH) },
        .panel_size = int_panel_bytes(DEPTH) };
    struct arena a;
    struct err e;

    m.pool = pool_new(0, &e);
    if (m.pool == NULL)
        die_err(&e);
    m.part = WEIGHT / (COLS * sizeof *m.from) / pool_size(m.pool);
    arena_plan(&a);
    place(&m, &a);
    arena_init(&a, a.used);
    place(&m, &a);
    fill_factors(&m);
    pool_run(m.pool, pool_size(m.pool), fill, &m);
    measure(b, &m);
    arena_release(&a);
    pool_free(m.pool);
}
