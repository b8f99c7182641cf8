/*
 * plan calibrate: measure this machine, and write a file for --machine.  Each
 * rank that mpirun has started counts as a device.  A figure is the median of
 * several measurements.  All ranks work at once, so that they share memory and
 * links as in a run.  speed.h measures products and attention.
 */
#include "commands.h"
#include "figures.h"
#include "job.h"
#include "rates.h"
#include "speed.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/energy.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/pool.h"
#include "cli/die.h"
#include "cli/out.h"
#include "cli/prog.h"
#include "cli/place.h"
#include "cli/shared.h"
#include "dist/dist.h"
#include "kern/kern.h"
#include "train/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- each rank alone ---- */

/* TFLOP/s of products and attention in one type, by size; peak: of the fastest
 * product. */
struct type_speed {
    double peak;
    struct rates products, attention;
};

/* Measure products and attention in the type `compute`.  Returns 0 if this
 * machine has no fast kernels for it. */
static int
measure_type(struct type_speed *s, const char *compute, struct pool *pool,
    int quick)
{
    setup_kernels(0);
    kern_compute(compute);
    if (kern_slow())
        return 0;
    speed_table(&s->products, 0, pool, quick);
    speed_table(&s->attention, 1, pool, quick);
    for (size_t i = 0; i < s->products.n[0] * s->products.n[1]; i++)
        s->peak = fmax(s->peak, s->products.share[i]);
    return 1;
}

/* A copy of n bytes, of which each thread copies a part. */
struct copies {
    struct pool *pool;
    unsigned char *from, *to;
    size_t n;
};

static void
copy_part(void *ctx, size_t task, size_t worker)
{
    const struct copies *c = ctx;
    const size_t part = c->n / pool_size(c->pool);

    (void)worker;
    memcpy(c->to + task * part, c->from + task * part, part);
}

static void
copy_all(void *ctx)
{
    struct copies *c = ctx;

    pool_run(c->pool, pool_size(c->pool), copy_part, c);
}

/* Measure the GB/s of a copy; each byte counts twice, as read and as written.
 */
static double
copy_rate(struct pool *pool)
{
    struct copies c = { .pool = pool, .n = (size_t)256 << 20 };
    double t;

    c.from = xmalloc(c.n);
    c.to = xmalloc(c.n);
    memset(c.from, 1, c.n);
    memset(c.to, 2, c.n);
    t = speed_time(dist_world(), copy_all, &c, 1);
    free(c.from);
    free(c.to);
    return 2e-9 * (double)c.n / t;
}

/* ---- ranks together ---- */

/* What is timed between ranks.  PING: rank 0 sends `bytes` bytes to rank 1, and
 * rank 1 sends them back.  GATHER: an all-gather of `bytes` bytes from each
 * rank.  REDUCE: a reduce-scatter that leaves `bytes` bytes on each rank. */
struct exchange {
    const struct dist_group *g;
    enum { PING, GATHER, REDUCE } kind;
    float *x;
    size_t bytes;
    size_t *at; /* [g->n + 1] where the parts of ranks begin in x */
};

static void
exchange(void *ctx)
{
    struct exchange *c = ctx;

    switch (c->kind) {
    case PING:
        dist_pass(c->g, 0, 1, c->x, c->bytes);
        dist_pass(c->g, 1, 0, c->x, c->bytes);
        break;
    case GATHER: dist_all_gather(c->g, c->x, sizeof *c->x, c->at); break;
    case REDUCE: dist_reduce_scatter(c->g, c->x, c->at, DIST_RING); break;
    }
}

/* Seconds that an exchange takes, without `latency`; if latency is more than
 * half of them, half. */
static double
exchange_time(struct exchange *c, int kind, size_t bytes, double latency)
{
    const size_t times = bytes > 65536 ? 4 : kind == PING ? 1000 : 16;
    double t;

    c->kind = kind;
    c->bytes = bytes;
    for (size_t i = 0; i <= c->g->n; i++)
        c->at[i] = i * (bytes / sizeof *c->x);
    t = speed_time(c->g, exchange, c, times);
    return fmax(t - latency, t / 2.0);
}

/* The links between ranks of a group. */
struct link {
    double gbs;     /* bandwidth of a message, GB/s */
    double us;      /* latency of a message, microseconds */
    double eff;     /* share of gbs that the slower collective reaches */
    double call_us; /* microseconds that a collective of 4 bytes takes beyond
                     * the latencies of its messages */
    struct rates messages;
};

static void
measure_link(const struct dist_group *g, struct link *l)
{
    enum { SIZES = 3, MOST = 16 << 20 };
    const double steps = (double)g->n - 1.0;
    struct exchange c = { .g = g };
    double once, none[2], t[2] = { 0.0, 0.0 }, slower = 0.0;

    if (g->n < 2)
        return;
    c.x = xcalloc(MOST * g->n, 1);
    c.at = xcalloc(g->n + 1, sizeof *c.at);
    once = exchange_time(&c, PING, 4, 0.0);
    l->us = 1e6 * once / 2.0;
    l->gbs = 2e-9 * MOST / exchange_time(&c, PING, MOST, once);
    for (int i = 0; i < 2; i++)
        none[i] = exchange_time(&c, GATHER + i, 4, 0.0);
    l->call_us = fmax(0.0, 1e6 * fmax(none[0], none[1]) - steps * l->us);
    l->messages = (struct rates){ .n = { 1, SIZES },
        .size = { { 1 }, { 1 << 16, 1 << 20, MOST } } };
    for (size_t k = 0; k < SIZES; k++) {
        const double bytes = l->messages.size[1][k];

        for (int i = 0; i < 2; i++)
            t[i] = exchange_time(&c, GATHER + i, (size_t)bytes, none[i]);
        slower = 1e-9 * bytes * steps / fmax(t[0], t[1]);
        l->messages.share[k] = slower;
    }
    if (g->rank == 0)
        note("%s: ping-pong %.1f us, %.3g GB/s; all-gather %.3g GB/s, "
             "reduce-scatter %.3g GB/s a rank",
            g->name, l->us, l->gbs, 1e-9 * MOST * steps / t[0],
            1e-9 * MOST * steps / t[1]);
    /* a collective, which sends both ways, may be faster than a message */
    l->gbs = fmax(l->gbs, slower);
    l->eff = slower / l->gbs;
    free(c.x);
    free(c.at);
}

/* ---- the file ---- */

struct measured {
    struct type_speed f32, bf16;
    double copy, watts;
    struct link link, net;
};

static void
measure_machine(struct measured *m, struct pool *pool, int quick)
{
    struct energy before, after;
    double start;

    energy_read(&before, "");
    start = clock_now();
    measure_type(&m->f32, "f32", pool, quick);
    energy_read(&after, "");
    m->watts = energy_between(&before, &after) / (clock_now() - start);
    if (!measure_type(&m->bf16, "bf16", pool, quick))
        m->bf16 = m->f32;
    m->copy = copy_rate(pool);
    /* without another rank, or node, a copy in memory stands for the link */
    m->link = m->net = (struct link){ .gbs = m->copy / 2.0, .eff = 1.0 };
    measure_link(dist_node(), &m->link);
    measure_link(dist_across(), &m->net);
}

/* Why a figure was not measured; NULL: it was. */
static const char *
not_measured(const struct figure *f, const struct measured *m)
{
    const int bandwidth = strstr(f->name, "_gbs") != NULL;

    if (strncmp(f->name, "link_", 5) == 0 && dist_node()->n == 1)
        return bandwidth ? "one rank: a copy in memory"
                         : "one rank: not measured";
    if (strncmp(f->name, "net_", 4) == 0 && dist_across()->n == 1)
        return bandwidth ? "one node: a copy in memory"
                         : "one node: not measured";
    return strcmp(f->name, "device_watts") == 0 && !isfinite(m->watts)
        ? "RAPL cannot be read"
        : NULL;
}

/* Add the figures of the file; figures.json has their sources. */
static void
add_machine(struct figures *f, const struct measured *m, size_t threads)
{
    const double n = (double)dist_node()->n;

    figure_add(f, "devices", n);
    figure_add(f, "memory_gb", 1e-9 * (double)plan_limit() / n);
    figure_add(f, "memory_gbs", m->copy);
    figure_add(f, "bf16_tflops", m->bf16.peak);
    figure_add(f, "f32_tflops", m->f32.peak);
    figure_add(f, "link_gbs", m->link.gbs);
    figure_add(f, "link_us", m->link.us);
    figure_add(f, "net_gbs", m->net.gbs);
    figure_add(f, "net_us", m->net.us);
    figure_add(f, "net_call_us", m->net.call_us);
    figure_add(f, "matrix_eff", 1.0);
    figure_add(f, "attention_eff", 1.0);
    figure_add(f, "product_reads", 0.0);
    figure_add(f, "memory_eff", 1.0);
    figure_add(f, "link_eff", m->link.eff);
    figure_add(f, "net_eff", m->net.eff);
    figure_add(f, "tensor_hidden", 0.0);
    figure_add(f, "reserve_gb", 1e-9 * (double)plan_program(0, threads));
    figure_add(f, "reserve_share", 0.0);
    figure_add(f, "device_watts", isfinite(m->watts) ? m->watts / n : 0.0);
    figure_add(f, "node_watts", 0.0);
}

static void
put_file(struct buf *b, const struct measured *m, size_t threads)
{
    const struct rates *const tables[RATES] = { &m->bf16.products,
        &m->f32.products, &m->bf16.attention, &m->f32.attention,
        &m->link.messages, &m->net.messages };
    const double whole[RATES] = { m->bf16.peak, m->f32.peak, m->bf16.peak,
        m->f32.peak, m->link.gbs * m->link.eff, m->net.gbs * m->net.eff };
    struct figures f = { .n = 0 };

    add_machine(&f, m, threads);
    buf_addf(b,
        "{\n  \"about\": \"measured by plan calibrate, %zu threads a "
        "rank, kernels %s\"",
        threads, kern_name());
    for (size_t i = 0; i < f.n; i++) {
        const char *why = not_measured(&f.f[i], m);

        buf_addf(b, ",\n  \"%s\": [%.6g, \"%s\"]", f.f[i].name, f.f[i].v,
            why != NULL ? why : figure_formula(&f.f[i], "machine"));
    }
    for (int i = 0; i < RATES; i++)
        rates_put(b, tables[i], (enum rates_of)i, whole[i],
            i < LINK_MESSAGES ? "measured: shares of the fastest products"
                              : "measured: shares of those of 16 MB");
    buf_adds(b, "\n}\n");
}

/* Keep the file of this machine for --machine this. */
static void
keep_file(const struct buf *b)
{
    char *path = machine_kept(), *dir;
    struct err e;

    if (path == NULL)
        return;
    dir = xstrdup(path);
    *strrchr(dir, '/') = '\0';
    if (io_mkdirs(dir, &e) < 0 || io_put_file(path, b->p, b->n, &e) < 0)
        warn("not kept: %s", e.msg);
    else
        note("kept in %s, for --machine this", path);
    free(dir);
    free(path);
}

/* Name the figures that could not be measured. */
static void
note_missing(const struct measured *m)
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
    static int quick;
    const struct opt options[] = { OPT_THREADS(&threads),
        OPT_FLAG(0, "quick", &quick,
            "measure products and attention of small sizes only"),
        OPT_END };
    struct buf b = { 0 };
    struct measured m = { 0 };
    struct clock_shares before;
    struct pool *pool;
    double waited;
    struct err e;

    opt_parse(argc, argv, options,
        "measure this machine, and print a file for --machine", "", 0, 0, NULL);
    if (dist_begin(&e) < 0)
        die_err(&e);
    pool = setup_rank_pool(threads);
    before = clock_shares();
    measure_machine(&m, pool, quick);
    waited = clock_waited(&before);
    note_missing(&m);
    if (dist_world()->rank == 0)
        put_file(&b, &m, pool_size(pool));
    if (waited > BUSY_SHARE)
        warn("threads waited %.0f %% of the time for a processor, so speeds "
             "are too low, and not kept: run it again without other programs",
            100.0 * waited);
    else if (dist_world()->n == 1 && !quick)
        keep_file(&b);
    pool_free(pool);
    dist_end();
    out_put(b.p, b.n);
    buf_release(&b);
    out_done();
    return 0;
}
