/*
 * The backward steps of one block.  First the gradients at activations, by
 * tiles of rows, as in the forward pass; then the gradients of the weights, by
 * tiles of a matrix.  dW += dY^T X takes one row of the batch after another, so
 * neither threads nor the grouping of rows changes a bit.
 */
#include "model/pass/backward_block.h"
#include "model/pass/att_gate.h"
#include "model/pass/block_adapter.h"
#include "model/pass/delta_block.h"
#include "base/profile.h"
#include "kern/kern.h"
#include "model/pass/experts_block.h"
#include "model/pass/mla_block.h"

#include <assert.h>
#include <string.h>

void
product_nn(struct run *u, const struct weight *w, size_t nb, const float *a,
    size_t lda, size_t b, size_t t0, size_t part, size_t worker, int add,
    float *c)
{
    const size_t N = w->cols, K = w->rows, n0 = part * nb;
    const size_t n = n0 + nb <= N ? nb : N - n0;
    const size_t row = b * u->c.Tp + t0;
    const size_t live = tile_live(u->r, b, t0, u->c.tile);

    for (size_t t = row + live; t < row + u->c.tile; t++)
        memset(c + t * N + n0, 0, n * sizeof *c);
    if (live == 0)
        return;
    weight_product_back(w, 0, K, n0, n, live, a + row * lda, lda, add,
        u->f->wide[worker], c + row * N + n0, N);
    low_back_input(u, (size_t)(w - u->b->w), b, t0, n0, n, worker, c);
}

/* From dy, the gradient at the residual stream, compute `out`, the gradient at
 * the output of o or down: backward through the family's factor and, if the
 * block has one, the norm, whose input begins at kept[at].  Without norm and
 * factor `out` may be dy. */
static void
through_added(const struct config *c, const float *norm, const float *dy,
    const float *kept, size_t at, float *out, float *rstd, size_t token)
{
    const float by = factor_of(c->residual_scale);

    if (by != 1.0f) {
        memcpy(out, dy, c->d * sizeof *out);
        kern.scale(out, by, c->d);
        dy = out;
    }
    if (norm != NULL)
        rstd[token] = kern.rmsnorm_bwd(out, dy, kept + at, norm, c->d,
            (float)c->eps, NULL);
    else if (out != dy)
        memcpy(out, dy, c->d * sizeof *out);
}

/* dx = res + the gradient of x, the input of a norm of the residual stream.
 * dy: the gradient of the norm's output.  norm NULL: there is no norm, and x is
 * not read. */
static void
through_norm(const struct config *c, const float *norm, const float *dy,
    const float *x, const float *res, float *dx, float *rstd)
{
    if (norm != NULL)
        *rstd = kern.rmsnorm_bwd(dx, dy, x, norm, c->d, (float)c->eps, res);
    else
        kern.add(dx, dy, res, c->d);
}

/* dy = dx; recompute xn = norm2(x2) */
static void
do_dy(struct run *u, size_t b, size_t t0, size_t part, size_t worker)
{
    const struct config *c = &u->f->m->c;
    const size_t d = c->d;

    (void)worker;
    for (size_t t = t0 + part * CHUNK; t < t0 + (part + 1) * CHUNK; t++) {
        const size_t at = (b * u->r->T + t) * d, to = (b * u->c.Tp + t) * d;

        if (row_live(u->r, b, t)) {
            memcpy(u->g->dy + to, u->g->dx + at, d * sizeof(float));
            through_added(c, u->vec[W_NORM_MLP], u->g->dy + to, u->a.down, to,
                u->g->ddown + to, u->g->rstd_mlp, b * u->r->T + t);
        } else {
            memset(u->g->dy + to, 0, d * sizeof(float));
            memset(u->g->ddown + to, 0, d * sizeof(float));
        }
    }
    norm_chunk(u, W_NORM2, u->a.x2, u->f->xn, b, t0, part);
}

/* Columns of a part of dy w: a multiple of WEIGHT_COLS if w has to be
 * widened. */
size_t
nn_cols(const struct weight *w)
{
    const size_t n = part_cols(w->cols, w->rows);

    return weight_f32(w) != NULL
        ? n
        : (n + WEIGHT_COLS - 1) / WEIGHT_COLS * WEIGHT_COLS;
}

size_t
nn_parts(const struct weight *w)
{
    return w->rows > 0 ? (w->cols + nn_cols(w) - 1) / nn_cols(w) : 0;
}

static void
do_dact(struct run *u, size_t b, size_t t0, size_t part, size_t worker)
{
    const struct weight *w = &u->b->w[W_DOWN];

    product_nn(u, w, nn_cols(w), u->g->ddown, w->rows, b, t0, part, worker,
        GEMM_SET, u->act);
}

/* Backward through the gate of the shared expert, for the token in padded row
 * `at`: act [mlp] and the gradient there, dact, are multiplied by the gate. */
static void
shared_gate(struct run *u, size_t at, float *act, float *dact)
{
    const size_t d = u->f->m->c.d, n = u->b->mlp;
    const float s =
        expert_shared_gate(u->vec[W_SHARED_GATE], u->f->xn + at * d, d);

    u->g->dshared[at] = (float)(kern.dot(dact, act, n) * s * (1.0f - s));
    kern.scale(act, s, n);
    kern.scale(dact, s, n);
}

/* Replace gate and up by the gradients at them, and the gradient at act by
 * act. */
static void
do_dsilu(struct run *u, size_t b, size_t t0, size_t part, size_t worker)
{
    const size_t n = u->b->mlp;
    float *row = u->g->row + worker * u->g->widest;
    const int gelu = u->f->family->gemma;

    for (size_t t = t0 + part * CHUNK; t < t0 + (part + 1) * CHUNK; t++) {
        const size_t at = (b * u->c.Tp + t) * n;
        float *gate = u->a.gate + at, *up = u->a.up + at;

        (gelu ? kern.gelu_mul : kern.silu_mul)(row, gate, up, n);
        if (u->vec[W_SHARED_GATE] != NULL)
            shared_gate(u, b * u->c.Tp + t, row, u->act + at);
        (gelu ? kern.gelu_mul_bwd : kern.silu_mul_bwd)(gate, up, u->act + at,
            gate, up, n);
        memcpy(u->act + at, row, n * sizeof *row);
    }
    profile_exps("backward silu", 2.0 * (double)(CHUNK * n));
}

static void
do_dxn2(struct run *u, size_t b, size_t t0, size_t part, size_t worker)
{
    const struct weight *gate = &u->b->w[W_GATE], *up = &u->b->w[W_UP];

    product_nn(u, gate, nn_cols(gate), u->a.gate, u->b->mlp, b, t0, part,
        worker, GEMM_SET, u->g->dxn);
    product_nn(u, up, nn_cols(up), u->a.up, u->b->mlp, b, t0, part, worker,
        GEMM_ADD, u->g->dxn);
}

/* dx2 = dy + norm2's backward, or dx if there is no MLP */
static void
do_dx2(struct run *u, size_t b, size_t t0, size_t part, size_t worker)
{
    const struct config *c = &u->f->m->c;
    const size_t d = c->d;

    (void)worker;
    for (size_t t = t0 + part * CHUNK; t < t0 + (part + 1) * CHUNK; t++) {
        const size_t tok = b * u->r->T + t, to = (b * u->c.Tp + t) * d;

        if (!row_live(u->r, b, t)) {
            memset(u->g->dx2 + to, 0, d * sizeof(float));
            memset(u->g->dout + to, 0, d * sizeof(float));
            continue;
        }
        if (u->mlp)
            through_norm(c, u->vec[W_NORM2], u->g->dxn + to, u->a.x2 + tok * d,
                u->g->dy + to, u->g->dx2 + to, u->g->rstd2 + tok);
        else
            memcpy(u->g->dx2 + to, u->g->dx + tok * d, d * sizeof(float));
        through_added(c, u->vec[W_NORM_ATT], u->g->dx2 + to, u->a.o, to,
            u->g->dout + to, u->g->rstd_att, tok);
    }
}

/* do_low_...: compute the gradients at scale A x of the adapters of down, of
 * gate and up, of o, and of q, k and v. */
static void
do_low_down(struct run *u, size_t b, size_t t0, size_t part, size_t worker)
{
    (void)part, (void)worker;
    low_back_tile(u, W_DOWN, u->g->ddown, u->f->m->c.d, b, t0);
}

static void
do_low_gate_up(struct run *u, size_t b, size_t t0, size_t part, size_t worker)
{
    (void)worker;
    low_back_tile(u, W_GATE + part, part == 0 ? u->a.gate : u->a.up, u->b->mlp,
        b, t0);
}

static void
do_low_o(struct run *u, size_t b, size_t t0, size_t part, size_t worker)
{
    (void)part, (void)worker;
    low_back_tile(u, W_O, u->g->dout, u->f->m->c.d, b, t0);
}

static void
do_low_qkv(struct run *u, size_t b, size_t t0, size_t part, size_t worker)
{
    const size_t D = u->f->m->c.D, at[] = { 0, u->H * D, (u->H + u->KV) * D };

    (void)worker;
    low_back_tile(u, W_Q + part, u->g->dqkv + at[part], u->qkv, b, t0);
}

static void
do_datt(struct run *u, size_t b, size_t t0, size_t part, size_t worker)
{
    const struct weight *w = &u->b->w[u->out];

    product_nn(u, w, nn_cols(w), u->g->dout, w->rows, b, t0, part, worker,
        GEMM_SET, u->g->mla.out != NULL ? u->g->mla.out : u->g->datt);
}

static void
attend_bwd(void *ctx, size_t task, size_t worker)
{
    struct run *u = ctx;
    const struct config *c = &u->f->m->c;
    const size_t b = task / u->H, h = task % u->H, Tp = u->c.Tp;
    const size_t row = b * Tp * u->qkv, part = task * Tp * c->D;
    const struct attn a = attention_of(u, b);
    const double begin = profile_begin();
    double pairs = 0.0;

    attn_bwd(&a, h, u->g->datt + b * Tp * u->H * c->D, u->g->dqkv + row,
        u->g->dk + part, u->g->dv + part, u->f->scratch[worker]);
    if (a.sink != NULL)
        attn_sink_bwd(&a, h, u->g->datt + b * Tp * u->H * c->D,
            u->g->dsink + b * Tp * u->H);
    for (size_t qt = 0; qt < Tp / ATTN_TILE; qt++)
        pairs += attn_pairs(&a, qt);
    profile_end("backward attention", begin, 10.0 * (double)c->D * pairs, 0.0);
    profile_exps("backward attention", pairs);
}

/* Backward through the norms of one token's heads: changes dq in place.  The
 * gradients of the norms' weights need the old value, of which a copy stays in
 * dheads. */
static void
head_norms(struct run *u, size_t b, size_t t, float *dq)
{
    const struct config *c = &u->f->m->c;
    const int whole = u->f->family->whole_norms;
    const size_t D = c->D, n = u->H + u->KV, row = b * u->c.Tp + t;
    const float *raw = u->a.raw + row * n * D;
    size_t len;

    memcpy(u->g->dheads + row * n * D, dq, n * D * sizeof *dq);
    for (size_t h = 0; h < n; h += len) { /* len heads have one norm */
        len = !whole ? 1 : h < u->H ? u->H : u->KV;
        u->g->rstd_heads[(b * u->r->T + t) * n + h] =
            kern.rmsnorm_bwd(dq + h * D, dq + h * D, raw + h * D,
                u->vec[h < u->H ? W_NQ : W_NK], len * D, (float)c->eps, NULL);
    }
}

/* From the gradient of the gated outputs of heads compute the gradients of the
 * outputs and of the gates; compute the gated outputs again. */
static void
do_dgate(struct run *u, size_t b, size_t t0, size_t part, size_t worker)
{
    const size_t n = u->H * u->f->m->c.D, skip = u->qkv - n;

    (void)worker;
    for (size_t t = t0 + part * CHUNK; t < t0 + (part + 1) * CHUNK; t++) {
        const size_t at = b * u->c.Tp + t;
        const float *gate = u->a.qkv + at * u->qkv + skip;

        if (!row_live(u->r, b, t)) {
            memset(u->f->gated + at * n, 0, n * sizeof *gate);
            continue;
        }
        att_gate(u->f->gated + at * n, u->a.att + at * n, gate, n);
        att_gate_bwd(u->g->datt + at * n, u->g->dqkv + at * u->qkv + skip,
            u->a.att + at * n, gate, n);
    }
}

/* Add up the query heads' terms of dk and dv in the order of heads; then go
 * back through RoPE, the heads' norms and att_gate_apart. */
static void
do_dqkv(struct run *u, size_t b, size_t t0, size_t part, size_t worker)
{
    const struct config *c = &u->f->m->c;
    const size_t D = c->D, G = u->H / u->KV, Tp = u->c.Tp;

    for (size_t t = t0 + part * CHUNK; t < t0 + (part + 1) * CHUNK; t++) {
        float *dq = u->g->dqkv + (b * Tp + t) * u->qkv;
        float *dk = dq + u->H * D, *dv = dk + u->KV * D;

        if (!row_live(u->r, b, t)) {
            memset(dq, 0, u->qkv * sizeof *dq);
            continue;
        }
        for (size_t h = 0; h < u->H; h++) {
            const size_t from = ((b * u->H + h) * Tp + t) * D;
            float *k = dk + h / G * D, *v = dv + h / G * D;

            if (h % G == 0) {
                memcpy(k, u->g->dk + from, D * sizeof *k);
                memcpy(v, u->g->dv + from, D * sizeof *v);
            } else {
                kern.add(k, k, u->g->dk + from, D);
                kern.add(v, v, u->g->dv + from, D);
            }
        }
        turn_heads(c, u->KV, angles_at(u, b, t), position(u->f, u->r, b, t), dq,
            -1);
        if (u->a.raw != NULL)
            head_norms(u, b, t, dq);
        if (u->f->family->gated)
            att_gate_join(dq, u->H, D, 2 * u->KV * D, u->f->scratch[worker]);
    }
}

/* Compute xn1, the input of Q, K and V, again. */
static void
do_xn1(struct run *u, size_t b, size_t t0, size_t part, size_t worker)
{
    (void)worker;
    norm_chunk(u, W_NORM1, u->x, u->g->xn1, b, t0, part);
}

/* The matrix by whose columns the products of dq, dk and dv with Q, K and V are
 * cut into parts, all three alike: one that has to be widened if there is one,
 * else Q. */
static const struct weight *
qkv_cut(const struct run *u)
{
    const struct weight *w = u->b->w;

    for (int k = u->in; k < u->in + u->nin; k++)
        if (weight_f32(&w[k]) == NULL)
            return &w[k];
    return &w[u->in];
}

static void
do_dxn1(struct run *u, size_t b, size_t t0, size_t part, size_t worker)
{
    const float *dy = u->g->dqkv;

    for (int k = u->in; k < u->in + u->nin; k++) {
        const struct weight *w = &u->b->w[k];

        product_nn(u, w, nn_cols(qkv_cut(u)), dy, u->qkv, b, t0, part, worker,
            k == u->in ? GEMM_SET : GEMM_ADD, u->g->dxn1);
        dy += w->rows;
    }
}

/* dx = dx2 + norm1's backward, or dx2 if there is no attention */
static void
do_dx(struct run *u, size_t b, size_t t0, size_t part, size_t worker)
{
    const struct config *c = &u->f->m->c;
    const size_t d = c->d;

    (void)worker;
    for (size_t t = t0 + part * CHUNK; t < t0 + (part + 1) * CHUNK; t++) {
        const size_t tok = b * u->r->T + t, to = (b * u->c.Tp + t) * d;

        if (row_live(u->r, b, t) && !u->attn)
            memcpy(u->g->dx + tok * d, u->g->dx2 + to, d * sizeof(float));
        else if (row_live(u->r, b, t))
            through_norm(c, u->vec[W_NORM1], u->g->dxn1 + to, u->x + tok * d,
                u->g->dx2 + to, u->g->dx + tok * d, u->g->rstd1 + tok);
        else if (t < u->r->T)
            memset(u->g->dx + tok * d, 0, d * sizeof(float));
    }
}

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

struct dwjob {
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
dw_put(struct dwjob *j, struct dw w)
{
    w.mb = w.a ? w.M : dw_block(w.M);
    w.nb = dw_block(w.N);
    w.first = j->matrices;
    w.nm = (w.M + w.mb - 1) / w.mb;
    w.nn = (w.N + w.nb - 1) / w.nb;
    j->matrices += w.nm * w.nn;
    j->w[j->n++] = w;
}

/* Add to the job the gradient of matrix k, or of the A and B of its adapter. */
static void
dw_add(struct dwjob *j, int k, const float *dy, size_t lddy, const float *x,
    size_t ldx)
{
    const struct weight *w = &j->u->b->w[k];
    struct group *g = j->u->g->group;
    float *at = g->g + g->at[k];

    if (w->rows == 0 || (j->u->g->frozen && w->low == NULL) ||
        (g->frozen & W_BIT(k)))
        return;
    if (!j->u->g->frozen) {
        dw_put(j,
            (struct dw){ .g = at,
                .dy = dy,
                .x = x,
                .M = w->rows,
                .N = w->cols,
                .lddy = lddy,
                .ldx = ldx });
        return;
    }
    dw_put(j,
        (struct dw){ .g = at,
            .x = x,
            .M = w->low->rank,
            .N = w->cols,
            .ldx = ldx,
            .a = 1,
            .k = (size_t)k });
    /* weight_grads relies on the entry of B following that of A */
    dw_put(j,
        (struct dw){ .g = at + w->low->rank * w->cols,
            .dy = dy,
            .x = low_rows(j->u, (size_t)k, 0),
            .M = w->rows,
            .N = w->low->rank,
            .lddy = lddy,
            .ldx = low_width(j->u->b) });
}

static void
matrix_put(void *ctx, int k, const float *dy, size_t lddy, const float *x,
    size_t ldx)
{
    dw_add(ctx, k, dy, lddy, x, ldx);
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
                else
                    kern.axmul(sum, v->rstd[tok * v->ldr + h], x + h * v->n,
                        dy + h * v->n, n);
            }
        }
        kern.add(v->g + c0, v->g + c0, sum, n);
    }
}

size_t
vec_grad_tasks(const struct vec_grad *v)
{
    return (v->n + VEC_COLS - 1) / VEC_COLS;
}

static void
vector_task(const struct dwjob *j, size_t task)
{
    const struct vec_grad *v = j->v;

    while (task >= vec_grad_tasks(v))
        task -= vec_grad_tasks(v++);
    vec_grad_add(v, j->u->r, task);
}

/* Add the gradient of the block's vector t to the job.  how: its members except
 * g, n and dy_rows, which are set here. */
static void
vec_add(struct dwjob *j, int t, struct vec_grad how)
{
    struct group *g = j->u->g->group;

    how.g = g->g + g->at[t];
    how.n = j->u->b->w[t].cols;
    how.dy_rows = j->u->c.Tp;
    j->v[j->nv++] = how;
}

static void
vec_put(void *ctx, int t, struct vec_grad how)
{
    vec_add(ctx, t, how);
}

/* Add to the job the gradient of the weight of norm t of the residual stream.
 * rstd: 1/rms of each token; x: the norm's input (x_rows rows a sequence); dy:
 * the gradient at its output. */
static void
add_norm(struct dwjob *j, int t, const float *rstd, const float *x,
    size_t x_rows, const float *dy)
{
    const size_t d = j->u->f->m->c.d;

    vec_add(j, t,
        (struct vec_grad){ .heads = 1,
            .rstd = rstd,
            .ldr = 1,
            .x = x,
            .x_rows = x_rows,
            .ldx = d,
            .dy = dy,
            .lddy = d });
}

/* Add the gradients of the biases of Q, K and V, of the sinks and of the heads'
 * norms to the job. */
static void
head_vectors(struct dwjob *j)
{
    const struct run *u = j->u;
    const struct grads *g = u->g;
    const int whole = u->f->family->whole_norms;
    const size_t D = u->f->m->c.D, q = u->H * D;
    const size_t n = u->H + u->KV, bias[] = { 0, q, n * D };

    for (int k = 0; u->vec[W_BQ] != NULL && k < 3; k++)
        vec_add(j, W_BQ + k,
            (struct vec_grad){ .heads = 1,
                .x = g->dqkv,
                .dy = g->dqkv + bias[k],
                .lddy = u->qkv });
    if (u->vec[W_SINKS] != NULL)
        vec_add(j, W_SINKS,
            (struct vec_grad){ .heads = 1,
                .x = g->dsink,
                .dy = g->dsink,
                .lddy = u->H });
    for (int k = 0; u->vec[W_NQ] != NULL && k < 2; k++)
        vec_add(j, W_NQ + k,
            (struct vec_grad){ .heads = whole ? 1
                    : k                       ? u->KV
                                              : u->H,
                .rstd = g->rstd_heads + (k ? u->H : 0),
                .ldr = n,
                .x = u->a.raw + (k ? q : 0),
                .x_rows = u->c.Tp,
                .ldx = n * D,
                .dy = g->dheads + (k ? q : 0),
                .lddy = n * D });
}

static void
add_vectors(struct dwjob *j)
{
    const struct run *u = j->u;
    const struct grads *g = u->g;
    const size_t T = u->r->T, Tp = u->c.Tp;

    if (u->attn && u->vec[W_NORM1] != NULL)
        add_norm(j, W_NORM1, g->rstd1, u->x, T, g->dxn1);
    if (u->mlp && u->vec[W_NORM2] != NULL)
        add_norm(j, W_NORM2, g->rstd2, u->a.x2, T, g->dxn);
    if (u->attn && u->vec[W_BO] != NULL)
        vec_add(j, W_BO,
            (struct vec_grad){ .heads = 1,
                .x = g->dout,
                .dy = g->dout,
                .lddy = u->f->m->c.d });
    if (u->vec[W_ROUTER_BIAS] != NULL)
        vec_add(j, W_ROUTER_BIAS,
            (struct vec_grad){ .heads = 1,
                .x = g->dz,
                .dy = g->dz,
                .lddy = u->b->experts });
    if (u->vec[W_NORM_ATT] != NULL)
        add_norm(j, W_NORM_ATT, g->rstd_att, u->a.o, Tp, g->dx2);
    if (u->vec[W_NORM_MLP] != NULL)
        add_norm(j, W_NORM_MLP, g->rstd_mlp, u->a.down, Tp, g->dy);
    if (u->b->linear)
        delta_vectors(u, vec_put, j);
    else
        head_vectors(j);
    if (u->attn && config_has_mla(&u->f->m->c))
        mla_vectors(u, vec_put, j);
}

static void
dw_task(void *ctx, size_t task, size_t worker)
{
    const struct dwjob *j = ctx;
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

/* Compute all weight gradients of the block as one list of tasks. */
static void
weight_grads(struct run *u)
{
    const struct config *c = &u->f->m->c;
    const struct grads *g = u->g;
    const size_t mlp = u->b->mlp;
    struct dwjob j = { .u = u };
    size_t tasks = 0, at = 0;

    if (u->b->experts > 0)
        dw_add(&j, W_ROUTER, g->dz, u->b->experts, u->f->xn, c->d);
    if (u->vec[W_SHARED_GATE] != NULL)
        dw_add(&j, W_SHARED_GATE, g->dshared, 1, u->f->xn, c->d);
    if (mlp > 0) {
        dw_add(&j, W_DOWN, g->ddown, c->d, u->act, mlp);
        dw_add(&j, W_GATE, u->a.gate, mlp, u->f->xn, c->d);
        dw_add(&j, W_UP, u->a.up, mlp, u->f->xn, c->d);
    }
    if (u->attn) {
        dw_add(&j, u->out, g->dout, c->d, u->mixed, u->b->w[u->out].cols);
        for (int k = u->in; k < u->in + u->nin; k++) {
            dw_add(&j, k, g->dqkv + at, u->qkv, g->xn1, c->d);
            at += u->b->w[k].rows;
        }
        if (config_has_mla(c))
            mla_matrices(u, matrix_put, &j);
    }
    if (!u->g->frozen)
        add_vectors(&j);
    for (size_t i = 0; i < j.nv; i++)
        tasks += vec_grad_tasks(&j.v[i]);
    pool_run(u->f->pool, j.matrices + tasks, dw_task, &j);
    for (size_t i = 0; i < j.n; i++)
        if (j.w[i].a)
            magnitude_grad(u, &j.w[i], &j.w[i + 1]);
}

/* Run attention backward: from datt to dqkv, dk, dv. */
static void
attention_backward(struct run *u)
{
    const struct stage gate = { do_dgate, u->c.tile / CHUNK, "backward gate", 0,
        5 * u->H * u->f->m->c.D };

    if (u->f->family->gated)
        run_stages(u, &gate, 1);
    if (config_has_mla(&u->f->m->c)) {
        mla_block_outputs(u);
        mla_block_outputs_back(u);
    }
    pool_run(u->f->pool, u->r->B * u->H, attend_bwd, u);
}

void
block_backward(struct run *u)
{
    const size_t chunks = u->c.tile / CHUNK;
    const struct weight *w = u->b->w;
    const size_t d = u->f->m->c.d, q = w[u->out].cols, n = u->b->mlp;
    const size_t low = low_width(u->b) > 0;
    const struct stage mlp[] = { { do_dy, chunks, "backward copy, norm2 again",
                                     0, 4 * d },
        { do_low_down, low, "backward adapters", 0, d },
        { do_dact, nn_parts(&w[W_DOWN]), "backward down", 2 * d * n, 0 },
        { do_dsilu, chunks, "backward silu", 0, 6 * n },
        { do_low_gate_up, 2 * low, "backward adapters", 0, 2 * n },
        { do_dxn2, nn_parts(&w[W_GATE]), "backward gate, up", 4 * d * n, 0 },
        { do_dx2, chunks, "backward norm2", 0, 4 * d },
        { do_low_o, low, "backward adapters", 0, d },
        { do_datt, nn_parts(&w[u->out]), "backward o", 2 * d * q, 0 } };
    const struct stage att[] = { { do_dqkv, u->b->linear ? 0 : chunks,
                                     "backward rope", 0, 3 * u->qkv },
        { do_xn1, chunks, "backward norm1 again", 0, 2 * d },
        { do_low_qkv, 3 * low, "backward adapters", 0, u->qkv },
        { do_dxn1, nn_parts(qkv_cut(u)), "backward qkv", 2 * d * u->qkv, 0 },
        { do_dx, chunks, "backward norm1", 0, 4 * d } };
    /* skip the stages of an MLP or attention that the block does not have */
    size_t from = u->mlp ? 0 : 6;
    const size_t end = u->attn ? 9 : 7;
    const int latent = u->attn && config_has_mla(&u->f->m->c);

    if (u->b->experts > 0) {
        run_stages(u, mlp, n > 0 ? 6 : 1);
        experts_block_backward(u);
        from = 6;
    }
    run_stages(u, mlp + from, end - from);
    u->mixed = u->f->family->gated ? u->f->gated
        : latent                   ? u->mla.out
                                   : u->a.att;
    if (u->b->linear)
        delta_block_backward(u);
    else if (u->attn)
        attention_backward(u);
    run_stages(u, u->attn ? att : att + 4, !u->attn ? 1 : latent ? 2 : 5);
    if (latent) {
        mla_block_backward(u);
        run_stages(u, att + 4, 1);
    }
    weight_grads(u);
    if (u->b->linear)
        delta_conv_grad(u);
}
