/* Makes a layer sparse: see obs.h. */
#include "obs.h"
#include "lapack.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/number.h"
#include "kern/kern.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 64 }; /* rows of W in a task */

/* ---- patterns ---- */

int
pattern_parse(struct pattern *p, const char *text, struct err *e)
{
    const char *colon = strchr(text, ':');
    char *end;

    memset(p, 0, sizeof *p);
    if (colon == NULL) {
        if (number_real(text, 0.0, 1.0, &p->share) == 0 && p->share > 0.0 &&
            p->share < 1.0)
            return 0;
    } else if (*text >= '1' && *text <= '9' && colon[1] >= '1' &&
        colon[1] <= '9') {
        p->n = strtoul(text, &end, 10);
        if (end == colon) {
            p->m = strtoul(colon + 1, &end, 10);
            if (*end == '\0' && p->n < p->m && p->m <= OBS_BLOCK)
                return 0;
        }
    }
    return err_set(e, EX_USAGE,
        "pattern '%s': neither N:M with N < M <= %d, nor a share between 0 "
        "and 1",
        text, OBS_BLOCK);
}

/* A weight that may be removed. */
struct key {
    double score;
    size_t i;
};

/* Order by score; equal scores by index. */
static int
is_less(const struct key *a, const struct key *b)
{
    return a->score < b->score || (a->score == b->score && a->i < b->i);
}

static void
swap_keys(struct key *a, struct key *b)
{
    const struct key t = *a;

    *a = *b;
    *b = t;
}

/* Move the k smallest of n different keys to the front: Hoare's selection. */
static void
select_smallest(struct key *key, size_t n, size_t k)
{
    while (n > 1 && k > 0 && k < n) {
        size_t less = 0;

        swap_keys(&key[n / 2], &key[n - 1]);
        for (size_t i = 0; i + 1 < n; i++)
            if (is_less(&key[i], &key[n - 1]))
                swap_keys(&key[i], &key[less++]);
        swap_keys(&key[less], &key[n - 1]);
        if (k <= less) {
            n = less;
        } else {
            key += less + 1;
            n -= less + 1;
            k -= less + 1;
        }
    }
}

/* gone[i] = 1 if the key with index i is one of the k smallest, else 0.
 * Reorders the keys. */
static void
mark_smallest(struct key *key, size_t n, size_t k, unsigned char *gone)
{
    select_smallest(key, n, k);
    memset(gone, 0, n);
    for (size_t i = 0; i < k; i++)
        gone[key[i].i] = 1;
}

static size_t
share_of(const struct pattern *p, size_t n)
{
    return (size_t)floor(p->share * (double)n + 0.5);
}

/* ---- the Hessian ---- */

int
hess_init(struct hess *h, double *a, size_t n, const char *name, struct err *e)
{
    double sum = 0.0;

    memset(h, 0, sizeof *h);
    h->n = n;
    h->a = a;
    h->diag = xreallocarray(NULL, n, sizeof *h->diag);
    for (size_t i = 0; i < n; i++) {
        h->diag[i] = a[i * n + i];
        h->dead += h->diag[i] == 0.0;
        for (size_t k = 0; k <= i; k++)
            sum += a[i * n + k] * 0.0; /* NaN if an element is not finite */
    }
    if (isfinite(sum))
        return 0;
    hess_release(h);
    return err_set(e, EX_NUM, "%s: its Hessian is not finite", name);
}

void
hess_release(struct hess *h)
{
    free(h->a);
    free(h->diag);
    memset(h, 0, sizeof *h);
}

/* Reverse the order of rows and of columns, that is, of all elements. */
static void
reverse_matrix(double *a, size_t n)
{
    for (size_t i = 0, k = n * n - 1; i < k; i++, k--) {
        const double t = a[i];

        a[i] = a[k];
        a[k] = t;
    }
}

/* Copy the lower triangle to the upper one.  Set the diagonal to that of H (in
 * dead channels to `mean`) plus damp * mean. */
static void
fill_upper(struct hess *h, double mean, double damp)
{
    const size_t n = h->n;

    for (size_t i0 = 0; i0 < n; i0 += ROWS) /* by tiles, for the cache */
        for (size_t k0 = i0; k0 < n; k0 += ROWS)
            for (size_t i = i0; i < n && i < i0 + ROWS; i++)
                for (size_t k = k0 > i ? k0 : i + 1; k < n && k < k0 + ROWS;
                     k++)
                    h->a[i * n + k] = h->a[k * n + i];
    for (size_t i = 0; i < n; i++) {
        const double d = h->diag[i] == 0.0 ? mean : h->diag[i];

        h->a[i * n + i] = d + damp * mean;
    }
}

static double
live_mean(const struct hess *h)
{
    double sum = 0.0;

    for (size_t i = 0; i < h->n; i++)
        sum += h->diag[i];
    return h->dead < h->n ? sum / (double)(h->n - h->dead) : 1.0;
}

/* Is every diagonal element of U usable as a divisor? */
static int
good_diagonal(const struct hess *h)
{
    for (size_t i = 0; i < h->n; i++) {
        const double u = h->a[i * h->n + i];

        if (!(u > 0.0 && u <= 1e30))
            return 0;
    }
    return 1;
}

int
hess_factor(struct hess *h, double damp, const char *name, struct err *e)
{
    const double mean = live_mean(h), last = 1000.0 * damp;

    for (;; damp *= 10.0) {
        size_t bad;

        fill_upper(h, mean, damp);
        reverse_matrix(h->a, h->n);
        if ((bad = lapack_potrf(h->a, h->n)) == 0)
            lapack_trtri(h->a, h->n);
        reverse_matrix(h->a, h->n);
        if (bad == 0 && good_diagonal(h))
            break;
        if (damp * 10.0 > last * 1.0001)
            return err_set(e, EX_NUM,
                "%s: its Hessian is not positive definite with a damping of "
                "%g either",
                name, damp);
        warn("%s: its Hessian with a damping of %g is not positive definite; "
             "%g is taken",
            name, damp, damp * 10.0);
    }
    h->damp = damp;
    return 0;
}

/* ---- rows by threads ---- */

struct sweep {
    float *W;  /* [N,n] the layer's weights */
    double *V; /* [N,n] W in double, for obs */
    size_t N, n;
    const struct hess *h;
    const struct pattern *p;
    enum method method;
    size_t c0, width;    /* columns that are being swept */
    double **err;        /* [threads][ROWS,OBS_BLOCK] errors of the sweep */
    struct key **key;    /* [threads][n] scores of a row */
    unsigned char *gone; /* [N,width] 1: remove this weight; for obs */
    unsigned char **row; /* [threads][n] 1: remove this weight of a row; for the
                          * other methods */
};

static size_t
tasks_of(size_t N)
{
    return (N + ROWS - 1) / ROWS;
}

static size_t
last_row(size_t N, size_t task)
{
    return (task + 1) * ROWS < N ? (task + 1) * ROWS : N;
}

static void **
thread_buffers(const struct pool *pool, size_t bytes)
{
    void **p = xcalloc(pool_size(pool), sizeof *p);

    for (size_t i = 0; i < pool_size(pool); i++)
        p[i] = xcalloc(bytes, 1);
    return p;
}

static void
free_buffers(const struct pool *pool, void *room)
{
    void **p = room;

    for (size_t i = 0; p != NULL && i < pool_size(pool); i++)
        free(p[i]);
    free(p);
}

/* ---- magnitude and wanda ---- */

/* Mark the weights of a row that have the least score, for removal: m - n of
 * each m, or a share of the row. */
static void
mark_row(const struct sweep *l, const float *w, struct key *key,
    unsigned char *gone)
{
    const size_t m = l->p->m > 0 ? l->p->m : l->n;
    const size_t k = l->p->m > 0 ? m - l->p->n : share_of(l->p, m);

    for (size_t c = 0; c < l->n; c += m) {
        for (size_t i = 0; i < m; i++) {
            double s = fabs((double)w[c + i]);

            if (l->method == METHOD_WANDA)
                s *= sqrt(l->h->diag[c + i]);
            key[i] = (struct key){ s, i };
        }
        mark_smallest(key, m, k, gone + c);
    }
}

static void
prune_rows(void *ctx, size_t task, size_t worker)
{
    const struct sweep *l = ctx;

    for (size_t r = task * ROWS; r < last_row(l->N, task); r++) {
        float *w = l->W + r * l->n;
        unsigned char *gone = l->row[worker];

        mark_row(l, w, l->key[worker], gone);
        for (size_t c = 0; c < l->n; c++)
            w[c] = gone[c] ? 0.0f : w[c];
    }
}

/* Remove the smallest weights: a share of the matrix. */
static void
prune_matrix(struct sweep *l)
{
    const size_t n = l->N * l->n;
    struct key *key = xreallocarray(NULL, n, sizeof *key);
    const size_t k = share_of(l->p, n);

    for (size_t i = 0; i < n; i++)
        key[i] = (struct key){ fabs((double)l->W[i]), i };
    select_smallest(key, n, k);
    for (size_t i = 0; i < k; i++)
        l->W[key[i].i] = 0.0f;
    free(key);
}

/* ---- the sweep ---- */

/* In the columns being swept, mark the weights with the least |w| / U_cc for
 * removal: a share of the weights of all rows. */
static void
mark_block(struct sweep *l, struct key *key)
{
    const size_t n = l->N * l->width;

    for (size_t i = 0; i < n; i++) {
        const size_t c = l->c0 + i % l->width;

        key[i].score =
            fabs(l->V[i / l->width * l->n + c]) / l->h->a[c * l->n + c];
        key[i].i = i;
    }
    mark_smallest(key, n, share_of(l->p, n), l->gone);
}

/* Sweep the present block of a row, w [width]: marked weights become zero, and
 * the block's later columns compensate for them.  With N:M, the weights are
 * marked here.  err[j] becomes the factor by which row c0+j of U is to be added
 * to the row's columns after the block. */
static void
sweep_row(const struct sweep *l, double *w, unsigned char *gone, double *err)
{
    const size_t n = l->n, m = l->p->m;
    struct key key[OBS_BLOCK];

    for (size_t j = 0; j < l->width; j++) {
        const double *u = l->h->a + (l->c0 + j) * n + l->c0;

        if (m > 0 && j % m == 0) {
            for (size_t i = 0; i < m; i++)
                key[i] = (struct key){ fabs(w[j + i]) / u[i * (n + 1) + j], i };
            mark_smallest(key, m, m - l->p->n, gone + j);
        }
        err[j] = gone[j] ? -w[j] / u[j] : 0.0;
        if (!gone[j])
            continue;
        w[j] = 0.0;
        for (size_t i = j + 1; i < l->width; i++)
            w[i] += err[j] * u[i];
    }
}

static void
sweep_rows(void *ctx, size_t task, size_t worker)
{
    const struct sweep *l = ctx;
    const size_t r0 = task * ROWS, end = last_row(l->N, task);
    const size_t next = l->c0 + l->width, n = l->n;
    double *err = l->err[worker];

    for (size_t r = r0; r < end; r++)
        sweep_row(l, l->V + r * n + l->c0, l->gone + r * l->width,
            err + (r - r0) * l->width);
    if (next < n)
        kern.gemm_double(end - r0, n - next, l->width,
            (struct factor){ NULL, err, l->width, 1 },
            (struct factor){ NULL, l->h->a + l->c0 * n + next, 1, n },
            l->V + r0 * n + next, n);
}

static void
sweep_all(struct sweep *l, struct pool *pool)
{
    const size_t m = l->p->m, n = l->n;
    const size_t step = m > 0 ? OBS_BLOCK / m * m : OBS_BLOCK;
    struct key *key = m > 0 ? NULL : xcalloc(l->N * step, sizeof *key);

    l->V = xreallocarray(NULL, l->N * n, sizeof *l->V);
    for (size_t i = 0; i < l->N * n; i++)
        l->V[i] = l->h->diag[i % n] == 0.0 ? 0.0 : (double)l->W[i];
    l->gone = xcalloc(l->N * step, 1);
    l->err = (double **)thread_buffers(pool,
        (size_t)ROWS * OBS_BLOCK * sizeof(double));
    for (l->c0 = 0; l->c0 < n; l->c0 += step) {
        l->width = n - l->c0 < step ? n - l->c0 : step;
        if (m == 0)
            mark_block(l, key);
        pool_run(pool, tasks_of(l->N), sweep_rows, l);
    }
    for (size_t i = 0; i < l->N * n; i++)
        l->W[i] = (float)l->V[i];
    free_buffers(pool, l->err);
    free(l->V);
    free(l->gone);
    free(key);
}

void
layer_sparsify(float *W, size_t N, size_t n, const struct hess *h,
    enum method method, const struct pattern *p, struct pool *pool)
{
    struct sweep l = { .W = W,
        .N = N,
        .n = n,
        .h = h,
        .p = p,
        .method = method };

    assert(p->m == 0 || n % p->m == 0);
    assert(h == NULL ? method == METHOD_MAGNITUDE : h->n == n);
    if (method == METHOD_OBS) {
        assert(h->damp > 0.0);
        sweep_all(&l, pool);
    } else if (method == METHOD_MAGNITUDE && p->m == 0) {
        prune_matrix(&l);
    } else {
        l.key = (struct key **)thread_buffers(pool, n * sizeof(struct key));
        l.row = (unsigned char **)thread_buffers(pool, n);
        pool_run(pool, tasks_of(N), prune_rows, &l);
        free_buffers(pool, l.key);
        free_buffers(pool, l.row);
    }
}

/* ---- energies ---- */

/* t [width,width] = H in rows and columns c0..c0+width-1, with half of the
 * diagonal, and zeros above it.  For this part of H, x^T H x is twice x^T t
 * x. */
static void
diagonal_block(const struct hess *h, size_t c0, size_t width, double *t)
{
    for (size_t i = 0; i < width; i++) {
        memset(t + i * width, 0, width * sizeof *t);
        memcpy(t + i * width, h->a + (c0 + i) * h->n + c0, i * sizeof *t);
        t[i * width + i] = h->diag[c0 + i] / 2.0;
    }
}

/* Work space of a thread. */
struct energy_buffers {
    double half[OBS_BLOCK * OBS_BLOCK]; /* the output of diagonal_block */
    double y[ROWS * OBS_BLOCK];
    double sum[OBS_BLOCK];
};

struct energy {
    const float *E;
    size_t N;
    const struct hess *h;
    struct energy_buffers **room; /* [threads] */
    double *sum;                  /* [tasks] */
};

/* A tile of H: rows c..c+k-1, columns to..to+width-1. */
struct obs_tile {
    size_t c, k, to, width;
    struct factor h;
};

/* For each column of the tile, add the sum over rows of (E_c t->h) * E_to to
 * b->sum.  E_c, E_to: the columns of E [rows,n] from t->c and from t->to on. */
static void
add_products(struct energy_buffers *b, const float *E, size_t rows, size_t n,
    const struct obs_tile *t)
{
    memset(b->y, 0, rows * t->width * sizeof *b->y);
    kern.gemm_double(rows, t->width, t->k,
        (struct factor){ E + t->c, NULL, n, 1 }, t->h, b->y, t->width);
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < t->width; i++)
            b->sum[i] += b->y[r * t->width + i] * (double)E[r * n + t->to + i];
}

static void
add_energy(void *ctx, size_t task, size_t worker)
{
    const struct energy *g = ctx;
    const size_t n = g->h->n, r0 = task * ROWS;
    const size_t rows = last_row(g->N, task) - r0;
    const float *E = g->E + r0 * n;
    struct energy_buffers *b = g->room[worker];

    memset(b->sum, 0, sizeof b->sum);
    for (size_t c = 0; c < n; c += OBS_BLOCK) {
        const size_t w = n - c < OBS_BLOCK ? n - c : OBS_BLOCK;

        for (size_t k = 0; k < c; k += OBS_BLOCK)
            add_products(b, E, rows, n,
                &(struct obs_tile){ c, w, k, OBS_BLOCK,
                    { NULL, g->h->a + c * n + k, 1, n } });
        diagonal_block(g->h, c, w, b->half);
        add_products(b, E, rows, n,
            &(struct obs_tile){ c, w, c, w, { NULL, b->half, 1, w } });
    }
    for (size_t i = 0; i < OBS_BLOCK; i++)
        g->sum[task] += 2.0 * b->sum[i];
}

double
layer_energy(const float *E, size_t N, const struct hess *h, struct pool *pool)
{
    struct energy g = { E, N, h,
        (struct energy_buffers **)thread_buffers(pool,
            sizeof(struct energy_buffers)),
        xcalloc(tasks_of(N), sizeof(double)) };
    double sum = 0.0;

    pool_run(pool, tasks_of(N), add_energy, &g);
    for (size_t i = 0; i < tasks_of(N); i++) /* in order: fixed bits */
        sum += g.sum[i];
    free_buffers(pool, g.room);
    free(g.sum);
    return sum;
}
