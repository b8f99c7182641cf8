/* Computes Hessians area by area, on and above the diagonal: see hessian.h. */
#include "hessian.h"
#include "base/mem.h"
#include "base/profile.h"
#include "kern/kern.h"

#include <stdlib.h>

/*
 * A square on the diagonal is split in four.  The quarter above the diagonal is
 * cut into pieces that threads share; the two quarters on the diagonal are
 * split again.  Squares of at most LEAF columns are multiplied completely,
 * although their lower half is not needed, because products of fewer columns
 * are slower.  Runs of rows with at most GAP rows of padding, all zeros,
 * between them are multiplied as one run.
 */
enum { LEAF = 96, PIECE = 384, STEP = 48, GAP = 64 };
/* Rows whose products are added in fp32 before they are added in double. */
enum { DEEP = 512 };

/* Consecutive rows of x that are multiplied together. */
struct run {
    size_t at, n;
};

/* A rectangle of H. */
struct area {
    size_t row, col, m, n;
};

struct job {
    struct hess_sum h;
    size_t n, ld;
    const float *x;
    const struct run *run;
    size_t runs;
    struct area *part;
    size_t parts, cap;
};

static void
add_area(struct job *j, size_t row, size_t col, size_t m, size_t n)
{
    j->part = xgrow(j->part, j->parts, &j->cap, sizeof *j->part);
    j->part[j->parts++] = (struct area){ row, col, m, n };
}

/* Length of pieces into which n is cut: nearly equal, at most PIECE, a multiple
 * of STEP. */
static size_t
piece_length(size_t n)
{
    const size_t count = (n + PIECE - 1) / PIECE, len = (n + count - 1) / count;

    return (len + STEP - 1) / STEP * STEP;
}

/* Add the areas of the n x n square whose first row and column is `at`. */
static void
split_square(struct job *j, size_t at, size_t n)
{
    size_t half, m, k;

    if (n <= LEAF) {
        add_area(j, at, at, n, n);
        return;
    }
    half = (n / 2 + STEP - 1) / STEP * STEP;
    m = piece_length(half);
    k = piece_length(n - half);
    for (size_t r = 0; r < half; r += m)
        for (size_t c = half; c < n; c += k)
            add_area(j, at + r, at + c, half - r < m ? half - r : m,
                n - c < k ? n - c : k);
    split_square(j, at, half);
    split_square(j, at + half, n - half);
}

/* h [m,n] with ldh += a^T b for t rows with strides lda and ldb. */
static void
add_rectangle(double *h, size_t ldh, size_t m, size_t n, const float *a,
    size_t lda, const float *b, size_t ldb, size_t t)
{
    static _Thread_local float sum[PIECE * PIECE];

    for (size_t i = 0; i < t; i += DEEP) {
        kern.gemm_tn(m, n, t - i < DEEP ? t - i : DEEP, a + i * lda, lda,
            b + i * ldb, ldb, GEMM_SET, sum, n);
        for (size_t r = 0; r < m; r++)
            for (size_t c = 0; c < n; c++)
                h[r * ldh + c] += (double)sum[r * n + c];
    }
}

static void
add_task(void *ctx, size_t task, size_t worker)
{
    const struct job *j = ctx;
    const struct area *p = &j->part[task];
    const double begin = profile_begin();
    size_t rows = 0;

    (void)worker;
    for (size_t r = 0; r < j->runs; rows += j->run[r++].n) {
        const float *x = j->x + j->run[r].at * j->ld;
        const size_t at = p->row * j->n + p->col;

        if (j->h.quick)
            add_rectangle(j->h.d + at, j->n, p->m, p->n, x + p->row, j->ld,
                x + p->col, j->ld, j->run[r].n);
        else if (j->h.d != NULL)
            kern.gemm_double(p->m, p->n, j->run[r].n,
                (struct factor){ x + p->row, NULL, 1, j->ld },
                (struct factor){ x + p->col, NULL, 1, j->ld }, j->h.d + at,
                j->n);
        else
            kern.gemm_tn(p->m, p->n, j->run[r].n, x + p->row, j->ld, x + p->col,
                j->ld, GEMM_ADD, j->h.f + at, j->n);
    }
    profile_end("Hessian", begin, 2.0 * (double)(p->m * p->n) * (double)rows,
        0.0);
}

void
hess_tap(struct pool *pool, struct hess_sum h, const struct fwd_tapped *t)
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
    split_square(&j, 0, j.n);
    pool_run(pool, j.parts, add_task, &j);
    free(j.part);
    free(run);
}

struct cross {
    double *c;
    const float *y, *x;
    size_t m, n, ld, t;
};

static void
cross_task(void *ctx, size_t task, size_t worker)
{
    const struct cross *j = ctx;
    const size_t parts = (j->n + PIECE - 1) / PIECE;
    const size_t r = task / parts * PIECE, c = task % parts * PIECE;

    (void)worker;
    add_rectangle(j->c + r * j->n + c, j->n,
        j->m - r < PIECE ? j->m - r : PIECE,
        j->n - c < PIECE ? j->n - c : PIECE, j->y + r, j->m, j->x + c, j->ld,
        j->t);
}

void
hess_cross(struct pool *pool, double *c, size_t m, const float *y, size_t n,
    const float *x, size_t ld, size_t t)
{
    struct cross j = { c, y, x, m, n, ld, t };

    pool_run(pool, ((m + PIECE - 1) / PIECE) * ((n + PIECE - 1) / PIECE),
        cross_task, &j);
}

/* Set STEP rows below the diagonal to the elements above it, square by square,
 * so that caches hold a square and its mirror. */
static void
mirror(void *ctx, size_t task, size_t worker)
{
    const struct job *j = ctx;
    const size_t n = j->n, r0 = task * STEP;
    const size_t end = r0 + STEP < n ? r0 + STEP : n;

    (void)worker;
    for (size_t c0 = 0; c0 < end; c0 += STEP)
        for (size_t r = r0; r < end; r++)
            for (size_t c = c0; c < c0 + STEP && c < r; c++)
                if (j->h.d != NULL)
                    j->h.d[r * n + c] = j->h.d[c * n + r];
                else
                    j->h.f[r * n + c] = j->h.f[c * n + r];
}

void
hess_finish(struct pool *pool, struct hess_sum h, size_t n)
{
    struct job j = { .h = h, .n = n };

    pool_run(pool, (n + STEP - 1) / STEP, mirror, &j);
}

/* ---- inputs of a block ---- */

const unsigned input_readers[FWD_INPUTS] = {
    [FWD_ATTN] = 1u << W_Q | 1u << W_K | 1u << W_V,
    [FWD_O] = 1u << W_O,
    [FWD_MLP] = 1u << W_GATE | 1u << W_UP,
    [FWD_DOWN] = 1u << W_DOWN,
};

size_t
input_width(const struct model *m, size_t i, enum fwd_input input)
{
    static const int weight[FWD_INPUTS] = { W_Q, W_O, W_UP, W_DOWN };
    const struct weight *w = &m->block[i].w[weight[input]];

    return w->rows > 0 ? w->cols : 0;
}
