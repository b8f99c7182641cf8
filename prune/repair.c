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

/* Measure a repair whose y is W x. */
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

/* Return the squared error of a layer that was cut but not repaired: the sum
 * over tokens of |W_K x_K - y|^2, where y [N] is the output of the whole layer
 * and x_K [k] are the inputs that are kept.  It follows from these sums over
 * tokens:
 *   kept [k,k]   of x_K x_K^T
 *   ck [N,k]     of y x_K^T
 *   energy       of |y|^2 */
static double
cut_distance(const float *wk, size_t N, const struct hess *kept,
    const double *ck, double energy, struct pool *pool)
{
    double sum = energy + layer_energy(wk, N, kept, pool);

    for (size_t i = 0; i < N * kept->n; i++)
        sum -= 2.0 * ck[i] * (double)wk[i];
    return fmax(sum, 0.0);
}

/* By how much the repair lowers cut_distance: tr(D B^T) + lambda |D|^2, with
 * B [N,k] = C_K - W_K H and the weights' change D = B (H + lambda I)^-1. */
static double
gain(const double *D, const double *B, size_t N, const struct hess *kept)
{
    const size_t k = kept->n;
    double mean = 0.0, sum = 0.0;

    for (size_t i = 0; i < k; i++)
        mean += kept->diag[i];
    mean = k > kept->dead ? mean / (double)(k - kept->dead) : 0.0;
    for (size_t i = 0; i < N * k; i++)
        sum += D[i] * B[i] + kept->damp * mean * D[i] * D[i];
    return sum;
}

/* b [N,k] = W_G H_GK */
static void
lost_outputs(double *b, const float *w, size_t N, size_t n, const size_t *keep,
    size_t k, const double *h, struct pool *pool)
{
    size_t *gone = cut_indices(keep, k, n);
    float *wg = gather_columns(w, N, n, gone, n - k);
    double *hgk = gather_square(h, n, gone, n - k, keep, k);

    multiply_matrices(pool,
        (struct product){ { wg, NULL, n - k, 1 }, { NULL, hgk, 1, k }, b, N,
            n - k, k });
    free(wg);
    free(hgk);
    free(gone);
}

/* Set ck [N,k] = C_K, and b [N,k] = C_K - W_K H_KK. */
static void
lacking_outputs(double *b, double *ck, const struct repair_aim *aim,
    const float *wk, size_t N, size_t n, const size_t *keep, size_t k,
    const double *hkk, struct pool *pool)
{
    multiply_matrices(pool,
        (struct product){ { wk, NULL, k, 1 }, { NULL, hkk, 1, k }, b, N, k,
            k });
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < k; j++) {
            ck[i * k + j] = aim->cross[i * n + keep[j]];
            b[i * k + j] = ck[i * k + j] - b[i * k + j];
        }
}

int
layer_repair(const float *w, size_t N, size_t n, const size_t *keep, size_t k,
    const double *h, const struct repair_aim *aim, double damp,
    struct pool *pool, const char *name, float *out, struct repaired *r,
    struct err *e)
{
    float *wk = gather_columns(w, N, n, keep, k);
    double *hkk = gather_square(h, n, keep, k, keep, k);
    double *b = xreallocarray(NULL, N * k, sizeof *b);
    double *x = xreallocarray(NULL, N * k, sizeof *x);
    double *ck = xreallocarray(NULL, N * k, sizeof *ck);
    struct hess kept;
    int result;

    if (aim == NULL)
        lost_outputs(b, w, N, n, keep, k, h, pool);
    else
        lacking_outputs(b, ck, aim, wk, N, n, keep, k, hkk, pool);
    if ((result = hess_init(&kept, hkk, k, name, e)) < 0)
        goto done;
    if ((result = hess_factor(&kept, damp, name, e)) == 0) {
        if (aim != NULL) {
            r->whole = aim->energy;
            r->cut = cut_distance(wk, N, &kept, ck, aim->energy, pool);
        }
        memcpy(ck, b, N * k * sizeof *ck);
        solve_rows(&kept, b, N, x, pool);
        for (size_t i = 0; i < N * k; i++)
            out[i] = (float)(x[i] + wk[i]);
        if (aim == NULL)
            measure_repair(r, w, N, n, keep, k, h, out, pool);
        else
            r->repaired = fmax(r->cut - gain(x, ck, N, &kept), 0.0);
        r->damp = kept.damp;
        if (!isfinite(r->repaired))
            result = err_set(e, EX_NUM, "%s: its error is not finite", name);
    }
    hess_release(&kept);
done:
    free(x);
    free(b);
    free(ck);
    free(wk);
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

/* Can a layer make up for what others have lost?  Not if a norm follows it. */
static int
aims(const struct model *m)
{
    return block_tensor_name(&m->c, W_NORM_ATT) == NULL;
}

/* Does the choice drop a part of block i of it, or blocks beside it? */
static int
drops(const struct model *m, const struct choice *c, size_t i)
{
    const struct choice_block *b = &c->b[i];
    const size_t next = i + 1 < c->n ? c->b[i + 1].block : m->c.L;
    const struct block *from = &m->block[b->block];

    return lost_groups(b) || lost_channels(b) || next != b->block + 1 ||
        (i == 0 && b->block > 0) || (b->ngroups == 0 && from->groups > 0) ||
        (b->nchan == 0 && from->mlp > 0);
}

/* Is down of block i to make up for a cut before or after it? */
static int
helps(const struct model *m, const struct choice *c, size_t i)
{
    const struct block *from = &m->block[c->b[i].block];
    int cut = 0;

    for (size_t k = 0; k <= i; k++)
        cut |= drops(m, c, k);
    return aims(m) && cut && c->b[i].nchan > 0 &&
        (from->sparse & W_BIT(W_DOWN)) == 0;
}

int
repair_wanted(const struct model *m, const struct choice *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (lost_groups(&c->b[i]) || lost_channels(&c->b[i]) || helps(m, c, i))
            return 1;
    return 0;
}

void
repair_release(struct repair *r)
{
    for (size_t i = 0; i < r->nmade; i++)
        free(r->made[i]);
    free(r->made);
    r->made = NULL;
    r->nmade = 0;
}

/* Weights that repair_input may write to: where layer `down` of block i keeps
 * all channels, those of the cut model are the whole model's own. */
static float *
own_weights(struct repair *r, size_t i, struct weight *to)
{
    float *out;

    if (r->c->b[i].chan != NULL)
        return (float *)(uintptr_t)to->data;
    out = xreallocarray(NULL, to->rows * to->cols, sizeof *out);
    r->made = xgrow_pow2(r->made, r->nmade, sizeof *r->made);
    r->made[r->nmade++] = out;
    *to = (struct weight){ .data = (const unsigned char *)out,
        .dtype = DT_F32,
        .rows = to->rows,
        .cols = to->cols,
        .stride = to->cols * sizeof *out };
    return out;
}

static char *
repaired_name(size_t block, enum fwd_input input)
{
    return xasprintf("block %zu, %s", block, input == FWD_O ? "o" : "down");
}

/* The columns that a layer keeps of its n inputs; malloc'd. */
static size_t *
kept_inputs(const struct model *m, const struct choice_block *b,
    enum fwd_input input, size_t n)
{
    size_t *all;

    if (input == FWD_O && b->group != NULL)
        return cut_columns(m, b);
    all = xcalloc(n, sizeof *all);
    if (input == FWD_DOWN && b->chan != NULL)
        memcpy(all, b->chan, b->nchan * sizeof *all);
    else
        for (size_t i = 0; i < n; i++)
            all[i] = i;
    return all;
}

/* Repair the layer that reads `input` in block i of the cut model. */
static void
repair_input(struct repair *r, size_t i, enum fwd_input input, const double *h,
    const struct repair_aim *aim)
{
    const struct choice_block *b = &r->c->b[i];
    const int t = input == FWD_O ? W_O : W_DOWN;
    const struct weight *from = &r->m->block[b->block].w[t];
    struct weight *to = &r->small->block[i].w[t];
    size_t *cols = kept_inputs(r->m, b, input, from->cols);
    struct repaired *sum = input == FWD_O ? &r->o : &r->down, one;
    float *w = xreallocarray(NULL, from->rows * from->cols, sizeof *w);
    float *out =
        input == FWD_O ? (float *)(uintptr_t)to->data : own_weights(r, i, to);
    char *name = repaired_name(b->block, input);
    double share;
    struct err e;

    weight_rows(from, 0, from->rows, w);
    model_forget(r->m, from);
    if (layer_repair(w, from->rows, from->cols, cols, to->cols, h, aim, r->damp,
            r->pool, name, out, &one, &e) < 0)
        die_err(&e);
    share = one.whole > 0.0 ? 1.0 / one.whole : 0.0;
    vnote("%s: repaired, %.3f %% of its output is missing instead of %.3f %%",
        name, 100.0 * share * one.repaired, 100.0 * share * one.cut);
    sum->whole += 1.0;
    sum->cut += share * one.cut;
    sum->repaired += share * one.repaired;
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
    repair_input(r, i, input, wide, NULL);
    free(wide);
}

void
repair_profile(struct repair *r, const struct profile *p)
{
    if (isnan(r->damp))
        r->damp = REPAIR_DAMP;
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

/* ---- calibration data ---- */

/* The calibration rows walk through two models at once, block by block.  `on`
 * walks through `work`, the whole model in which each block is replaced by its
 * cut and repaired version before the rows leave it.  `whole` walks through the
 * unchanged model, and is one block ahead: whole.x is the residual stream that
 * the repaired block should leave, `between` the one that it should have after
 * its attention. */
struct pass {
    struct repair *r;
    struct model work; /* m, with a copy of its list of blocks */
    struct hess_walk on, whole;
    float *between; /* [R,T,d] */
    size_t next;    /* the block that `whole` passes next */
    int aimed;      /* 0: a norm follows the layers, so y = W x */
};

/* Sum up what layer_repair needs about the layer of the choice's block i that
 * reads `input`, and repair the layer. */
static void
look_and_repair(struct pass *w, size_t i, enum fwd_input input)
{
    const size_t block = w->r->c->b[i].block;
    const size_t n = input_width(w->r->m, block, input);
    double *h = xcalloc(n * n, sizeof *h);
    double *cross = xcalloc(n * w->r->m->c.d, sizeof *cross);
    struct repair_aim aim = { .cross = cross };

    w->on.H[input] = h;
    if (w->aimed) {
        w->on.cross[input] = cross;
        w->on.energy[input] = 0.0;
        w->on.after[input] =
            input == FWD_O && w->r->small->block[i].w[W_DOWN].rows > 0
            ? w->between
            : w->whole.x;
    }
    hess_walk_look(&w->on, block);
    aim.energy = w->on.energy[input];
    w->on.H[input] = w->on.cross[input] = NULL;
    repair_input(w->r, i, input, h, w->aimed ? &aim : NULL);
    free(h);
    free(cross);
}

/* Run the whole model up to the block that the choice keeps next after its
 * block number i; after the last one, to the end. */
static void
whole_on(struct pass *w, size_t i)
{
    const struct choice *c = w->r->c;
    const size_t end = i + 1 < c->n ? c->b[i + 1].block : w->r->m->c.L;

    for (; w->aimed && w->next < end; w->next++) {
        w->whole.between = w->next == c->b[i].block ? w->between : NULL;
        hess_walk_on(&w->whole, w->next);
    }
}

/* Repair block i of the choice: attention first, since the MLP reads its
 * output. */
static void
repair_block(struct pass *w, size_t i)
{
    const struct choice_block *b = &w->r->c->b[i];
    const struct block *small = &w->r->small->block[i];
    struct block *now = &w->work.block[b->block];

    whole_on(w, i);
    if (lost_groups(b))
        look_and_repair(w, i, FWD_O);
    now->groups = small->groups;
    for (int t = 0; t < W_N; t++)
        if (block_is_attention(t))
            now->w[t] = small->w[t];
    if (lost_channels(b) || helps(w->r->m, w->r->c, i))
        look_and_repair(w, i, FWD_DOWN);
    *now = *small;
    if (i + 1 < w->r->c->n)
        hess_walk_on(&w->on, b->block);
}

void
repair_calib(struct repair *r, const struct calib *c)
{
    const size_t L = r->m->c.L, n = r->c->n, stream = c->R * c->T * r->m->c.d;
    struct pass w = { .r = r, .work = *r->m };

    if (isnan(r->damp))
        r->damp =
            REPAIR_DAMP * fmax(1.0, REPAIR_TOKENS / fmax(1.0, (double)c->ntok));
    w.aimed = aims(r->m);
    w.work.block = xcalloc(L, sizeof *w.work.block);
    memcpy(w.work.block, r->m->block, L * sizeof *w.work.block);
    hess_walk_init(&w.on, &w.work, c, r->pool);
    w.on.quick = 1;
    hess_walk_begin(&w.on);
    if (w.aimed) {
        w.between = xreallocarray(NULL, stream, sizeof *w.between);
        hess_walk_init(&w.whole, r->m, c, r->pool);
        hess_walk_begin(&w.whole);
    }
    progress_begin("repairing", (double)n, "blocks");
    for (size_t i = 0; i < n; i++) {
        repair_block(&w, i);
        model_forget(r->m, NULL);
        progress_at((double)(i + 1), NULL);
    }
    progress_end();
    hess_walk_release(&w.on);
    if (w.aimed)
        hess_walk_release(&w.whole);
    free(w.between);
    free(w.work.block);
}

size_t
repair_bytes(const struct repair *r, const struct calib *c)
{
    size_t most = 0;

    for (size_t i = 0; i < r->c->n; i++) {
        const struct block *b = &r->m->block[r->c->b[i].block];
        const size_t o = lost_groups(&r->c->b[i]) ? b->w[W_O].cols : 0;
        const size_t down = lost_channels(&r->c->b[i]) || helps(r->m, r->c, i)
            ? b->w[W_DOWN].cols
            : 0;
        const size_t n = o > down ? o : down;

        most = n > most ? n : most;
    }
    /* In doubles: H and H_KK; C, W and the work space of its repair.  The
     * streams of two walks, and the one between attention and MLP. */
    most = 2 * most * most + 6 * most * r->m->c.d;
    return most * sizeof(double) + 2 * hess_walk_bytes(r->m, c) +
        c->R * c->T * r->m->c.d * sizeof(float);
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
