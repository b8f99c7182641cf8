/* The steps of one block, forward; see forward_block.h. */
#include "model/pass/forward_block.h"
#include "base/profile.h"
#include "kern/kern.h"
#include "model/pass/experts_block.h"
#include "model/pass/angles.h"
#include "model/pass/att_gate.h"
#include "model/pass/delta_block.h"
#include "model/pass/mla_block.h"
#include "model/pass/block_adapter.h"

#include <assert.h>
#include <string.h>

struct stages {
    struct run *u;
    const struct stage *s;
    size_t n;
};

static void
tile_at(const struct run *u, size_t tile, size_t *b, size_t *t0)
{
    *b = tile / u->tiles;
    *t0 = (u->tile0 + tile % u->tiles) * u->c.tile;
}

static void
stage_done(const struct stage *s, double begin, double rows)
{
    profile_end(s->name, begin, rows * (double)s->flop,
        rows * 4.0 * (double)s->floats);
}

static void
whole_tile(void *ctx, size_t tile, size_t worker)
{
    const struct stages *j = ctx;
    size_t b, t0;

    tile_at(j->u, tile, &b, &t0);
    for (size_t i = 0; i < j->n; i++) {
        const double t = profile_begin();

        for (size_t p = 0; p < j->s[i].nparts; p++)
            j->s[i].fn(j->u, b, t0, p, worker);
        stage_done(&j->s[i], t, (double)j->u->c.tile);
    }
}

static void
one_part(void *ctx, size_t task, size_t worker)
{
    const struct stages *j = ctx;
    const double t = profile_begin();
    size_t b, t0;

    tile_at(j->u, task / j->s->nparts, &b, &t0);
    j->s->fn(j->u, b, t0, task % j->s->nparts, worker);
    stage_done(j->s, t, (double)j->u->c.tile / (double)j->s->nparts);
}

void
run_stages(struct run *u, const struct stage *s, size_t n)
{
    const size_t tiles = u->r->B * u->tiles, threads = pool_size(u->f->pool);
    struct stages j = { u, s, n };

    if (tiles % threads == 0 || tiles >= 4 * threads) {
        pool_run(u->f->pool, tiles, whole_tile, &j);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        j.s = s + i;
        pool_run(u->f->pool, tiles * s[i].nparts, one_part, &j);
    }
}

void
product_nt(struct run *u, const struct weight *w, const float *a, size_t b,
    size_t t0, size_t part, size_t worker, float *c, size_t ldc)
{
    const size_t nb = part_cols(w->rows, w->cols), n0 = part * nb;
    const size_t n = n0 + nb <= w->rows ? nb : w->rows - n0;
    const size_t row = b * u->c.Tp + t0;
    const size_t live = tile_live(u->r, b, t0, u->c.tile);

    for (size_t t = row + live; t < row + u->c.tile; t++)
        memset(c + t * ldc + n0, 0, n * sizeof *c);
    if (live == 0)
        return;
    weight_product(w, n0, n, live, a + row * w->cols, u->f->wide[worker],
        c + row * ldc + n0, ldc);
    if (w->low != NULL)
        low_up(w->low, low_rows(u, (size_t)(w - u->b->w), row), low_width(u->b),
            u->c.tile, n0, n, c + row * ldc + n0, ldc);
}

static void
do_low_qkv(struct run *u, size_t b, size_t t0, size_t part, size_t worker)
{
    low_tile(u, W_Q + part, u->f->xn, b, t0, worker);
}

static void
do_low_o(struct run *u, size_t b, size_t t0, size_t part, size_t worker)
{
    (void)part;
    low_tile(u, W_O, u->mixed, b, t0, worker);
}

static void
do_low_gate_up(struct run *u, size_t b, size_t t0, size_t part, size_t worker)
{
    low_tile(u, W_GATE + part, u->f->xn, b, t0, worker);
}

static void
do_low_down(struct run *u, size_t b, size_t t0, size_t part, size_t worker)
{
    (void)part;
    low_tile(u, W_DOWN, u->act, b, t0, worker);
}

static size_t
nt_parts(const struct weight *w)
{
    return part_count(w->rows, w->cols);
}

void
norm_row(const struct config *c, const float *norm, const float *x, float *y)
{
    if (norm != NULL)
        kern.rmsnorm(y, x, norm, c->d, (float)c->eps);
    else
        memcpy(y, x, c->d * sizeof *y);
}

void
norm_chunk(const struct run *u, int norm, const float *x, float *y, size_t b,
    size_t t0, size_t part)
{
    const struct config *c = &u->f->m->c;
    const size_t d = c->d;

    for (size_t t = t0 + part * CHUNK; t < t0 + (part + 1) * CHUNK; t++) {
        float *to = y + (b * u->c.Tp + t) * d;

        if (row_live(u->r, b, t))
            norm_row(c, u->vec[norm], x + (b * u->r->T + t) * d, to);
        else
            memset(to, 0, d * sizeof *to);
    }
}

/* xn = norm1(x) */
static void
do_norm1(struct run *u, size_t b, size_t t0, size_t part, size_t worker)
{
    (void)worker;
    norm_chunk(u, W_NORM1, u->x, u->f->xn, b, t0, part);
}

static void
do_qkv(struct run *u, size_t b, size_t t0, size_t part, size_t worker)
{
    float *out = u->a.qkv;

    for (int k = u->in; k < u->in + u->nin; k++) {
        const struct weight *w = &u->b->w[k];

        if (part < nt_parts(w)) {
            product_nt(u, w, u->f->xn, b, t0, part, worker, out, u->qkv);
            return;
        }
        part -= nt_parts(w);
        out += w->rows;
    }
}

/* Apply the norms of Q and K: of each head, or of all heads as one vector. */
static void
norm_heads(const struct config *c, size_t groups, const float *const *vec,
    float *qkv)
{
    const int whole = family_of(c)->whole_norms;
    const size_t H = query_heads(c, groups), n = whole ? 2 : H + groups;
    float *x = qkv;

    for (size_t i = 0; i < n; i++) {
        const int q = i < (whole ? 1 : H);
        const size_t len = (!whole ? 1 : q ? H : groups) * c->D;

        kern.rmsnorm(x, x, vec[q ? W_NQ : W_NK], len, (float)c->eps);
        x += len;
    }
}

void
turn_heads(const struct config *c, size_t groups, const float *cs,
    size_t position, float *qkv, int dir)
{
    const size_t H = query_heads(c, groups), rotary = config_rotary(c);
    const float by = angles_query(c, position);

    for (size_t h = 0; cs != NULL && h < H + groups; h++)
        kern.rope(qkv + h * c->D, cs, rotary, dir);
    if (by != 1.0f)
        kern.scale(qkv, by, H * c->D);
}

void
finish_qkv(const struct config *c, size_t groups, const float *const *vec,
    const float *cs, size_t position, float *qkv, float *raw, float *room)
{
    const size_t D = c->D, kv = groups * D, H = query_heads(c, groups);
    float *k = qkv + H * D;

    if (family_of(c)->gated)
        att_gate_apart(qkv, H, D, 2 * kv, room);
    if (vec[W_BQ] != NULL) {
        kern.add(qkv, qkv, vec[W_BQ], H * D);
        kern.add(k, k, vec[W_BK], kv);
        kern.add(k + kv, k + kv, vec[W_BV], kv);
    }
    if (raw != NULL)
        memcpy(raw, qkv, (H + groups) * D * sizeof *raw);
    if (vec[W_NQ] != NULL)
        norm_heads(c, groups, vec, qkv);
    turn_heads(c, groups, cs, position, qkv, 1);
}

size_t
position(const struct fwd *f, const struct rows *r, size_t b, size_t t)
{
    const size_t k = b * r->T + t;

    return t - r->first[k] + (f->stem != NULL ? f->nstem[k] : 0);
}

const float *
angles_at(const struct run *u, size_t b, size_t t)
{
    const size_t rotary = config_rotary(&u->f->m->c);

    return u->cs_piece != NULL ? u->cs_piece + (b * u->r->T + t) * rotary
        : u->cs != NULL        ? u->cs + position(u->f, u->r, b, t) * rotary
                               : NULL;
}

static void
do_rope(struct run *u, size_t b, size_t t0, size_t part, size_t worker)
{
    const struct config *c = &u->f->m->c;
    const size_t qk = (u->H + u->KV) * c->D;

    for (size_t t = t0 + part * CHUNK; t < t0 + (part + 1) * CHUNK; t++) {
        const size_t at = b * u->c.Tp + t;

        if (row_live(u->r, b, t))
            finish_qkv(c, u->KV, u->vec, angles_at(u, b, t),
                position(u->f, u->r, b, t), u->a.qkv + at * u->qkv,
                u->a.raw != NULL ? u->a.raw + at * qk : NULL,
                u->f->scratch[worker]);
        else if (u->a.raw != NULL)
            memset(u->a.raw + at * qk, 0, qk * sizeof(float));
    }
}

static void
do_o(struct run *u, size_t b, size_t t0, size_t part, size_t worker)
{
    product_nt(u, &u->b->w[u->out], u->mixed, b, t0, part, worker,
        u->a.o != NULL ? u->a.o : u->f->out, u->f->m->c.d);
}

/* The row to add to the residual stream, for row `at` of padded arrays: the
 * product's output, with vector `bias` added (-1: none), normed if the block
 * has a norm after it, and multiplied by the family's factor. */
static const float *
added(struct run *u, int norm, int bias, const float *kept, size_t at)
{
    const struct config *c = &u->f->m->c;
    const float by = factor_of(c->residual_scale);
    float *out = u->f->out + at * c->d;

    if (bias >= 0 && u->vec[bias] != NULL)
        kern.add(out, out, u->vec[bias], c->d);
    if (u->vec[norm] != NULL)
        kern.rmsnorm(out, kept != NULL ? kept + at * c->d : out, u->vec[norm],
            c->d, (float)c->eps);
    if (by != 1.0f)
        kern.scale(out, by, c->d);
    return out;
}

/* x2 = x + out if there is attention; xn = norm2(x2) if there is an MLP */
static void
do_norm2(struct run *u, size_t b, size_t t0, size_t part, size_t worker)
{
    const struct config *c = &u->f->m->c;
    const size_t d = c->d;

    (void)worker;
    for (size_t t = t0 + part * CHUNK; t < t0 + (part + 1) * CHUNK; t++) {
        const size_t at = (b * u->r->T + t) * d, to = (b * u->c.Tp + t) * d;

        if (row_live(u->r, b, t)) {
            if (u->attn)
                kern.add(u->a.x2 + at, u->x + at,
                    added(u, W_NORM_ATT, W_BO, u->a.o, b * u->c.Tp + t), d);
            else if (u->a.x2 != u->x)
                memcpy(u->a.x2 + at, u->x + at, d * sizeof(float));
            if (u->mlp)
                norm_row(c, u->vec[W_NORM2], u->a.x2 + at, u->f->xn + to);
        } else {
            memset(u->f->xn + to, 0, d * sizeof(float));
            if (t < u->r->T)
                memset(u->a.x2 + at, 0, d * sizeof(float));
        }
    }
}

static void
do_gate_up(struct run *u, size_t b, size_t t0, size_t part, size_t worker)
{
    const struct weight *w = &u->b->w[part % 2 == 0 ? W_GATE : W_UP];

    product_nt(u, w, u->f->xn, b, t0, part / 2, worker,
        part % 2 == 0 ? u->a.gate : u->a.up, u->b->mlp);
}

static void
do_silu(struct run *u, size_t b, size_t t0, size_t part, size_t worker)
{
    const size_t n = u->b->mlp;

    (void)worker;
    for (size_t t = t0 + part * CHUNK; t < t0 + (part + 1) * CHUNK; t++) {
        const size_t at = (b * u->c.Tp + t) * n;

        (u->f->family->gemma ? kern.gelu_mul : kern.silu_mul)(u->act + at,
            u->a.gate + at, u->a.up + at, n);
        if (u->scale != NULL)
            kern.mul(u->act + at, u->scale, n);
    }
    profile_exps("forward silu", (double)(CHUNK * n));
}

static void
do_down(struct run *u, size_t b, size_t t0, size_t part, size_t worker)
{
    product_nt(u, &u->b->w[W_DOWN], u->act, b, t0, part, worker,
        u->a.down != NULL ? u->a.down : u->f->out, u->f->m->c.d);
}

static void
do_output(struct run *u, size_t b, size_t t0, size_t part, size_t worker)
{
    const size_t d = u->f->m->c.d;

    (void)worker;
    for (size_t t = t0 + part * CHUNK; t < t0 + (part + 1) * CHUNK; t++) {
        const size_t at = (b * u->r->T + t) * d;

        if (row_live(u->r, b, t))
            kern.add(u->y + at, u->a.x2 + at,
                added(u, W_NORM_MLP, -1, u->a.down, b * u->c.Tp + t), d);
        else if (t < u->r->T)
            memset(u->y + at, 0, d * sizeof *u->y);
    }
}

struct attn
attention_of(const struct run *u, size_t b)
{
    const struct config *c = &u->f->m->c;
    const size_t q = u->H * c->D, kv = u->KV * c->D, row = b * u->c.Tp;
    const size_t at = b * u->r->T;
    const float *p = u->a.qkv + row * u->qkv;

    return (struct attn){ u->r->T, u->c.Tp, u->H, u->KV, c->D, u->qkv, q, p,
        p + q, p + q + kv, u->first + at, u->a.att + row * q,
        u->a.lse + row * u->H, attn_scale(c),
        u->stem != NULL ? u->stem + at : NULL,
        u->stem != NULL ? u->nstem + at : NULL, (float)c->attn_cap,
        u->vec[W_SINKS] };
}

/* Multiply the outputs of a group's heads for a tile of queries by `by`.  0
 * gives zeros even for NaN: the outputs were not computed. */
static void
scale_group(const struct attn *a, size_t kvh, size_t qt, float by)
{
    const size_t n = a->H / a->KV * a->D;

    for (size_t t = qt * ATTN_TILE; t < (qt + 1) * ATTN_TILE; t++) {
        float *out = a->out + t * a->ldo + kvh * n;

        if (by == 0.0f)
            memset(out, 0, n * sizeof *out);
        else
            kern.scale(out, by, n);
    }
}

static void
attend(void *ctx, size_t task, size_t worker)
{
    struct run *u = ctx;
    const size_t end = (u->tile0 + u->tiles) * u->c.tile / ATTN_TILE;
    const size_t per = u->KV * u->r->B;
    const size_t b = task % per / u->KV, qt = end - 1 - task / per;
    const size_t g = task % u->KV;
    const double t = profile_begin();
    const struct attn a = attention_of(u, b);

    /* the last queries, which attend to the most tokens, come first, so that no
     * thread ends with them */
    if (u->group == NULL || u->group[g] != 0.0f)
        attn_fwd(&a, g, qt, u->f->scratch[worker]);
    if (u->group != NULL)
        scale_group(&a, g, qt, u->group[g]);
    profile_end("forward attention", t,
        4.0 * (double)(a.H / a.KV * a.D) * attn_pairs(&a, qt), 0.0);
    profile_exps("forward attention",
        (double)(a.H / a.KV) * attn_pairs(&a, qt));
}

/* Cut the stem of token t of row b to its tokens within the window. */
static void
cut_stem(struct fwd *f, const struct rows *r, size_t b, size_t t, size_t window)
{
    const size_t k = b * r->T + t, end = position(f, r, b, t) + 1;
    const size_t out = end > window ? end - window : 0, n = f->nstem[k];

    f->cut_nstem[k] = (uint32_t)(out < n ? n - out : 0);
    f->cut_stem[k] = f->stem[k] + (uint32_t)n - f->cut_nstem[k];
}

/* Set which tokens of its piece and its stem each token attends to: those
 * within the window. */
static void
attends(struct run *u, size_t window)
{
    const struct rows *r = u->r;
    struct fwd *f = u->f;

    u->first = r->first;
    u->stem = f->stem;
    u->nstem = f->nstem;
    if (window == 0 || window >= r->T)
        return;
    for (size_t k = 0; k < r->B * r->T; k++) {
        const size_t t = k % r->T;
        const uint32_t back = t >= window ? (uint32_t)(t - window + 1) : 0;

        f->first[k] = r->first[k] > back ? r->first[k] : back;
        if (f->stem != NULL && r->first[k] != UINT32_MAX)
            cut_stem(f, r, k / r->T, t, window);
    }
    u->first = f->first;
    if (f->stem != NULL) {
        u->stem = f->cut_stem;
        u->nstem = f->cut_nstem;
    }
}

/* Fill cs_piece: the angles of each piece by its length, which includes that of
 * its stem.  The stem itself has the angles of a text that ends with it. */
static void
piece_angles(const struct fwd *f, const struct rows *r)
{
    const struct config *c = &f->m->c;
    size_t end;

    for (size_t k = 0; k < r->B * r->T; k = end) {
        const size_t t = k % r->T, left = r->T - t;
        const size_t from =
            f->stem != NULL && r->first[k] != UINT32_MAX ? f->nstem[k] : 0;

        for (end = k + 1; end < k + left && r->first[end] == r->first[k]; end++)
            ;
        if (r->first[k] != UINT32_MAX)
            angles_text(c, from + end - k, from, end - k,
                f->cs_piece + k * config_rotary(c));
    }
}

/* Set the angles of block i. */
static void
set_angles(struct run *u, size_t i)
{
    const struct fwd *f = u->f;
    const struct config *c = &f->m->c;
    const int local = config_window(c, i) > 0 && c->theta_local > 0;

    if (!config_rope(c, i))
        return;
    u->cs = local ? f->cs_local : f->cs;
    if (!local && f->cs_piece != NULL && u->r->T > angles_short(c)) {
        piece_angles(f, u->r);
        u->cs_piece = f->cs_piece;
    }
}

void
run_init(struct run *u, struct fwd *f, size_t i, const struct rows *r)
{
    const struct block_shape shape = block_shape(&f->m->block[i]);

    assert(i < f->m->c.L && r->B <= f->B && r->T <= f->T);
    memset(u, 0, sizeof *u);
    u->f = f;
    u->r = r;
    u->c = cut_of(r->T);
    u->tile0 = u->c.n * f->rank / f->ranks;
    u->tiles = u->c.n * (f->rank + 1) / f->ranks - u->tile0;
    u->b = &f->m->block[i];
    u->KV = u->b->groups;
    u->H = query_heads(&f->m->c, u->KV);
    u->qkv = raw_width(&f->m->c, &shape);
    u->in = u->b->linear ? W_DELTA_MIX : W_Q;
    u->nin = u->b->linear ? 4 : 3;
    u->out = u->b->linear ? W_DELTA_OUT : W_O;
    attends(u, config_window(&f->m->c, i));
    set_angles(u, i);
    u->vec = f->vec + i * W_N;
    u->act = f->act;
    u->mla = f->mla;
    u->attn = u->KV > 0 || u->b->linear;
    u->mlp = u->b->mlp + u->b->experts > 0;
}

/* Call the tap, if there is one, with a product's input x [B,Tp,n]. */
static void
show_input(const struct run *u, enum fwd_input input, const float *x, size_t n,
    const float *stream)
{
    const struct fwd_tapped t = { (size_t)(u->b - u->f->m->block), input, u->r,
        u->c.Tp, n, n, x, stream };

    if (u->f->tap != NULL)
        u->f->tap(u->f->tap_ctx, &t);
}

/* Get the keys and values of other ranks' tiles.  In a row of qkv they follow
 * the queries. */
static void
share_context(struct run *u)
{
    struct fwd *f = u->f;
    const size_t n = 2 * u->KV * f->m->c.D, skip = u->qkv - n;
    const size_t t0 = u->tile0 * u->c.tile, t1 = t0 + u->tiles * u->c.tile;

    for (size_t r = 0; r <= f->ranks; r++)
        f->context_at[r] = u->c.n * r / f->ranks * u->c.tile * n;
    for (size_t b = 0; b < u->r->B; b++) {
        float *row = u->a.qkv + b * u->c.Tp * u->qkv + skip;

        for (size_t t = t0; t < t1; t++)
            memcpy(f->context + t * n, row + t * u->qkv, n * sizeof *row);
        f->gather(f->gather_ctx, f->context, f->context_at);
        for (size_t t = 0; t < u->c.Tp; t++)
            if (t < t0 || t >= t1)
                memcpy(row + t * u->qkv, f->context + t * n, n * sizeof *row);
    }
}

/* Multiply the outputs of heads by their gates. */
static void
do_att_gate(struct run *u, size_t b, size_t t0, size_t part, size_t worker)
{
    const size_t n = u->H * u->f->m->c.D, skip = u->qkv - n;

    (void)worker;
    for (size_t t = t0 + part * CHUNK; t < t0 + (part + 1) * CHUNK; t++) {
        const size_t at = b * u->c.Tp + t;

        if (row_live(u->r, b, t))
            att_gate(u->f->gated + at * n, u->a.att + at * n,
                u->a.qkv + at * u->qkv + skip, n);
        else
            memset(u->f->gated + at * n, 0, n * sizeof(float));
    }
}

static size_t
in_parts(const struct run *u)
{
    size_t n = 0;

    for (int k = u->in; k < u->in + u->nin; k++)
        n += nt_parts(&u->b->w[k]);
    return n;
}

/* Run the stages from norm1 to the outputs of heads. */
static void
heads(struct run *u)
{
    const struct config *c = &u->f->m->c;
    const size_t chunks = u->c.tile / CHUNK, d = c->d;
    const size_t low = low_width(u->b);
    const struct stage s[] = { { do_norm1, chunks, "forward norm1", 0, 2 * d },
        { do_low_qkv, low > 0 ? 3 : 0, "forward adapters", 0, 3 * d },
        { do_qkv, in_parts(u), "forward qkv", 2 * d * u->qkv, 0 },
        { do_rope, chunks, "forward rope", 0, 2 * (u->H + u->KV) * c->D } };
    const struct stage gate = { do_att_gate, chunks, "forward gate", 0,
        3 * u->H * c->D };

    const int latent = config_has_mla(c);

    u->mixed = u->f->family->gated ? u->f->gated
        : latent                   ? u->mla.out
                                   : u->a.att;
    run_stages(u, s, latent ? 1 : u->b->linear ? 3 : 4);
    if (latent)
        mla_block_heads(u);
    if (u->b->linear) {
        delta_block_forward(u);
        return;
    }
    show_input(u, FWD_ATTN, u->f->xn, d, u->x);
    if (u->f->gather != NULL)
        share_context(u);
    pool_run(u->f->pool, u->r->B * u->KV * (u->tiles * u->c.tile / ATTN_TILE),
        attend, u);
    if (u->f->family->gated)
        run_stages(u, &gate, 1);
    if (latent)
        mla_block_outputs(u);
    show_input(u, FWD_O, u->mixed, u->H * mla_value(c), u->x);
}

/* Run a share's part of a block; `after`: the stages after attention.  A share
 * without heads in this block, or without channels, adds zero to the sum over
 * shares. */
static void
share_forward(struct run *u, const struct stage *after)
{
    const size_t n = u->r->B * u->c.Tp * u->f->m->c.d;
    float *out = u->f->out;

    u->attn = u->vec[W_NORM1] != NULL || u->vec[W_NORM_ATT] != NULL;
    u->mlp = u->vec[W_NORM2] != NULL || u->vec[W_NORM_MLP] != NULL;
    if (u->KV > 0) {
        heads(u);
        run_stages(u, after, 2);
    } else {
        memset(out, 0, n * sizeof *out);
    }
    if (u->attn)
        u->f->sum(u->f->sum_ctx, out, n);
    run_stages(u, after + 2, u->b->mlp > 0 ? 6 : 1);
    if (!u->mlp)
        return;
    if (u->b->mlp == 0)
        memset(out, 0, n * sizeof *out);
    u->f->sum(u->f->sum_ctx, out, n);
    run_stages(u, after + 8, 1);
}

void
block_forward(struct run *u)
{
    const struct config *c = &u->f->m->c;
    const struct weight *w = u->b->w;
    const size_t chunks = u->c.tile / CHUNK, d = c->d, mlp = u->b->mlp;
    const size_t low = low_width(u->b) > 0;
    const struct stage after[] = { { do_low_o, low, "forward adapters", 0,
                                       u->H * c->D },
        { do_o, nt_parts(&w[u->out]), "forward o", 2 * d * w[u->out].cols, 0 },
        { do_norm2, chunks, "forward add, norm2", 0, 4 * d },
        { do_low_gate_up, 2 * low, "forward adapters", 0, 2 * d },
        { do_gate_up, 2 * nt_parts(&w[W_GATE]), "forward gate, up", 4 * d * mlp,
            0 },
        { do_silu, chunks, "forward silu", 0, 3 * mlp },
        { do_low_down, low, "forward adapters", 0, mlp },
        { do_down, nt_parts(&w[W_DOWN]), "forward down", 2 * d * mlp, 0 },
        { do_output, chunks, "forward add", 0, 3 * d } };
    const struct stage *s = u->attn ? after : after + 2;
    const size_t add = (size_t)(after + 3 - s);

    if (u->f->sum != NULL) {
        share_forward(u, after);
        return;
    }
    if (u->attn)
        heads(u);
    if (!u->mlp) {
        run_stages(u, s, add);
    } else if (u->b->experts > 0) {
        run_stages(u, s, add);
        show_input(u, FWD_MLP, u->f->xn, d, u->a.x2);
        if (mlp > 0)
            run_stages(u, s + add, 5);
        experts_block_forward(u);
        run_stages(u, after + 8, 1);
    } else if (u->f->tap == NULL) {
        run_stages(u, s, add + 6);
    } else {
        run_stages(u, s, add);
        show_input(u, FWD_MLP, u->f->xn, d, u->a.x2);
        run_stages(u, s + add, 5);
        show_input(u, FWD_DOWN, u->act, mlp, u->a.x2);
        run_stages(u, s + add + 5, 1);
    }
}
