/* Hessians, by blocks on and above the diagonal; see hessian.h. */
#include "hessian.h"
#include "base/mem.h"
#include "kern/kern.h"

#include <stdlib.h>

/* Edge of a block: what a product copies counts less in a large one, what it
 * computes in vain below the diagonal counts less in a small one. */
enum { SMALL = 96, LARGE = 384, GAP = 64 };

/* Rows of x that are multiplied together. */
struct run {
    size_t at, n;
};

struct job {
    float *h;
    size_t n, ld, edge, blocks;
    const float *x;
    const struct run *run;
    size_t runs;
};

static size_t
edge_of(size_t n)
{
    const size_t want = (n + 7) / 8;
    const size_t edge = want < SMALL ? SMALL : want > LARGE ? LARGE : want;

    return (edge + 47) / 48 * 48;
}

/* The block of row i and column j, counted along the rows of blocks. */
static void
block_at(const struct job *j, size_t task, size_t *row, size_t *col)
{
    size_t i = 0;

    for (; task >= j->blocks - i; i++)
        task -= j->blocks - i;
    *row = i;
    *col = i + task;
}

static void
add_block(void *ctx, size_t task, size_t worker)
{
    const struct job *j = ctx;
    size_t i, k, m, n;

    (void)worker;
    block_at(j, task, &i, &k);
    i *= j->edge;
    k *= j->edge;
    m = j->n - i < j->edge ? j->n - i : j->edge;
    n = j->n - k < j->edge ? j->n - k : j->edge;
    for (size_t r = 0; r < j->runs; r++) {
        const float *x = j->x + j->run[r].at * j->ld;

        kern.gemm_tn(m, n, j->run[r].n, x + i, j->ld, x + k, j->ld, GEMM_ADD,
            j->h + i * j->n + k, j->n);
    }
}

static void
add_runs(struct pool *pool, struct job *j)
{
    j->edge = edge_of(j->n);
    j->blocks = (j->n + j->edge - 1) / j->edge;
    pool_run(pool, j->blocks * (j->blocks + 1) / 2, add_block, j);
}

void
hess_add(struct pool *pool, float *h, size_t n, const float *x, size_t t,
    size_t ld)
{
    const struct run all = { 0, t };
    struct job j = { .h = h, .n = n, .ld = ld, .x = x, .run = &all, .runs = 1 };

    add_runs(pool, &j);
}

void
hess_tap(struct pool *pool, float *h, const struct fwd_tapped *t)
{
    const size_t rows = t->r->B * t->r->T, most = t->r->B * t->Tp / GAP + 1;
    struct run *run = xreallocarray(NULL, most, sizeof *run);
    struct job j = { .h = h, .n = t->n, .ld = t->ld, .x = t->x, .run = run };

    for (size_t k = 0; k < rows; k++) {
        const size_t at = k / t->r->T * t->Tp + k % t->r->T;
        struct run *last = j.runs > 0 ? &run[j.runs - 1] : NULL;

        if (t->r->first[k] == UINT32_MAX)
            continue;
        if (last != NULL && at <= last->at + last->n + GAP)
            last->n = at + 1 - last->at;
        else
            run[j.runs++] = (struct run){ at, 1 };
    }
    add_runs(pool, &j);
    free(run);
}

static void
mirror(void *ctx, size_t task, size_t worker)
{
    const struct job *j = ctx;
    const size_t n = j->n;
    size_t r0, c0;

    (void)worker;
    block_at(j, task, &r0, &c0);
    r0 *= j->edge;
    c0 *= j->edge;
    for (size_t c = c0; c < c0 + j->edge && c < n; c++)
        for (size_t r = r0; r < r0 + j->edge && r < n && r < c; r++)
            j->h[c * n + r] = j->h[r * n + c];
}

void
hess_finish(struct pool *pool, float *h, size_t n)
{
    struct job j = { .h = h, .n = n, .edge = 48 };

    j.blocks = (n + j.edge - 1) / j.edge;
    pool_run(pool, j.blocks * (j.blocks + 1) / 2, mirror, &j);
}
