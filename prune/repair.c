/* Repairs cut layers: see repair.h. */
#include "repair.h"
#include "model/config/family.h"
#include "hess_walk.h"
#include "obs.h"
#include "base/mem.h"
#include "base/note.h"
#include "cli/die.h"
#include "cli/progress.h"
#include "kern/kern.h"
#include "model/pass/forward.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 32 }; /* rows of W in a task */

/* ---- one layer ---- */

/* Return columns cols[nc] of w [N,n] as a matrix [N,nc], malloc'd. */
static float *
gather_columns(const float *w, size_t N, size_t n, const size_t *cols,
    size_t nc)
{
    float *a = xreallocarray(NULL, N * nc > 0 ? N * nc : 1, sizeof *a);

    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < nc; k++)
            a[i * nc + k] = w[i * n + cols[k]];
    return a;
}

/* Return the elements of h [n,n] in rows rows[nr] and columns cols[nc], as a
 * matrix [nr,nc], malloc'd. */
static double *
gather_square(const double *h, size_t n, const size_t *rows, size_t nr,
    const size_t *cols, size_t nc)
{
    double *a = xreallocarray(NULL, nr * nc > 0 ? nr * nc : 1, sizeof *a);

    for (size_t i = 0; i < nr; i++)
        for (size_t k = 0; k < nc; k++)
            a[i * nc + k] = h[rows[i] * n + cols[k]];
    return a;
}

/* The indices below n that are not in keep [k]; malloc'd. */
static size_t *
cut_indices(const size_t *keep, size_t k, size_t n)
{
    size_t *gone = xcalloc(n, sizeof *gone), at = 0, m = 0;

    for (size_t i = 0; i < n; i++) {
        if (at < k && keep[at] == i)
            at++;
        else
            gone[m++] = i;
    }
    return gone;
}

struct product {
    struct factor a, b; /* [N,g] and [g,k] */
    double *c;          /* [N,k] */
    size_t N, g, k;
};

static void
multiply_rows(void *ctx, size_t task, size_t worker)
{
    const struct product *p = ctx;
    const size_t i = task * ROWS, rows = p->N - i < ROWS ? p->N - i : ROWS;
    struct factor a = p->a;
    double *c = p->c + i * p->k;

    (void)worker;
    if (a.f != NULL)
        a.f += i * a.i_step;
    else
        a.d += i * a.i_step;
    memset(c, 0, rows * p->k * sizeof *c);
    kern.gemm_double(rows, p->k, p->g, a, p->b, c, p->k);
}

static void
multiply_matrices(struct pool *pool, struct product p)
{
    pool_run(pool, (p.N + ROWS - 1) / ROWS, multiply_rows, &p);
}

/* x [N,k] = b H^-1 = (b U^T) U, for a factored Hessian h.  The part of h->a
 * below U becomes zeros, and b is overwritten. */
static void
solve_rows(struct hess *h, double *b, size_t N, double *x, struct pool *pool)
{
    const size_t k = h->n;
    const struct factor Ut = { NULL, h->a, k, 1 }, U = { NULL, h->a, 1, k };

    for (size_t i = 1; i < k; i++)
        memset(h->a + i * k, 0, i * sizeof *h->a);
    multiply_matrices(pool,
        (struct product){ { NULL, b, k, 1 }, Ut, x, N, k, k });
    memcpy(b, x, N * k * sizeof *b);
    multiply_matrices(pool,
        (struct product){ { NULL, b, k, 1 }, U, x, N, k, k });
}

/* E [N,n] = the change of w [N,n]: w itself in the cut columns, w minus `now`
 * [N,k] in the columns keep [k]. */
static void
repair_error(float *E, const float *w, size_t N, size_t n, const size_t *keep,
    size_t k, const float *now)
{
    memcpy(E, w, N * n * sizeof *E);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < k; j++)
            E[i * n + keep[j]] -= now[i * k + j];
}

static void
measure_repair(struct repaired *r, const float *w, size_t N, size_t n,
    const size_t *keep, size_t k, const double *h, const float *out,
    struct pool *pool)
{
    struct hess all = { .n = n, .a = (double *)(uintptr_t)h };
    float *E = xreallocarray(NULL, N * n, sizeof *E);
    float *old = gather_columns(w, N, n, keep, k);

    all.diag = xreallocarray(NULL, n, sizeof *all.diag);
    for (size_t i = 0; i < n; i++)
        all.diag[i] = h[i * n + i];
    r->whole = layer_energy(w, N, &all, pool);
    repair_error(E, w, N, n, keep, k, old);
    r->cut = layer_energy(E, N, &all, pool);
    repair_error(E, w, N, n, keep, k, out);
    r->repaired = layer_energy(E, N, &all, pool);
    free(all.diag);
    free(old);
    free(E);
}

int
layer_repair(const float *w, size_t N, size_t n, const size_t *keep, size_t k,
    const double *h, double damp, struct pool *pool, const char *name,
    float *out, struct repaired *r, struct err *e)
{
    size_t *gone = cut_indices(keep, k, n);
    float *wg = gather_columns(w, N, n, gone, n - k);
    double *hgk = gather_square(h, n, gone, n - k, keep, k);
    double *b = xreallocarray(NULL, N * k, sizeof *b);
    double *x = xreallocarray(NULL, N * k, sizeof *x);
    struct hess kept;
    int result;

    result =
        hess_init(&kept, gather_square(h, n, keep, k, keep, k), k, name, e);
    if (result < 0)
        goto done;
    if ((result = hess_factor(&kept, damp, name, e)) == 0) {
        multiply_matrices(pool,
            (struct product){ { wg, NULL, n - k, 1 }, { NULL, hgk, 1, k }, b, N,
                n - k, k });
        solve_rows(&kept, b, N, x, pool);
        for (size_t i = 0; i < N; i++)
            for (size_t j = 0; j < k; j++)
                out[i * k + j] = (float)(x[i * k + j] + w[i * n + keep[j]]);
        measure_repair(r, w, N, n, keep, k, h, out, pool);
        r->damp = kept.damp;
        if (!isfinite(r->repaired))
            result = err_set(e, EX_NUM, "%s: its error is not finite", name);
    }
    hess_release(&kept);
done:
    free(x);
    free(b);
    free(wg);
    free(hgk);
    free(gone);
    return result;
}

/* ---- a cut model ---- */

/* Does a block lose some of its groups?  If it loses all, its attention is
 * dropped, and nothing is left to repair. */
static int
lost_groups(const struct choice_block *b)
{
    return b->group != NULL && b->ngroups > 0;
}

static int
lost_channels(const struct choice_block *b)
{
    return b->chan != NULL && b->nchan > 0;
}

int
repair_wanted(const struct choice *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (lost_groups(&c->b[i]) || lost_channels(&c->b[i]))
            return 1;
    return 0;
}

static char *
repaired_name(size_t block, enum fwd_input input)
{
    return xasprintf("block %zu, %s", block, input == FWD_O ? "o" : "down");
}

/* Repair the layer that reads `input` in block i of the cut model. */
static void
repair_input(struct repair *r, size_t i, enum fwd_input input, const double *h)
{
    const struct choice_block *b = &r->c->b[i];
    const int t = input == FWD_O ? W_O : W_DOWN;
    const struct weight *from = &r->m->block[b->block].w[t];
    struct weight *to = &r->small->block[i].w[t];
    size_t *cols = input == FWD_O ? cut_columns(r->m, b) : b->chan;
    struct repaired *sum = input == FWD_O ? &r->o : &r->down, one;
    float *w = xreallocarray(NULL, from->rows * from->cols, sizeof *w);
    char *name = repaired_name(b->block, input);
    double share;
    struct err e;

    weight_rows(from, 0, from->rows, w);
    model_forget(r->m, from);
    if (layer_repair(w, from->rows, from->cols, cols, to->cols, h, r->damp,
            r->pool, name, (float *)(uintptr_t)to->data, &one, &e) < 0)
        die_err(&e);
    share = one.whole > 0.0 ? 1.0 / one.whole : 0.0;
    vnote("%s: repaired, %.3f %% of its output is missing instead of %.3f %%",
        name, 100.0 * share * one.repaired, 100.0 * share * one.cut);
    sum->whole += 1.0;
    sum->cut += share * one.cut;
    sum->repaired += share * one.repaired;
    if (input == FWD_O)
        free(cols);
    free(name);
    free(w);
}

/* ---- Hessians of a profile ---- */

/* Die if h [n,n], read from a file, is not positive definite with damping.
 * layer_repair would not notice: it factors only the part that is kept. */
static void
check_definite(const struct repair *r, const double *h, size_t n, size_t block,
    enum fwd_input input)
{
    double *copy = xreallocarray(NULL, n * n, sizeof *copy);
    char *name = repaired_name(block, input);
    struct hess all;
    struct err e;

    memcpy(copy, h, n * n * sizeof *copy);
    if (hess_init(&all, copy, n, name, &e) < 0 ||
        hess_factor(&all, r->damp, name, &e) < 0)
        die_err(&e);
    hess_release(&all);
    free(name);
}

static void
repair_by(struct repair *r, const struct profile *p, size_t i,
    enum fwd_input input)
{
    const size_t block = r->c->b[i].block, n = profile_width(p, block, input);
    struct err e;
    const float *h = profile_hessian(p, block, input, &e);
    double *wide;

    if (h == NULL)
        die_err(&e);
    wide = xreallocarray(NULL, n * n, sizeof *wide);
    for (size_t k = 0; k < n * n; k++)
        wide[k] = h[k];
    check_definite(r, wide, n, block, input);
    repair_input(r, i, input, wide);
    free(wide);
}

void
repair_profile(struct repair *r, const struct profile *p)
{
    progress_begin("repairing", (double)r->c->n, "blocks");
    for (size_t i = 0; i < r->c->n; i++) {
        const struct choice_block *b = &r->c->b[i];

        if (lost_groups(b))
            repair_by(r, p, i, FWD_O);
        if (lost_channels(b))
            repair_by(r, p, i, FWD_DOWN);
        progress_at((double)(i + 1), NULL);
    }
    progress_end();
}

/* ---- Hessians of calibration data ---- */

/* A walk through the model.  Before the output of a block is computed, the
 * block is replaced by the cut and repaired one. */
struct pass {
    struct repair *r;
    struct model work;   /* m, with a copy of its list of blocks */
    struct hess_walk on; /* walks through `work` */
};

/* Sum up the Hessian of an input of block i of the choice.  Repair the layer
 * that reads this input. */
static void
look_and_repair(struct pass *w, size_t i, enum fwd_input input)
{
    const size_t block = w->r->c->b[i].block;
    const size_t n = input_width(w->r->m, block, input);
    double *h = xcalloc(n * n, sizeof *h);

    w->on.H[input] = h;
    hess_walk_look(&w->on, block);
    w->on.H[input] = NULL;
    repair_input(w->r, i, input, h);
    free(h);
}

/* Repair block i of the choice: attention first, since the MLP reads its
 * output. */
static void
repair_block(struct pass *w, size_t i)
{
    const struct choice_block *b = &w->r->c->b[i];
    const struct block *small = &w->r->small->block[i];
    struct block *now = &w->work.block[b->block];

    if (lost_groups(b))
        look_and_repair(w, i, FWD_O);
    now->groups = small->groups;
    for (int t = 0; t < W_N; t++)
        if (block_is_attention(t))
            now->w[t] = small->w[t];
    if (lost_channels(b))
        look_and_repair(w, i, FWD_DOWN);
    *now = *small;
    if (i + 1 < w->r->c->n)
        hess_walk_on(&w->on, b->block);
}

void
repair_calib(struct repair *r, const struct calib *c)
{
    const size_t L = r->m->c.L, n = r->c->n;
    struct pass w = { .r = r, .work = *r->m };

    w.work.block = xcalloc(L, sizeof *w.work.block);
    memcpy(w.work.block, r->m->block, L * sizeof *w.work.block);
    hess_walk_init(&w.on, &w.work, c, r->pool);
    hess_walk_begin(&w.on);
    progress_begin("repairing", (double)n, "blocks");
    for (size_t i = 0; i < n; i++) {
        repair_block(&w, i);
        model_forget(r->m, NULL);
        progress_at((double)(i + 1), NULL);
    }
    progress_end();
    hess_walk_release(&w.on);
    free(w.work.block);
}

size_t
repair_bytes(const struct repair *r, const struct calib *c)
{
    size_t most = 0;

    for (size_t i = 0; i < r->c->n; i++) {
        const struct block *b = &r->m->block[r->c->b[i].block];
        const size_t o = lost_groups(&r->c->b[i]) ? b->w[W_O].cols : 0;
        const size_t down = lost_channels(&r->c->b[i]) ? b->w[W_DOWN].cols : 0;
        const size_t n = o > down ? o : down;

        most = n > most ? n : most;
    }
    /* in doubles: H, H_KK and H_GK; W and the work space of its repair */
    most = 2 * most * most + 5 * most * r->m->c.d;
    return most * sizeof(double) + hess_walk_bytes(r->m, c);
}

void
repair_note(const struct repair *r)
{
    const struct repaired *const part[] = { &r->o, &r->down };
    static const char *const name[] = { "o", "down" };

    for (int k = 0; k < 2; k++)
        if (part[k]->whole > 0.0)
            note("%s repaired in %g blocks: %.2f %% of its output is missing, "
                 "%.2f %% without",
                name[k], part[k]->whole,
                100.0 * part[k]->repaired / part[k]->whole,
                100.0 * part[k]->cut / part[k]->whole);
}
