/* Products of a tile of rows with weights, for generation; see kv_impl.h. */
#include "base/profile.h"
#include "kern/int.h"
#include "kern/kern.h"
#include "model/files/adapter.h"
#include "model/decode/kv_impl.h"

/* Compute the products with n rows of the weight, from r0 on, in integers. */
static void
int_part(const struct matjob *j, size_t r0, size_t n, size_t worker)
{
    const double begin = profile_begin();

    kern.ints->multiply(j->w->ints, r0 / INT_ROWS,
        (n + INT_ROWS - 1) / INT_ROWS, (const void *)j->k->rounded, j->n,
        (void *)j->k->wide[worker], j->y, j->ldy);
    profile_end("text products in integers", begin,
        2.0 * (double)(j->n * n) * (double)j->w->cols, 0.0);
}

/* Compute the products with n rows of the weight, from r0 on: at most KV_PART,
 * unless whole_parts is 1. */
static void
exact_part(const struct matjob *j, size_t r0, size_t n, size_t worker)
{
    const size_t K = j->w->cols;
    const float *p = weight_f32(j->w);
    const unsigned char *half = weight_halves(j->w, r0);
    float *y = j->y + r0, *wide = j->k->wide[worker];
    size_t ldw = K;
    double begin = profile_begin();
    int done = j->n <= DOTS_MOST &&
        weight_dots(j->w, r0, n, j->n, j->x, y, j->ldy) == 0;

    if (!done && half != NULL) {
        kern.gemm_half(j->n, n, K, j->x, K, half, j->w->stride / 2, 1, GEMM_SET,
            y, j->ldy);
        done = 1;
    }
    if (p != NULL) {
        p += r0 * K;
    } else if (!done) {
        ldw = K + KV_PAD;
        for (size_t i = 0; i < n; i++)
            weight_rows(j->w, r0 + i, 1, wide + i * ldw);
        p = wide;
        profile_end("text widening", begin, 0.0, 4.0 * (double)(n * K));
        begin = profile_begin();
    }
    if (!done && j->n <= DOTS_MOST)
        kern.dots(j->n, n, K, j->x, p, ldw, y, j->ldy);
    else if (!done)
        kern.gemm_nt(j->n, n, K, j->x, K, p, ldw, GEMM_SET, y, j->ldy);
    profile_end("text products", begin, 2.0 * (double)(j->n * n) * (double)K,
        0.0);
}

/* Does gemm_nt read the weight where it lies, which needs fp32 and many rows of
 * x?  Then parts should be long, as gemm_nt prefetches their rows. */
static int
whole_parts(const struct matjob *j)
{
    return j->n > DOTS_MOST && weight_f32(j->w) != NULL;
}

/* Compute the products with n rows of the weight, from r0 on. */
static void
mat_part(const struct matjob *j, size_t r0, size_t n, size_t worker)
{
    const struct low_rank *l = j->w->low;
    const size_t most = whole_parts(j) ? n : KV_PART;

    if (j->w->ints != NULL)
        int_part(j, r0, n, worker);
    for (size_t i = 0; i < n && j->w->ints == NULL; i += most)
        exact_part(j, r0 + i, n - i < most ? n - i : most, worker);
    if (l != NULL)
        low_up(l, j->low, l->rank, j->n, r0, n, j->y + r0, j->ldy);
    weight_add_bias(j->w, r0, n, j->n, j->y + r0, j->ldy);
    for (size_t t = 0; j->cap > 0.0f && t < j->n; t++)
        kern.softcap(j->y + t * j->ldy + r0, j->cap, n);
}

size_t
kv_parts(const struct matjob *j)
{
    return (j->w->rows + j->part - 1) / j->part;
}

/* The number of rows in the task that begins at row r0. */
static size_t
part_rows(const struct matjob *j, size_t r0)
{
    return r0 + j->part <= j->w->rows ? j->part : j->w->rows - r0;
}

/* Pool task of multiply_kv; ctx: the jobs.  The tasks of each job follow those
 * of the one before. */
static void
mat_task(void *ctx, size_t task, size_t worker)
{
    const struct matjob *j = ctx;

    for (; task >= kv_parts(j); j++)
        task -= kv_parts(j);
    mat_part(j, task * j->part, part_rows(j, task * j->part), worker);
}

void
kv_mlp_task(void *ctx, size_t task, size_t worker)
{
    const struct matjob *j = ctx;
    const size_t r0 = task * j->part, mlp = j->w->rows, n = part_rows(j, r0);

    mat_part(j, r0, n, worker);
    mat_part(j + 1, r0, n, worker);
    for (size_t t = 0; t < j->n; t++) {
        float *g = j[0].y + t * mlp + r0;

        (j->k->f->family->gemma ? kern.gelu_mul : kern.silu_mul)(g, g,
            j[1].y + t * mlp + r0, n);
    }
}

/* Round KV_ROWS rows of x for products in integers. */
static void
round_task(void *ctx, size_t task, size_t worker)
{
    const struct matjob *j = ctx;
    const size_t K = j->w->cols, end = (task + 1) * KV_ROWS;

    (void)worker;
    for (size_t t = task * KV_ROWS; t < j->n && t < end; t++)
        kern.ints->round((void *)(j->k->rounded + t * int_row_bytes(K)),
            j->x + t * K, K);
}

/* The rows of a task, if `rows` rows are cut into EACH tasks for each thread.
 * Rounded up to a multiple of `step`; at least `least`, at most `most`. */
static size_t
task_size(const struct kvcache *k, size_t rows, size_t step, size_t least,
    size_t most)
{
    enum { EACH = 8 };
    const size_t n = rows / (EACH * pool_size(k->f->pool));
    const size_t whole = (n + step - 1) / step * step;

    return whole < least ? least : whole > most ? most : whole;
}

/* Compute an adapter's scale A x for KV_ROWS rows of x. */
static void
low_task(void *ctx, size_t task, size_t worker)
{
    const struct matjob *j = ctx;
    const struct low_rank *l = j->w->low;
    const size_t t = task * KV_ROWS, K = j->w->cols;

    (void)worker;
    low_down(l, K, j->x + t * K, j->n - t < KV_ROWS ? j->n - t : KV_ROWS,
        j->low + t * l->rank, l->rank);
}

void
kv_begin_products(struct kvcache *k, struct matjob *j, size_t n)
{
    size_t rows = 0, part;
    float *low = k->f->a.low;
    int ints = 0, whole = 0;

    for (size_t i = 0; i < n; i++) {
        ints |= j[i].w->ints != NULL;
        whole |= whole_parts(&j[i]);
        rows += j[i].w->rows;
    }
    if (ints) {
        part = task_size(k, rows, INT_ROWS, 2 * INT_ROWS, 256);
        pool_run(k->f->pool, (j->n + KV_ROWS - 1) / KV_ROWS, round_task, j);
    } else if (whole) {
        part = task_size(k, rows, 48, 2 * 48, 192);
    } else {
        /* kern.dots_stored prefetches the rows after those that it multiplies:
         * they should belong to the same task. */
        part = task_size(k, rows, KV_PART, KV_PART, rows);
    }
    for (size_t i = 0; i < n; i++) {
        j[i].part = part;
        if (j[i].w->low == NULL)
            continue;
        j[i].low = low;
        low += j[i].w->low->rank * j[i].n;
        pool_run(k->f->pool, (j->n + KV_ROWS - 1) / KV_ROWS, low_task, &j[i]);
    }
}

void
multiply_kv(struct kvcache *k, struct matjob *j, size_t n)
{
    size_t tasks = 0;

    kv_begin_products(k, j, n);
    for (size_t i = 0; i < n; i++)
        tasks += kv_parts(&j[i]);
    pool_run(k->f->pool, tasks, mat_task, j);
}
