/*
 * plan calibrate: measure this machine, and write a file for --machine.  Each
 * rank that mpirun has started counts as a device.  A figure is the median of
 * several measurements.  All ranks work at once, so that they share memory and
 * links as in a run.
 */
#include "calibrate.h"
#include "base/clock.h"
#include "base/energy.h"
#include "base/mem.h"
#include "base/median.h"
#include "base/note.h"
#include "base/pool.h"
#include "base/rng.h"
#include "cli/die.h"
#include "cli/opt.h"
#include "cli/out.h"
#include "cli/prog.h"
#include "dist/dist.h"
#include "kern/kern.h"
#include "train/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CUBE = 2048, ROWS = 128, TAKES = 5 };

/* ---- each rank alone ---- */

/* y = x w^T: x [CUBE,k], w [n,k], y [CUBE,n].  A task computes ROWS rows. */
struct products {
    size_t n, k;
    float *x, *w, *y;
};

static void
product_task(void *ctx, size_t task, size_t worker)
{
    const struct products *p = ctx;
    const size_t row = task % (CUBE / ROWS) * ROWS;

    (void)worker;
    kern.gemm_nt(ROWS, p->n, p->k, p->x + row * p->k, p->k, p->w, p->k,
        GEMM_SET, p->y + row * p->n, p->n);
}

/* Measure the TFLOP/s of products by all threads together. */
static double
products_rate(struct pool *pool, const struct products *p)
{
    const size_t times =
        (size_t)((double)CUBE * CUBE / ((double)p->n * (double)p->k) + 0.5);
    const size_t tasks = times * (CUBE / ROWS);
    double t[TAKES];

    pool_run(pool, CUBE / ROWS, product_task, (void *)(uintptr_t)p);
    for (int i = 0; i < TAKES; i++) {
        double start;

        dist_barrier(dist_world());
        start = clock_now();
        pool_run(pool, tasks, product_task, (void *)(uintptr_t)p);
        t[i] = clock_now() - start;
    }
    return 2e-12 * ROWS * (double)tasks * (double)p->n * (double)p->k /
        median(t, TAKES);
}

/* A copy of n bytes, of which each thread copies a part. */
struct copies {
    unsigned char *from, *to;
    size_t n, parts;
};

static void
copy_part(void *ctx, size_t task, size_t worker)
{
    const struct copies *c = ctx;
    const size_t part = c->n / c->parts;

    (void)worker;
    memcpy(c->to + task * part, c->from + task * part, part);
}

/* Measure the GB/s of a copy; each byte counts twice, as read and as written.
 */
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
        pool_run(pool, c.parts, copy_part, &c);
        t[i] = clock_now() - start;
    }
    free(c.from);
    free(c.to);
    return 2e-9 * (double)c.n / median(t, TAKES);
}

/* ---- ranks together ---- */

/* Measure the seconds that a message takes between ranks 0 and 1 in one
 * direction, while other ranks wait. */
static double
ping_time(const struct dist_group *g, void *x, size_t bytes)
{
    const size_t times = bytes > 4096 ? 4 : 1000;
    double t[TAKES];

    for (int i = 0; i < TAKES; i++) {
        double start;

        dist_barrier(g);
        start = clock_now();
        for (size_t k = 0; k < times; k++) {
            dist_pass(g, 0, 1, x, bytes);
            dist_pass(g, 1, 0, x, bytes);
        }
        t[i] = (clock_now() - start) / (2.0 * (double)times);
    }
    return median(t, TAKES);
}

/* Seconds of an all-gather and of a reduce-scatter. */
struct pair {
    double gather, reduce;
};

/* Time an all-gather and a reduce-scatter of `each` floats a rank. */
static struct pair
time_collectives(const struct dist_group *g, float *x, size_t each)
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
    return (struct pair){ median(t[0], TAKES), median(t[1], TAKES) };
}

/* The links between ranks of a group. */
struct link {
    double gbs;     /* bandwidth of a message, GB/s */
    double us;      /* latency of a message, microseconds */
    double eff;     /* share of gbs that the slower collective reaches */
    double call_us; /* microseconds that a collective of 4 bytes takes beyond
                     * the latencies of its messages */
};

static void
measure_link(const struct dist_group *g, struct link *l)
{
    enum { EACH = 4 << 20 };
    const double steps = (double)g->n - 1.0, bytes = 4.0 * EACH;
    struct pair none, all;
    double once, gather, reduce;
    float *x;

    if (g->n < 2)
        return;
    x = xcalloc(EACH * g->n, sizeof *x);
    once = ping_time(g, x, 4);
    l->gbs = 1e-9 * bytes / (ping_time(g, x, EACH * sizeof *x) - once);
    none = time_collectives(g, x, 1);
    all = time_collectives(g, x, EACH);
    gather = 1e-9 * bytes * steps / (all.gather - none.gather);
    reduce = 1e-9 * bytes * steps / (all.reduce - none.reduce);
    if (g->rank == 0)
        note("%s: ping-pong %.3g us, %.3g GB/s; all-gather %.3g GB/s, "
             "reduce-scatter %.3g GB/s a rank",
            g->name, 1e6 * once, l->gbs, gather, reduce);
    l->us = 1e6 * once;
    l->call_us =
        fmax(0.0, 1e6 * fmax(none.gather, none.reduce) - steps * l->us);
    /* a collective, which sends both ways, may be faster than a message */
    l->gbs = fmax(l->gbs, fmin(gather, reduce));
    l->eff = fmin(gather, reduce) / l->gbs;
    free(x);
}

/* ---- the file ---- */

struct measured {
    double f32, bf16, eff, copy, watts;
    struct link link, net;
};

static void
set_kernels(const char *compute)
{
    const char *why = kern_init();

    if (why != NULL)
        die(EX_SYS, "%s", why);
    kern_compute(compute);
}

static void
measure_machine(struct measured *m, struct pool *pool)
{
    struct products cube = { CUBE, CUBE, NULL, NULL, NULL }, layer;
    struct energy before, after;
    double start;

    cube.x = xmalloc((size_t)CUBE * CUBE * sizeof(float));
    cube.w = xmalloc((size_t)CUBE * CUBE * sizeof(float));
    cube.y = xmalloc((size_t)CUBE * CUBE * sizeof(float));
    for (size_t i = 0; i < (size_t)CUBE * CUBE; i++) {
        cube.x[i] = (float)rng_unit(1, i) - 0.5f;
        cube.w[i] = (float)rng_unit(2, i) - 0.5f;
    }
    energy_read(&before, "");
    start = clock_now();
    set_kernels("f32");
    m->f32 = products_rate(pool, &cube);
    energy_read(&after, "");
    m->watts = energy_between(&before, &after) / (clock_now() - start);
    layer = cube;
    layer.n = layer.k = 576; /* the width of a model of 135M parameters */
    m->eff = fmin(1.0, products_rate(pool, &layer) / m->f32);
    set_kernels("bf16");
    m->bf16 = kern_slow() ? m->f32 : products_rate(pool, &cube);
    m->copy = copy_rate(pool);
    /* without another rank, or node, a copy in memory stands for the link */
    m->link = m->net = (struct link){ m->copy / 2.0, 0.0, 1.0, 0.0 };
    measure_link(dist_node(), &m->link);
    measure_link(dist_across(), &m->net);
    free(cube.x);
    free(cube.w);
    free(cube.y);
}

static void
put_file(struct buf *b, const struct measured *m, size_t threads)
{
    const double n = (double)dist_node()->n;
    const int meter = isfinite(m->watts);
    const char *alone = n > 1 ? NULL : "one rank: not measured";
    const char *near = dist_across()->n > 1 ? NULL : "one node: not measured";
    const struct {
        const char *name;
        double v;
        const char *source, *not_measured; /* NULL: print source */
    } figures[] = {
        { "devices", n, "ranks of this node", NULL },
        { "memory_gb", 1e-9 * (double)plan_limit() / n,
            "the node's memory, or its cgroup's, / ranks", NULL },
        { "memory_gbs", m->copy, "copies of 256 MB, read and written", NULL },
        { "bf16_tflops", m->bf16, "cubes of 2048 in bfloat16, or as fp32",
            NULL },
        { "f32_tflops", m->f32, "cubes of 2048 in fp32", NULL },
        { "link_gbs", m->link.gbs,
            "ping-pong of 16 MB, or a ring of them if that is faster",
            alone != NULL ? "one rank: a copy in memory" : NULL },
        { "link_us", m->link.us, "ping-pong of 4 bytes, one way", alone },
        { "net_gbs", m->net.gbs,
            "ping-pong of 16 MB across nodes, or a faster ring of them",
            near != NULL ? "one node: a copy in memory" : NULL },
        { "net_us", m->net.us, "ping-pong of 4 bytes across nodes, one way",
            near },
        { "net_call_us", m->net.call_us,
            "collectives of 4 bytes, less their steps", near },
        { "matrix_eff", m->eff, "products of width 576 / cubes of 2048", NULL },
        { "attention_eff", m->eff, "that of products: not measured", NULL },
        { "product_reads", 0.0, "matrix_eff includes them", NULL },
        { "memory_eff", 1.0, "memory_gbs is measured", NULL },
        { "link_eff", m->link.eff,
            "the slower of all-gathers and reduce-scatters of 16 MB / link_gbs",
            alone },
        { "net_eff", m->net.eff,
            "the slower of all-gathers and reduce-scatters of 16 MB / net_gbs",
            near },
        { "tensor_hidden", 0.0, "student hides none", NULL },
        { "reserve_gb", 1e-9 * (double)plan_program(0, threads),
            "a program and its libraries", NULL },
        { "reserve_share", 0.0, "student allocates before it starts", NULL },
        { "device_watts", meter ? m->watts / n : 0.0,
            "RAPL's packages during products, a rank's share",
            meter ? NULL : "RAPL cannot be read" },
        { "node_watts", 0.0, "not measured", NULL },
    };

    buf_addf(b,
        "{\n  \"about\": \"measured by plan calibrate, %zu threads a "
        "rank, kernels %s\"",
        threads, kern_name());
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        buf_addf(b, ",\n  \"%s\": [%.6g, \"%s\"]", figures[i].name,
            figures[i].v,
            figures[i].not_measured != NULL ? figures[i].not_measured
                                            : figures[i].source);
    buf_adds(b, "\n}\n");
}

/* Name the figures that could not be measured. */
static void
tell_missing(const struct measured *m)
{
    if (dist_world()->rank > 0)
        return;
    if (dist_world()->n == 1)
        note("one rank: ping-pong and reduce are left out; start it under "
             "mpirun -n 2, of a build with Open MPI");
    else if (dist_across()->n == 1)
        note("one node: the network is left out");
    if (!isfinite(m->watts))
        note("energy is left out: /sys/class/powercap/intel-rapl:0 cannot be "
             "read");
}

int
calibrate_main(int argc, char **argv)
{
    static size_t threads;
    const struct opt options[] = { OPT_SIZE('j', "threads", &threads, 0, 4096,
                                       "threads",
                                       "threads (0: all processors)"),
        OPT_END };
    struct buf b = { 0 };
    struct measured m;
    struct pool *pool;
    struct err e;

    opt_parse(argc, argv, options,
        "measure this machine, and print a file for --machine", "", 0, 0, NULL);
    if (dist_begin(&e) < 0 ||
        (pool = pool_new(dist_threads(threads), &e)) == NULL)
        die_err(&e);
    measure_machine(&m, pool);
    tell_missing(&m);
    if (dist_world()->rank == 0)
        put_file(&b, &m, pool_size(pool));
    pool_free(pool);
    dist_end();
    out_put(b.p, b.n);
    buf_release(&b);
    out_done();
    return 0;
}
