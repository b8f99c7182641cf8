/*
 * Measuring a machine: see calibrate.h.  Each figure is the median of several
 * takes; under mpirun all ranks work at once, so that they share what they
 * share in a run.
 */
#include "calibrate.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/pool.h"
#include "base/rng.h"
#include "cli/die.h"
#include "cli/prog.h"
#include "dist/dist.h"
#include "kern/kern.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CUBE = 2048, ROWS = 128, TAKES = 5 };

static int
smaller(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double
median(double *t)
{
    qsort(t, TAKES, sizeof *t, smaller);
    return t[TAKES / 2];
}

/* ---- what ranks do by themselves ---- */

/* Products of ROWS rows, y = x W^T with W [n,k]; a task has rows of its own. */
struct products {
    size_t n, k;
    float *x, *w, *y;
};

static void
product(void *ctx, size_t task, size_t worker)
{
    const struct products *p = ctx;
    const size_t row = task % (CUBE / ROWS) * ROWS;

    (void)worker;
    kern.gemm_nt(ROWS, p->n, p->k, p->x + row * p->k, p->k, p->w, p->k,
        GEMM_SET, p->y + row * p->n, p->n);
}

/* TFLOP/s of all threads. */
static double
product_rate(struct pool *pool, const struct products *p)
{
    const size_t times =
        (size_t)((double)CUBE * CUBE / ((double)p->n * (double)p->k) + 0.5);
    const size_t tasks = times * (CUBE / ROWS);
    double t[TAKES];

    pool_run(pool, CUBE / ROWS, product, (void *)(uintptr_t)p);
    for (int i = 0; i < TAKES; i++) {
        double start;

        dist_barrier(dist_world());
        start = clock_now();
        pool_run(pool, tasks, product, (void *)(uintptr_t)p);
        t[i] = clock_now() - start;
    }
    return 2e-12 * ROWS * (double)tasks * (double)p->n * (double)p->k /
        median(t);
}

/* Copies of parts of 64 MB each. */
struct copies {
    unsigned char *from, *to;
    size_t n, parts;
};

static void
copy(void *ctx, size_t task, size_t worker)
{
    const struct copies *c = ctx;
    const size_t part = c->n / c->parts;

    (void)worker;
    memcpy(c->to + task * part, c->from + task * part, part);
}

/* GB/s, read and written. */
static double
copy_rate(struct pool *pool)
{
    struct copies c = { .n = (size_t)256 << 20, .parts = pool_size(pool) };
    double t[TAKES];

    c.from = xmalloc(c.n);
    c.to = xmalloc(c.n);
    memset(c.from, 1, c.n);
    memset(c.to, 2, c.n);
    for (int i = 0; i < TAKES; i++) {
        double start;

        dist_barrier(dist_world());
        start = clock_now();
        pool_run(pool, c.parts, copy, &c);
        t[i] = clock_now() - start;
    }
    free(c.from);
    free(c.to);
    return 2e-9 * (double)c.n / median(t);
}

/* ---- ranks together ---- */

/* Seconds of the slower of an all-gather and a reduce-scatter of so many floats
 * a rank. */
static double
exchange(const struct dist_group *g, float *x, size_t each)
{
    size_t *at = xcalloc(g->n + 1, sizeof *at);
    double t[2][TAKES];

    for (size_t i = 0; i <= g->n; i++)
        at[i] = i * each;
    for (int i = 0; i < 2 * TAKES; i++) {
        double start;

        dist_barrier(g);
        start = clock_now();
        for (int k = 0; k < 4; k++)
            if (i < TAKES)
                dist_all_gather(g, x, sizeof *x, at);
            else
                dist_reduce_scatter(g, x, at, DIST_RING);
        t[i / TAKES][i % TAKES] = (clock_now() - start) / 4.0;
    }
    free(at);
    return fmax(median(t[0]), median(t[1]));
}

/* What a ring of a group reaches: GB/s of a rank, microseconds of a step. */
static void
ring(const struct dist_group *g, double *gbs, double *us)
{
    enum { EACH = 4 << 20 };
    float *x;
    double small, large;

    if (g->n < 2)
        return;
    x = xcalloc(EACH * g->n, sizeof *x);
    small = exchange(g, x, 1);
    large = exchange(g, x, EACH);
    *us = 1e6 * small / (double)(g->n - 1);
    *gbs = 4e-9 * EACH * (double)(g->n - 1) / (large - small);
    free(x);
}

/* ---- power ---- */

/* Joules that the processors have used, as Intel's and AMD's counters say; NAN
 * where they cannot be read. */
static double
joules(void)
{
    double sum = NAN;

    for (int i = 0; i < 8; i++) {
        char path[80], *text;
        size_t n;

        snprintf(path, sizeof path,
            "/sys/class/powercap/intel-rapl:%d/energy_uj", i);
        if (io_slurp(path, 64, &text, &n, NULL) < 0)
            break;
        sum = (i == 0 ? 0.0 : sum) + 1e-6 * strtod(text, NULL);
        free(text);
    }
    return sum;
}

/* ---- all ---- */

struct measured {
    double f32, bf16, eff, copy, link, link_us, net, net_us, watts;
};

static void
kernels(const char *compute)
{
    const char *why = kern_init();

    if (why != NULL)
        die(EX_SYS, "%s", why);
    kern_compute(compute);
}

static void
measure(struct measured *m, struct pool *pool)
{
    struct products cube = { CUBE, CUBE, NULL, NULL, NULL }, layer;
    double before, start;

    cube.x = xmalloc((size_t)CUBE * CUBE * sizeof(float));
    cube.w = xmalloc((size_t)CUBE * CUBE * sizeof(float));
    cube.y = xmalloc((size_t)CUBE * CUBE * sizeof(float));
    for (size_t i = 0; i < (size_t)CUBE * CUBE; i++) {
        cube.x[i] = (float)rng_unit(1, i) - 0.5f;
        cube.w[i] = (float)rng_unit(2, i) - 0.5f;
    }
    before = joules();
    start = clock_now();
    kernels("f32");
    m->f32 = product_rate(pool, &cube);
    m->watts = (joules() - before) / (clock_now() - start);
    layer = cube;
    layer.n = layer.k = 576; /* of a model of 135M, the least of use */
    m->eff = fmin(1.0, product_rate(pool, &layer) / m->f32);
    kernels("bf16");
    m->bf16 = kern_slow() ? m->f32 : product_rate(pool, &cube);
    m->copy = copy_rate(pool);
    m->link = m->net = m->copy / 2.0; /* one rank: a copy is all it takes */
    m->link_us = m->net_us = 0.0;
    ring(dist_node(), &m->link, &m->link_us);
    ring(dist_across(), &m->net, &m->net_us);
    free(cube.x);
    free(cube.w);
    free(cube.y);
}

static void
put(struct buf *b, const char *name, double v, const char *source)
{
    buf_addf(b, ",\n  \"%s\": [%.6g, \"%s\"]", name, v, source);
}

static void
put_file(struct buf *b, const struct measured *m, size_t threads)
{
    const double n = (double)dist_node()->n;
    const double memory =
        (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    const int far = dist_across()->n > 1;
    const int meter = isfinite(m->watts);

    buf_addf(b,
        "{\n  \"about\": \"measured by plan --calibrate, %zu threads a "
        "rank, kernels %s\"",
        threads, kern_name());
    put(b, "devices", n, "ranks of this node");
    put(b, "memory_gb", 1e-9 * memory / n, "the node's memory / ranks");
    put(b, "memory_gbs", m->copy, "copies of 256 MB, read and written");
    put(b, "bf16_tflops", m->bf16, "cubes of 2048 in bfloat16, or as fp32");
    put(b, "f32_tflops", m->f32, "cubes of 2048 in fp32");
    put(b, "link_gbs", m->link,
        n > 1 ? "all-gathers of 16 MB a rank" : "one rank: a copy in memory");
    put(b, "link_us", m->link_us, "the same of 4 bytes, a step");
    put(b, "net_gbs", m->net,
        far ? "all-gathers or reduce-scatters of 16 MB across nodes"
            : "one node: a copy in memory");
    put(b, "net_us", m->net_us, "the same of 4 bytes, a step");
    put(b, "net_call_us", 0.0, "in net_us");
    put(b, "matrix_eff", m->eff, "products of width 576 / cubes of 2048");
    put(b, "memory_eff", 1.0, "memory_gbs is measured");
    put(b, "link_eff", 1.0, "link_gbs is measured");
    put(b, "net_eff", 1.0, "net_gbs is measured");
    put(b, "device_watts", meter ? m->watts / n : 0.0,
        meter ? "RAPL's packages during products, a rank's share"
              : "RAPL cannot be read");
    put(b, "node_watts", 0.0, "not measured");
    buf_adds(b, "\n}\n");
}

void
calibrate_put(struct buf *b, size_t threads)
{
    struct measured m;
    struct pool *pool;
    struct err e;

    if (dist_begin(&e) < 0 || (pool = pool_new(threads, &e)) == NULL)
        die_err(&e);
    measure(&m, pool);
    if (dist_world()->rank == 0)
        put_file(b, &m, pool_size(pool));
    pool_free(pool);
    dist_end();
}
