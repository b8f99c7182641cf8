/*
 * How near the engine's parts come to the machine's limits, by processor time,
 * so that a busy machine does not matter much.
 *
 *   engine gemm KERNELS ...    GF/s of a small model's products, one thread
 *   engine limits [COMPUTE]    GF/s of a cube by OpenBLAS and by the kernels in
 *                              use, GB/s (read and written) of copying, 10^9
 *                              exponentials a second by the kernels in use;
 *                              COMPUTE: as kern_compute, and if it is not f32
 *                              the kernels' rate stands for OpenBLAS's
 *   engine layer CONFIG.json B T THREADS [COMPUTE]
 *                              a training step on B rows of T tokens, without
 *                              the optimiser: blocks, then the head with the
 *                              losses of distillation.  Tokens a second and
 *                              thread; GF/s a thread of blocks, of head, of
 *                              both; the rate of both over OpenBLAS's (the
 *                              best before and after); microseconds a token
 *                              of blocks, of head
 */
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/pool.h"
#include "base/rng.h"
#include "cli/die.h"
#include "cli/out.h"
#include "kern/kern.h"
#include "model/pass/backward.h"
#include "train/head_loss.h"
#include "blas.h"
#include "number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CUBE = 2048 };

/* ---- products, one thread ---- */

struct shape {
    const char *what;
    char op; /* n: nt, x: nn, w: tn */
    size_t m, n, k;
};

static double
cpu_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void
numbers(float **x)
{
    for (size_t k = 0; k < 3; k++) {
        x[k] = xreallocarray(NULL, (size_t)CUBE * CUBE, sizeof(float));
        for (size_t i = 0; i < (size_t)CUBE * CUBE; i++)
            x[k][i] = (float)rng_unit(k, i) - 0.5f;
    }
}

/* GF/s of a short run.  Callers take the best of several, in turn with other
 * products, since the machine may be busy. */
static double
gemm_rate(const struct shape *s, float *const *x)
{
    const double flop = 2.0 * (double)s->m * (double)s->n * (double)s->k;
    const size_t times = (size_t)(6e8 / flop) + 1;
    const double start = cpu_now();

    for (size_t i = 0; i < times; i++) {
        if (s->op == 'n')
            kern.gemm_nt(s->m, s->n, s->k, x[0], s->k, x[1], s->k, GEMM_SET,
                x[2], s->n);
        else if (s->op == 'x')
            kern.gemm_nn(s->m, s->n, s->k, x[0], s->k, x[1], s->n, GEMM_SET,
                x[2], s->n);
        else
            kern.gemm_tn(s->m, s->n, s->k, x[0], s->m, x[1], s->n, GEMM_ADD,
                x[2], s->n);
    }
    return (double)times * flop / (cpu_now() - start) / 1e9;
}

static void
gemm(int n, char **names)
{
    static const struct shape shape[] = {
        { "cube", 'n', 2048, 2048, 2048 },
        { "qo forward", 'n', 512, 576, 576 },
        { "kv forward", 'n', 512, 192, 576 },
        { "gate/up forward", 'n', 512, 768, 576 },
        { "down forward", 'n', 512, 288, 1536 },
        { "head forward", 'n', 256, 2048, 576 },
        { "qo dx", 'x', 512, 576, 576 },
        { "gate/up dx", 'x', 512, 288, 1536 },
        { "down dx", 'x', 512, 768, 576 },
        { "head dh", 'x', 256, 576, 2048 },
        { "qo dw", 'w', 576, 576, 512 },
        { "kv dw", 'w', 192, 576, 512 },
        { "gate/up dw", 'w', 512, 576, 512 },
        { "head dw", 'w', 2048, 576, 256 },
        { "scores 3 heads", 'n', 192, 64, 64 },
        { "values 3 heads", 'x', 192, 64, 64 },
        { "scores", 'n', 64, 64, 64 },
        { "values", 'x', 64, 64, 64 },
        { "keys", 'w', 64, 64, 64 },
    };
    float *x[3];

    numbers(x);
    printf("# product\tm\tn\tk");
    for (int i = 0; i < n; i++)
        printf("\t%s", names[i]);
    putchar('\n');
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
        double best[8] = { 0 };

        for (int r = 0; r < 12 * n; r++) {
            use_kernels(names[r % n]);
            best[r % n] = fmax(best[r % n], gemm_rate(&shape[i], x));
        }
        printf("%s\t%zu\t%zu\t%zu", shape[i].what, shape[i].m, shape[i].n,
            shape[i].k);
        for (int r = 0; r < n; r++)
            printf("\t%.1f", best[r]);
        putchar('\n');
    }
    for (size_t k = 0; k < 3; k++)
        free(x[k]);
}

/* Rates of one thread: GF/s of a large product by OpenBLAS and by the kernels
 * in use, GB/s of copying memory, and 10^9 exponentials a second of numbers in
 * the first-level cache. */
struct limits {
    double blas, own, copy, exp;
};

static double
exp_rate(void)
{
    enum { N = 2048, TIMES = 4000 };
    float x[N], y[N];
    double start;

    for (size_t i = 0; i < N; i++)
        x[i] = -(float)rng_unit(3, i);
    start = cpu_now();
    for (int i = 0; i < TIMES; i++)
        kern.exp(y, x, N, 0.0f, 1.0f);
    return 1e-9 * N * TIMES / (cpu_now() - start);
}

/* The type of products, such as "+bf16", for use_kernels; "" is f32. */
static char kinds[24] = "";

static struct limits
limits(void)
{
    static const struct shape cube = { "cube", 'n', 256, CUBE, CUBE };
    const size_t half = (size_t)CUBE * CUBE * sizeof(float);
    struct limits l = { 0 };
    float *x[3];

    numbers(x);
    for (int r = 0; r < 12; r++) {
        double t;

        use_kernels("openblas");
        l.blas = fmax(l.blas, gemm_rate(&cube, x));
        use_kernels(kinds);
        l.own = fmax(l.own, gemm_rate(&cube, x));
        t = cpu_now();
        for (int i = 0; i < 4; i++)
            memcpy(x[i % 2], x[2], half);
        l.copy = fmax(l.copy, 8.0 * (double)half / (cpu_now() - t) / 1e9);
        l.exp = fmax(l.exp, exp_rate());
    }
    if (*kinds != '\0')
        l.blas = l.own;
    for (size_t k = 0; k < 3; k++)
        free(x[k]);
    return l;
}

/* ---- a step ---- */

/* Pseudo-random numbers from -scale / 2 to scale / 2. */
static void
fill(float *p, size_t n, float scale)
{
    uint32_t x = 1;

    for (size_t i = 0; i < n; i++) {
        x = x * 1664525u + 1013904223u;
        p[i] = scale * ((float)(x >> 8) * 0x1p-24f - 0.5f);
    }
}

static void
ones(struct group *g, int w, size_t n)
{
    for (size_t i = 0; i < n; i++)
        g->p[g->at[w] + i] = 1.0f;
}

/* Blocks, forward and backward: CPU seconds, the best of three. */
static double
blocks(struct config c, struct pool *pool, size_t B, size_t T)
{
    uint32_t *ids = xcalloc(B * T, sizeof *ids), *first;
    struct rows r = { B, T, ids, NULL };
    double best = INFINITY;
    struct tmodel t;
    struct bwd *b;

    first = xcalloc(B * T, sizeof *first);
    r.first = first;
    c.V = 256; /* the head is measured by head() */
    tmodel_layout(&t, &c, NULL, DT_F32);
    for (size_t i = 0; i < t.ngroup; i++)
        fill(t.group[i].p, t.group[i].n, 2.0f / sqrtf((float)c.d));
    for (size_t i = 0; i < c.L; i++) {
        ones(&t.group[i], W_NORM1, c.d);
        ones(&t.group[i], W_NORM2, c.d);
    }
    fill(t.group[c.L + 1].p, c.d, 2.0f);
    for (size_t i = 0; i < B * T; i++)
        ids[i] = (uint32_t)(i * 7919 % 256);
    b = bwd_new(&t, pool, B, T, 0);
    for (int i = 0; i < 4; i++) {
        const double start = clock_cpu();

        bwd_forward(b, &r);
        fill(bwd_final(b), B * T * c.d, 1e-3f);
        bwd_backward(b, &r, NULL, NULL);
        if (i > 0)
            best = fmin(best, clock_cpu() - start);
    }
    bwd_free(b);
    tmodel_release(&t);
    free(ids);
    free(first);
    return best;
}

/* Head and losses of n predictions, with a teacher of the same shape: CPU
 * seconds, the best of three. */
static double
head(const struct config *c, struct pool *pool, size_t n)
{
    static const struct loss_opt o = { .w_ce = 0.25, .w_kl = 1.0, .tau = 3.0 };
    const size_t size = c->V * c->d;
    float *w = xreallocarray(NULL, size, sizeof *w);
    float *dw = xreallocarray(NULL, size, sizeof *dw);
    float *x = xreallocarray(NULL, 3 * n * c->d, sizeof *x);
    uint32_t *target = xcalloc(n, sizeof *target);
    uint32_t *place = xcalloc(n, sizeof *place);
    const struct targets targets = { .kind = TARGETS_FINAL,
        .width = c->d,
        .part = { { (const void *)(x + n * c->d), DT_F32, c->d } } };
    const struct weight wt = { .data = (const void *)w,
        .dtype = DT_F32,
        .rows = c->V,
        .cols = c->d,
        .stride = c->d * sizeof(float) };
    struct loss_sum sum = { 0 };
    double best = INFINITY;
    struct arena plan, a;
    struct head_loss *h;

    fill(w, size, 0.1f);
    memset(dw, 0, size * sizeof *dw);
    fill(x, 3 * n * c->d, 2.0f);
    for (size_t i = 0; i < n; i++)
        place[i] = (uint32_t)i;
    arena_plan(&plan);
    head_loss_free(head_loss_new(&plan, pool, c->V, c->d, &targets, n, 0));
    arena_init(&a, plan.used);
    h = head_loss_new(&a, pool, c->V, c->d, &targets, n, 0);
    for (int i = 0; i < 4; i++) {
        const double start = clock_cpu();

        head_loss_rows(h, &o, &wt, &wt, x, &targets, place, target, n, dw,
            x + 2 * n * c->d, &sum);
        if (i > 0)
            best = fmin(best, clock_cpu() - start);
    }
    head_loss_free(h);
    arena_release(&a);
    free(w);
    free(dw);
    free(x);
    free(target);
    free(place);
    return best;
}

static void
layer(const char *path, size_t B, size_t T, size_t threads)
{
    struct pool *pool = pool_new(threads, NULL);
    double tokens = (double)(B * T), flop[2], t[2], blas;
    struct config c;
    struct err e;

    if (config_load(&c, NULL, path, &e) < 0)
        die_err(&e);
    blas = limits().blas;
    /* a matrix has one product forward and two backward, causal attention two
     * forward and five backward */
    flop[0] = tokens * (double)c.L *
        (6.0 * (double)(c.d * 2 * (c.H + c.KV) * c.D + 3 * c.d * c.mlp) +
            14.0 * (double)(c.H * c.D) * (double)(T + 1) / 2.0);
    flop[1] = tokens * 8.0 * (double)(c.V * c.d);
    t[0] = blocks(c, pool, B, T);
    t[1] = head(&c, pool, B * T);
    blas = fmax(blas, limits().blas);
    printf("%.4g\t%.1f\t%.1f\t%.1f\t%.3f\t%.2f\t%.2f\n", tokens / (t[0] + t[1]),
        flop[0] / t[0] / 1e9, flop[1] / t[1] / 1e9,
        (flop[0] + flop[1]) / (t[0] + t[1]) / 1e9,
        (flop[0] + flop[1]) / (t[0] + t[1]) / 1e9 / blas, t[0] / tokens * 1e6,
        t[1] / tokens * 1e6);
    pool_free(pool);
}

int
main(int argc, char **argv)
{
    const char *job = argc > 1 ? argv[1] : "";

    progname = "engine";
    if ((strcmp(job, "limits") == 0 && argc == 3) ||
        (strcmp(job, "layer") == 0 && argc == 7))
        snprintf(kinds, sizeof kinds, "+%s", argv[--argc]);
    if (strcmp(kinds, "+f32") == 0)
        *kinds = '\0';
    use_kernels(kinds);
    if (strcmp(job, "gemm") == 0 && argc > 2 && argc <= 10) {
        gemm(argc - 2, argv + 2);
    } else if (strcmp(job, "limits") == 0 && argc == 2) {
        const struct limits l = limits();

        printf("%.1f\t%.1f\t%.1f\t%.2f\n", l.blas, l.own, l.copy, l.exp);
    } else if (strcmp(job, "layer") == 0 && argc == 6) {
        layer(argv[2], number(argv[3], 1), number(argv[4], 1),
            number(argv[5], 1));
    } else {
        die(EX_USAGE, "gemm, limits or layer: see tests/bench/engine.c");
    }
    out_done();
    return 0;
}
