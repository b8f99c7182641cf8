/*
 * The backward stages of one block.  First the gradients at activations, by
 * tiles of rows, as in the forward pass; then the gradients of the weights, by
 * tiles of a matrix.  dW += dY^T X takes one row of the batch after another, so
 * neither threads nor the grouping of rows changes a bit.
 */
#include "model/pass/backward_block.h"
#include "base/profile.h"
#include "kern/kern.h"
#include "model/pass/block_adapter.h"

#include <assert.h>
#include <string.h>

/* ---- products ---- */

/* Columns of a part of dy w: a multiple of WEIGHT_COLS if w has to be
 * widened. */
static size_t
nn_cols(const struct weight *w)
{
    const size_t n = part_cols(w->cols, w->rows);

    return weight_f32(w) != NULL
        ? n
        : (n + WEIGHT_COLS - 1) / WEIGHT_COLS * WEIGHT_COLS;
}

/* The number of products from p on, of at most n, that add up to one dx. */
static size_t
sum_of(const struct product *p, size_t n)
{
    size_t i = 1;

    while (i < n && p[i].dx == p->dx)
        i++;
    return i;
}

/* Columns of a part of n products that add up, which are cut alike: by one
 * that has to be widened if there is one, else by the first. */
static size_t
sum_cols(const struct run *u, const struct product *p, size_t n)
{
    const struct weight *w = u->b->w;

    for (size_t i = 0; i < n; i++)
        if (weight_f32(&w[p[i].k]) == NULL)
            return nn_cols(&w[p[i].k]);
    return nn_cols(&w[p->k]);
}

static size_t
sum_parts(const struct run *u, const struct product *p, size_t n)
{
    const size_t nb = sum_cols(u, p, n);

    return (u->b->w[p->k].cols + nb - 1) / nb;
}

/* Compute columns n0..n0+n-1 of dx = y w for the rows of a tile; add: dx += y
 * w. */
static void
multiply_back(struct run *u, const struct product *p, size_t n0, size_t n,
    const struct run_spot *at, int add)
{
    const struct weight *w = &u->b->w[p->k];
    const size_t row = at->b * u->c.Tp + at->t0, N = w->cols;
    const size_t live = tile_live(u->r, at->b, at->t0, u->c.tile);

    for (size_t t = row + live; t < row + u->c.tile; t++)
        memset(p->dx + t * N + n0, 0, n * sizeof *p->dx);
    if (live == 0)
        return;
    if (panels_have(u->f, u->i, PANELS_BACK, p->k)) {
        const struct kern_packed to = panels_factor(u->f, u->i, PANELS_BACK,
            p->k, n0, n, p->dx + row * N + n0, N);

        kern.gemm_packed(live, w->rows, p->y + row * p->ldy, p->ldy, &to, 1,
            add);
    } else {
        weight_product_back(w, 0, w->rows, n0, n, live, p->y + row * p->ldy,
            p->ldy, add, u->f->wide[at->worker], p->dx + row * N + n0, N);
    }
    low_back_input(u, (size_t)p->k, at->b, at->t0, n0, n, at->worker, p->dx);
}

static void
multiply_tile_back(struct run *u, const struct stage *s,
    const struct run_spot *at)
{
    const struct product *p = s->p;
    size_t part = at->part, n = sum_of(p, s->n), nb, n0, N;

    while (part >= sum_parts(u, p, n)) {
        part -= sum_parts(u, p, n);
        p += n;
        n = sum_of(p, (size_t)(s->p + s->n - p));
    }
    nb = sum_cols(u, p, n);
    n0 = part * nb;
    N = u->b->w[p->k].cols;
    for (size_t i = 0; i < n; i++)
        multiply_back(u, p + i, n0, n0 + nb <= N ? nb : N - n0, at,
            i == 0 ? GEMM_SET : GEMM_ADD);
}

/* Compute a tile's products, each in all columns, if their matrices have
 * panels. */
static int
multiply_whole_back(struct run *u, const struct stage *s,
    const struct run_spot *at)
{
    for (size_t i = 0; i < s->n; i++)
        if (!panels_have(u->f, u->i, PANELS_BACK, s->p[i].k))
            return 0;
    for (size_t i = 0; i < s->n; i++)
        multiply_back(u, &s->p[i], 0, u->b->w[s->p[i].k].cols, at,
            i > 0 && s->p[i].dx == s->p[i - 1].dx ? GEMM_ADD : GEMM_SET);
    return 1;
}

static void
low_products_back(struct run *u, const struct stage *s,
    const struct run_spot *at)
{
    const struct product *p = &s->p[at->part];

    low_back_tile(u, (size_t)p->k, p->y, p->ldy, at->b, at->t0);
}

void
stage_back(struct run *u, const struct branch *in, const struct product *p,
    size_t n, const char *name)
{
    struct stage *s = stage_matrices(u, in, p, n, low_products_back, name);

    s->part = multiply_tile_back;
    s->whole = multiply_whole_back;
    for (size_t i = 0; i < n; i++)
        sum_matrix(u, p[i].k, p[i].y, p[i].ldy, p[i].x);
    for (size_t i = 0; i < n; i += sum_of(p + i, n - i))
        s->parts += sum_parts(u, p + i, sum_of(p + i, n - i));
}

/* ---- gradients of weights ---- */

/* Gradient of one matrix [M,N]: dy [.,M] with lddy, x [.,N] with ldx.  a 1: the
 * matrix is A of matrix k's adapter; x is the adapter's input, dy is not
 * used. */
struct dw {
    float *g;
    const float *dy, *x;
    size_t M, N, lddy, ldx;
    size_t mb, nb; /* rows and columns of a tile of g */
    size_t first;  /* number of the first task */
    size_t nm, nn; /* tiles along the rows, and along the columns, of g */
    int a;
    size_t k;
};

enum { DW_MAX = 576 };

struct grad_list {
    struct run *u;
    struct dw w[2 * W_N];
    size_t n;        /* entries of w */
    size_t matrices; /* tasks of matrices; the tasks of vectors follow */
    struct vec_grad v[W_N];
    size_t nv;
};

static size_t
dw_block(size_t n)
{
    const size_t parts = (n + DW_MAX - 1) / DW_MAX;

    return ((n + parts - 1) / parts + 15) / 16 * 16;
}

static void
dw_put(struct grad_list *j, struct dw w)
{
    w.mb = w.a ? w.M : dw_block(w.M);
    w.nb = dw_block(w.N);
    w.first = j->matrices;
    w.nm = (w.M + w.mb - 1) / w.mb;
    w.nn = (w.N + w.nb - 1) / w.nb;
    j->matrices += w.nm * w.nn;
    j->w[j->n++] = w;
}

void
sum_matrix(struct run *u, int k, const float *dy, size_t lddy, const float *x)
{
    const struct weight *w = &u->b->w[k];
    const struct group *g = u->g->group;
    float *at = g->g + g->at[k];

    if ((u->g->frozen && w->low == NULL) || (g->frozen & W_BIT(k)))
        return;
    if (!u->g->frozen) {
        dw_put(u->sums,
            (struct dw){ .g = at,
                .dy = dy,
                .x = x,
                .M = w->rows,
                .N = w->cols,
                .lddy = lddy,
                .ldx = w->cols });
        return;
    }
    dw_put(u->sums,
        (struct dw){ .g = at,
            .x = x,
            .M = w->low->rank,
            .N = w->cols,
            .ldx = w->cols,
            .a = 1,
            .k = (size_t)k });
    /* weight_grads relies on the entry of B following that of A */
    dw_put(u->sums,
        (struct dw){ .g = at + w->low->rank * w->cols,
            .dy = dy,
            .x = low_rows(u, (size_t)k, 0),
            .M = w->rows,
            .N = w->low->rank,
            .lddy = lddy,
            .ldx = low_width(u->b) });
}

/* sum [n] += rstd * (x - mean) * dy, the gradient of LayerNorm's weight */
static void
add_centred(float *sum, float rstd, float mean, const float *x, const float *dy,
    size_t n)
{
    float less[VEC_COLS];

    for (size_t i = 0; i < n; i++)
        less[i] = x[i] - mean;
    kern.axmul(sum, rstd, less, dy, n);
}

void
vec_grad_add(const struct vec_grad *v, const struct rows *r, size_t task)
{
    const size_t c0 = task * VEC_COLS;
    const size_t n = v->n - c0 < VEC_COLS ? v->n - c0 : VEC_COLS;
    float sum[VEC_COLS];

    for (size_t b = 0; b < r->B; b++) {
        memset(sum, 0, sizeof sum);
        for (size_t t = 0; t < r->T; t++) {
            const size_t tok = b * r->T + t;
            const float *x = v->x + (b * v->x_rows + t) * v->ldx + c0;
            const float *dy = v->dy + (b * v->dy_rows + t) * v->lddy + c0;

            if (!row_live(r, b, t))
                continue;
            for (size_t h = 0; h < v->heads; h++) {
                if (v->rstd == NULL)
                    kern.add(sum, sum, dy + h * v->n, n);
                else if (v->mean != NULL)
                    add_centred(sum, v->rstd[tok * v->ldr + h], v->mean[tok],
                        x + h * v->n, dy + h * v->n, n);
                else
                    kern.axmul(sum, v->rstd[tok * v->ldr + h], x + h * v->n,
                        dy + h * v->n, n);
            }
        }
        kern.add(v->g + c0, v->g + c0, sum, n);
    }
}

static size_t
vec_grad_tasks(const struct vec_grad *v)
{
    return (v->n + VEC_COLS - 1) / VEC_COLS;
}

void
sum_vector(struct run *u, int t, struct vec_grad how)
{
    struct group *g = u->g->group;

    if (u->g->frozen)
        return;
    how.g = g->g + g->at[t];
    how.n = u->b->w[t].cols;
    how.dy_rows = u->c.Tp;
    u->sums->v[u->sums->nv++] = how;
}

void
sum_bias(struct run *u, int t, const float *dy, size_t lddy)
{
    sum_vector(u, t,
        (struct vec_grad){ .heads = 1, .x = dy, .dy = dy, .lddy = lddy });
}

static void
vector_task(const struct grad_list *j, size_t task)
{
    const struct vec_grad *v = j->v;

    while (task >= vec_grad_tasks(v))
        task -= vec_grad_tasks(v++);
    vec_grad_add(v, j->u->r, task);
}

static void
dw_task(void *ctx, size_t task, size_t worker)
{
    const struct grad_list *j = ctx;
    const struct dw *w = j->w;
    const double t = profile_begin();
    size_t m0, n0, m, n;

    if (task >= j->matrices) {
        vector_task(j, task - j->matrices);
        profile_end("gradient of vectors", t, 0.0, 0.0);
        return;
    }
    while (task >= w->first + w->nm * w->nn)
        w++;
    task -= w->first;
    m0 = task / w->nn * w->mb;
    n0 = task % w->nn * w->nb;
    m = m0 + w->mb <= w->M ? w->mb : w->M - m0;
    n = n0 + w->nb <= w->N ? w->nb : w->N - n0;
    for (size_t b = 0; b < j->u->r->B && w->a; b++)
        low_grad_a(j->u, w->k, w->x, b, n0, n, worker, w->g);
    for (size_t b = 0; b < j->u->r->B && !w->a; b++)
        kern.gemm_tn(m, n, j->u->r->T, w->dy + b * j->u->c.Tp * w->lddy + m0,
            w->lddy, w->x + b * j->u->c.Tp * w->ldx + n0, w->ldx, GEMM_ADD,
            w->g + m0 * w->N + n0, w->N);
    profile_end("gradient of weights", t,
        2.0 * (double)(m * n) * (double)(j->u->r->B * j->u->r->T), 0.0);
}

/* Add the gradient of DoRA's magnitudes; a, b: the entries of its A and B. */
static void
magnitude_grad(struct run *u, const struct dw *a, const struct dw *b)
{
    const struct weight *w = &u->b->w[a->k];

    if (w->low->m != NULL)
        low_grad_m(u, a->k, a->x, b->dy, b->lddy,
            a->g + w->low->rank * (w->rows + w->cols));
}

/* Form the block's sums as one list of tasks. */
static void
weight_grads(struct grad_list *j)
{
    size_t tasks = 0;

    for (size_t i = 0; i < j->nv; i++)
        tasks += vec_grad_tasks(&j->v[i]);
    pool_run(j->u->f->pool, j->matrices + tasks, dw_task, j);
    for (size_t i = 0; i < j->n; i++)
        if (j->w[i].a)
            magnitude_grad(j->u, &j->w[i], &j->w[i + 1]);
}

/* ---- branches ---- */

float
stream_norm_bwd(const struct fwd *f, float *dx, const float *dy, const float *x,
    const float *w, const float *res, float *mean)
{
    const size_t d = f->m->c.d;
    const float eps = (float)f->m->c.eps;

    *mean = 0;
    return f->family->layer_norm
        ? kern.layernorm_bwd(dx, dy, x, w, d, eps, res, mean)
        : kern.rmsnorm_bwd(dx, dy, x, w, d, eps, res);
}

/* From the gradient at a branch's y compute that at its part's output: backward
 * through the family's factor and the norm after the part.  Compute the input
 * of the part again. */
static void
branch_out_back(struct run *u, const struct run_row *r)
{
    const struct branch *in = r->in;
    const struct config *c = &u->f->m->c;
    const size_t size = c->d * sizeof(float), at = r->at * c->d;
    const float by = factor_of(c->residual_scale), *dy = in->d.y + at;
    float *dout = in->d.out + at;

    branch_norm(u, r);
    if (!r->live) {
        memset(in->d.y + at, 0, size);
        memset(dout, 0, size);
        return;
    }
    memcpy(in->d.y + at, u->g->dx + r->tok * c->d, size);
    if (by != 1.0f) {
        memcpy(dout, dy, size);
        kern.scale(dout, by, c->d);
        dy = dout;
    }
    if (u->vec[in->after] != NULL)
        in->d.rstd_after[r->tok] = kern.rmsnorm_bwd(dout, dy, in->out + at,
            u->vec[in->after], c->d, (float)c->eps, NULL);
    else if (dout != dy)
        memcpy(dout, dy, size);
}

/* Add the gradients at the norm's output, which both branches of a parallel
 * block read. */
static void
both_norms_back(struct run *u, const struct run_row *r)
{
    const size_t d = u->f->m->c.d, at = r->at * d;

    if (r->live)
        kern.add(u->mixer.d.xn + at, u->mixer.d.xn + at, u->ffn.d.xn + at, d);
}

/* dx = the gradient at y + the gradient through the norm before the part.  In a
 * parallel block with two norms dx has the gradient at y already when the
 * mixer's follows that of the feed-forward. */
static void
branch_norm_back(struct run *u, const struct run_row *r)
{
    const struct branch *in = r->in;
    const size_t d = u->f->m->c.d, at = r->at * d;
    const float *norm = u->vec[in->norm];
    float *dx = u->g->dx + r->tok * d, mean;
    const int second = u->parallel && !u->one_norm && in == &u->mixer;
    const float *dy = second ? dx : in->d.y + at;

    if (!r->live && r->t < u->r->T)
        memset(dx, 0, d * sizeof *dx);
    else if (r->live && norm != NULL) {
        in->d.rstd[r->tok] = stream_norm_bwd(u->f, dx, in->d.xn + at,
            in->x + r->tok * d, norm, dy, &mean);
        if (in->d.mean != NULL)
            in->d.mean[r->tok] = mean;
    } else if (r->live)
        kern.add(dx, in->d.xn + at, dy, d);
}

/* Add the gradient of norm t of the residual stream: x (x_rows rows a sequence)
 * is its input, dy the gradient at its output. */
static void
sum_norm(struct run *u, int t, const float *rstd, const float *mean,
    const float *x, size_t x_rows, const float *dy)
{
    const size_t d = u->f->m->c.d;

    if (u->vec[t] != NULL)
        sum_vector(u, t,
            (struct vec_grad){ .heads = 1,
                .rstd = rstd,
                .mean = mean,
                .ldr = 1,
                .x = x,
                .x_rows = x_rows,
                .ldx = d,
                .dy = dy,
                .lddy = d });
}

/* Backward through a branch, from its y to the output of the norm before its
 * part. */
static void
branch_part_back(struct run *u, const struct branch *in)
{
    const size_t d = u->f->m->c.d;

    stage_rows(u, in, branch_out_back, "backward copy, norm again", 4 * d);
    in->part->backward(u, in);
    sum_norm(u, in->after, in->d.rstd_after, NULL, in->out, u->c.Tp, in->d.y);
    if (u->vec[in->bias] != NULL)
        sum_bias(u, in->bias, in->d.out, d);
}

/* Backward from the output of that norm to the stream that the branch reads. */
static void
branch_stream_back(struct run *u, const struct branch *in)
{
    stage_rows(u, in, branch_norm_back, "backward norm", 4 * u->f->m->c.d);
    sum_norm(u, in->norm, in->d.rstd, in->d.mean, in->x, u->r->T, in->d.xn);
    if (u->vec[in->norm_bias] != NULL)
        sum_bias(u, in->norm_bias, in->d.xn, u->f->m->c.d);
}

void
block_backward(struct run *u)
{
    struct grad_list sums = { .u = u };
    const size_t d = u->f->m->c.d;

    u->sums = &sums;
    u->mixer.d = u->g->mixer;
    u->mixer.xn = u->mixer.d.again;
    u->ffn.d = u->g->ffn;
    if (u->ffn.part != NULL)
        branch_part_back(u, &u->ffn);
    if (u->ffn.part != NULL && !u->parallel)
        branch_stream_back(u, &u->ffn);
    if (u->mixer.part != NULL)
        branch_part_back(u, &u->mixer);
    if (u->parallel && !u->one_norm)
        branch_stream_back(u, &u->ffn);
    if (u->parallel && u->one_norm)
        stage_rows(u, &u->mixer, both_norms_back, "backward add", 3 * d);
    if (u->mixer.part != NULL)
        branch_stream_back(u, &u->mixer);
    run_stages(u);
    weight_grads(&sums);
}
