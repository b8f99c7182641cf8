/*
 * obs - seconds of what prune sparsify does to one layer, and its memory
 * usage: obs ROWS COLUMNS TOKENS [THREADS]
 *
 * A layer [ROWS,COLUMNS] of random weights on TOKENS random inputs: the last
 * tile of the Hessian, its factor, the energy of the output, and the sweep of
 * optimal brain surgeon to 2:4.  TSV: what, seconds, CPU seconds, GF/s by CPU
 * seconds.  Then the relative error and the peak of memory.
 */
#include "number.h"
#include "base/clock.h"
#include "base/mem.h"
#include "cli/prog.h"
#include "kern/kern.h"
#include "prune/lapack.h"
#include "prune/obs.h"
#include "../lib/hess_add.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TILE = 512 };

static double wall, cpu;

static void
lap_begin(void)
{
    wall = clock_now();
    cpu = clock_cpu();
}

static void
lap_end(const char *what, double operations)
{
    const double seconds = clock_now() - wall, busy = clock_cpu() - cpu;

    printf("%s\t%.2f\t%.2f\t%.1f\n", what, seconds, busy,
        operations / busy * 1e-9);
    fflush(stdout);
}

/* Pseudo-random numbers in [-1,1); *state goes on. */
static void
fill(float *x, size_t n, uint64_t *state)
{
    for (size_t i = 0; i < n; i++) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        x[i] = (float)(int32_t)(*state >> 32) / 2147483648.0f;
    }
}

static void
hessian(double *h, size_t n, size_t tokens, struct pool *pool)
{
    float *x = xcalloc(TILE * n, sizeof *x);
    uint64_t state = 1;

    for (size_t t = 0; t < tokens; t += TILE) {
        const size_t rows = tokens - t < TILE ? tokens - t : TILE;

        fill(x, rows * n, &state);
        lap_begin();
        hess_add(pool, (struct hess_sum){ .d = h }, n, x, rows, n);
        if (t + TILE >= tokens) /* the last tile: h's memory is mapped then */
            lap_end("a tile of the Hessian", (double)rows * (double)(n * n));
    }
    free(x);
    hess_finish(pool, (struct hess_sum){ .d = h }, n);
}

int
main(int argc, char **argv)
{
    const struct pattern p = { 2, 4, 0 };
    size_t N, n, tokens;
    struct pool *pool;
    struct hess h;
    double *a;
    float *w, *d;
    double all, cube;
    uint64_t state = 2;
    struct err e;

    if (argc < 4)
        die(EX_USAGE, "usage: obs ROWS COLUMNS TOKENS [THREADS]");
    prog_listen();
    N = number(argv[1], 1);
    n = number(argv[2], 4) / 4 * 4;
    tokens = number(argv[3], 1);
    if (kern_init() != NULL || lapack_open(&e) < 0 ||
        (pool = pool_new(argc > 4 ? number(argv[4], 1) : 0, &e)) == NULL)
        die(EX_SYS, "no kernels, LAPACK or threads");
    cube = (double)n * (double)n * (double)n;
    a = xcalloc(n, n * sizeof *a);
    hessian(a, n, tokens, pool);
    if (hess_init(&h, a, n, "layer", &e) < 0)
        die_err(&e);
    lap_begin();
    if (hess_factor(&h, 0.01, "layer", &e) < 0)
        die_err(&e);
    lap_end("factor", 2.0 / 3.0 * cube);
    w = xcalloc(N * n, sizeof *w);
    d = xcalloc(N * n, sizeof *d);
    fill(w, N * n, &state);
    memcpy(d, w, N * n * sizeof *w);
    lap_begin();
    all = layer_energy(w, N, &h, pool);
    lap_end("energy", (double)N * (double)(n * n));
    lap_begin();
    layer_sparsify(w, N, n, &h, METHOD_OBS, &p, pool);
    lap_end("sweep", (double)N * (double)(n * n));
    for (size_t i = 0; i < N * n; i++)
        d[i] -= w[i];
    printf("relative error %.4g, peak %.2f GB\n",
        layer_energy(d, N, &h, pool) / all, (double)prog_peak() * 1e-9);
    hess_release(&h);
    free(w);
    free(d);
    pool_free(pool);
    return 0;
}
