/* Attention with full queries, keys and values: the mixer of most families,
 * forward; see run.h. */
#include "model/pass/attention.h"
#include "base/profile.h"
#include "kern/attn.h"
#include "kern/kern.h"
#include "model/pass/angles.h"
#include "model/pass/mla.h"

#include <math.h>
#include <string.h>

/* ---- work space ---- */

static int
attention_has(const struct config *c, const struct block_shape *b)
{
    return b->groups > 0 && !config_has_mla(c);
}

void
heads_widths(const struct config *c, const struct block_shape *b,
    struct widths *w)
{
    const size_t H = query_heads(c, b->groups), n = H * c->D;
    const size_t kv = b->groups * c->D, gated = family_of(c)->gated ? n : 0;
    const struct attn shape = { .H = H, .KV = b->groups, .D = c->D };

    raise_to(&w->qkv, n + 2 * kv + gated);
    raise_to(&w->raw, has_qk_norm(c) ? n + kv : 0);
    raise_to(&w->att, n);
    raise_to(&w->gated, gated);
    raise_to(&w->lse, H);
    raise_to(&w->scratch, attn_scratch(&shape));
    raise_to(&w->scratch, gated > 0 || config_has_mla(c) ? n : c->D);
}

void
heads_lay(struct fwd *f, size_t rows, int parts, struct arena *a)
{
    const struct config *c = &f->m->c;
    const size_t n = f->B * f->T;
    struct heads_room *h = room_make(&f->room[ROOM_HEADS], sizeof *h);

    (void)rows;
    (void)parts;
    angles_lay(c, f->T, a, &h->cs, &h->cs_local);
    if (f->T > angles_short(c))
        h->cs_piece = arena_alloc(a, n * config_rotary(c), sizeof(float));
    if (c->window > 0) { /* some blocks have a window */
        h->first = arena_alloc(a, n, sizeof *h->first);
        h->cut_stem = arena_alloc(a, n, sizeof *h->cut_stem);
        h->cut_nstem = arena_alloc(a, n, sizeof *h->cut_nstem);
    }
}

/* ---- queries, keys and values ---- */

/* Rearrange a row: n query heads of D numbers, n gates of D, and kv numbers of
 * K and V.  The product with the weights gives [q gate | q gate | ... | K, V],
 * attention takes [q | K, V | gates].  room: n*D floats. */
static void
att_gate_apart(float *row, size_t n, size_t D, size_t kv, float *room)
{
    const size_t size = D * sizeof *row;

    for (size_t h = 0; h < n; h++) {
        memcpy(room + h * D, row + (2 * h + 1) * D, size);
        memmove(row + h * D, row + 2 * h * D, size);
    }
    memmove(row + n * D, row + 2 * n * D, kv * sizeof *row);
    memcpy(row + n * D + kv, room, n * size);
}

/* Apply the norms of Q and K: of each head, or of all heads as one vector. */
static void
norm_heads(const struct run *u, float *qkv)
{
    const struct config *c = &u->f->m->c;
    const int whole = u->f->family->whole_norms;
    const size_t n = whole ? 2 : u->H + u->KV;

    for (size_t i = 0; i < n; i++) {
        const int q = i < (whole ? 1 : u->H);
        const size_t len = (!whole ? 1 : q ? u->H : u->KV) * c->D;

        kern.rmsnorm(qkv, qkv, u->vec[q ? W_NQ : W_NK], len, (float)c->eps);
        qkv += len;
    }
}

void
apart_pairs(const float *x, float *y, size_t n)
{
    for (size_t i = 0; i < n / 2; i++) {
        y[i] = x[2 * i];
        y[i + n / 2] = x[2 * i + 1];
    }
}

void
join_pairs(const float *y, float *x, size_t n)
{
    for (size_t i = 0; i < n / 2; i++) {
        x[2 * i] = y[i];
        x[2 * i + 1] = y[i + n / 2];
    }
}

/* Turn a head.  Scores are the same in any order of a head's numbers, so those
 * of pairs stay apart until the gradients are turned back. */
static void
turn_head(const struct run *u, const struct run_row *r, float *x,
    const float *cs, int dir)
{
    const size_t n = config_rotary(&u->f->m->c);
    float *room = u->f->scratch[r->worker];
    const int pairs = u->f->family->pairs;

    if (pairs && dir > 0) {
        memcpy(room, x, n * sizeof *x);
        apart_pairs(room, x, n);
    }
    kern.rope(x, cs, n, dir);
    if (pairs && dir < 0) {
        memcpy(room, x, n * sizeof *x);
        join_pairs(room, x, n);
    }
}

void
turn_heads(const struct run *u, const struct run_row *r, float *qkv, int dir)
{
    const struct config *c = &u->f->m->c;
    size_t position;
    const float *cs = u->engine->angles(u, r, &position);
    const float by = angles_query(c, position);

    for (size_t h = 0; cs != NULL && h < u->H + u->KV; h++)
        turn_head(u, r, qkv + h * c->D, cs, dir);
    if (by != 1.0f)
        kern.scale(qkv, by, u->H * c->D);
}

/* Finish a row's q, k and v in place: move gates behind v, add biases, apply
 * norms, turn.  A copy of q and k before their norms is kept in a.raw. */
static void
finish_row(struct run *u, const struct run_row *r)
{
    const size_t D = u->f->m->c.D, q = u->H * D, kv = u->KV * D;
    float *qkv = u->a.qkv + r->at * u->qkv, *k = qkv + q;
    float *raw = u->a.raw != NULL ? u->a.raw + r->at * (q + kv) : NULL;

    if (!r->live) {
        if (raw != NULL)
            memset(raw, 0, (q + kv) * sizeof *raw);
        return;
    }
    if (u->f->family->gated)
        att_gate_apart(qkv, u->H, D, 2 * kv, u->f->scratch[r->worker]);
    if (u->vec[W_BQ] != NULL) {
        kern.add(qkv, qkv, u->vec[W_BQ], q);
        kern.add(k, k, u->vec[W_BK], kv);
        kern.add(k + kv, k + kv, u->vec[W_BV], kv);
    }
    if (raw != NULL)
        memcpy(raw, qkv, (q + kv) * sizeof *raw);
    if (u->vec[W_NQ] != NULL)
        norm_heads(u, qkv);
    turn_heads(u, r, qkv, 1);
}

/* ---- the heads, for a batch ---- */

size_t
position(const struct fwd *f, const struct rows *r, size_t b, size_t t)
{
    const size_t k = b * r->T + t;

    return t - r->first[k] + (f->stem != NULL ? f->nstem[k] : 0);
}

/* Fill cs_piece: the angles of each piece by its length, which includes that of
 * its stem.  The stem itself has the angles of a text that ends with it. */
static void
piece_angles(const struct fwd *f, const struct rows *r)
{
    const struct heads_room *h = f->room[ROOM_HEADS];
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
                h->cs_piece + k * config_rotary(c));
    }
}

/* Set the angles of the block. */
static void
set_angles(struct run *u)
{
    const struct fwd *f = u->f;
    const struct config *c = &f->m->c;
    const int local = config_window(c, u->i) > 0 && c->theta_local > 0;
    const struct heads_room *h = f->room[ROOM_HEADS];

    if (!config_rope(c, u->i))
        return;
    u->see.cs = local ? h->cs_local : h->cs;
    if (!local && h->cs_piece != NULL && u->r->T > angles_short(c)) {
        piece_angles(f, u->r);
        u->see.cs_piece = h->cs_piece;
    }
}

const float *
batch_angles(const struct run *u, const struct run_row *r, size_t *pos)
{
    const size_t rotary = config_rotary(&u->f->m->c);

    *pos = position(u->f, u->r, r->b, r->t);
    return u->see.cs_piece != NULL ? u->see.cs_piece + r->tok * rotary
        : u->see.cs != NULL        ? u->see.cs + *pos * rotary
                                   : NULL;
}

/* Cut the stem of token t of row b to its tokens within the window. */
static void
cut_stem(struct fwd *f, const struct rows *r, size_t b, size_t t, size_t window)
{
    const size_t k = b * r->T + t, end = position(f, r, b, t) + 1;
    const size_t out = end > window ? end - window : 0, n = f->nstem[k];
    struct heads_room *h = f->room[ROOM_HEADS];

    h->cut_nstem[k] = (uint32_t)(out < n ? n - out : 0);
    h->cut_stem[k] = f->stem[k] + (uint32_t)n - h->cut_nstem[k];
}

void
batch_sight(struct run *u)
{
    const struct rows *r = u->r;
    const size_t window = config_window(&u->f->m->c, u->i);
    struct fwd *f = u->f;
    struct heads_room *h = f->room[ROOM_HEADS];

    u->see.first = r->first;
    u->see.stem = f->stem;
    u->see.nstem = f->nstem;
    set_angles(u);
    if (window == 0 || window >= r->T)
        return;
    for (size_t k = 0; k < r->B * r->T; k++) {
        const size_t t = k % r->T;
        const uint32_t back = t >= window ? (uint32_t)(t - window + 1) : 0;

        h->first[k] = r->first[k] > back ? r->first[k] : back;
        if (f->stem != NULL && r->first[k] != UINT32_MAX)
            cut_stem(f, r, k / r->T, t, window);
    }
    u->see.first = h->first;
    if (f->stem != NULL) {
        u->see.stem = h->cut_stem;
        u->see.nstem = h->cut_nstem;
    }
}

float
attn_scale(const struct config *c)
{
    return config_has_mla(c)  ? mla_scale(c)
        : c->attn_scale > 0.0 ? (float)c->attn_scale
        : c->attn_scalar == 0 ? 0.0f
                              : (float)(1 / sqrt((double)c->attn_scalar));
}

struct attn
attention_of(const struct run *u, size_t b)
{
    const struct config *c = &u->f->m->c;
    const size_t q = u->H * c->D, kv = u->KV * c->D, row = b * u->c.Tp;
    const size_t at = b * u->r->T;
    const float *p = u->a.qkv + row * u->qkv;
    const struct sight *see = &u->see;

    return (struct attn){ u->r->T, u->c.Tp, u->H, u->KV, c->D, u->qkv, q, p,
        p + q, p + q + kv, see->first + at, u->a.att + row * q,
        u->a.lse + row * u->H, attn_scale(c),
        see->stem != NULL ? see->stem + at : NULL,
        see->stem != NULL ? see->nstem + at : NULL, (float)c->attn_cap,
        u->vec[W_SINKS] };
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

void
batch_heads(struct run *u)
{
    run_stages(u);
    if (u->f->gather != NULL)
        share_context(u);
    pool_run(u->f->pool, u->r->B * u->KV * (u->tiles * u->c.tile / ATTN_TILE),
        attend, u);
}

/* ---- the part ---- */

void
att_gate(float *y, const float *x, const float *gate, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] / (1.0f + expf(-gate[i]));
}

/* Multiply the outputs of heads by their gates. */
static void
gate_row(struct run *u, const struct run_row *r)
{
    const size_t n = u->H * u->f->m->c.D, skip = u->qkv - n;
    float *gated = u->f->gated + r->at * n;

    if (r->live)
        att_gate(gated, u->a.att + r->at * n, u->a.qkv + r->at * u->qkv + skip,
            n);
    else
        memset(gated, 0, n * sizeof *gated);
}

void
heads_output(struct run *u, const struct branch *in, const float *heads)
{
    const struct product o = { .k = W_O,
        .x = heads,
        .y = in->out,
        .ldy = u->f->m->c.d };

    show_input(u, in, FWD_O, heads, u->b->w[W_O].cols);
    stage_products(u, in, &o, 1, "forward o");
}

static void
attention_forward(struct run *u, const struct branch *in)
{
    const struct config *c = &u->f->m->c;
    const int gated = u->f->family->gated;
    struct product qkv[3];

    show_input(u, in, FWD_ATTN, in->xn, c->d);
    products_abreast(u, W_Q, 3, in->xn, u->a.qkv, NULL, qkv);
    stage_products(u, in, qkv, 3, "forward qkv");
    stage_rows(u, in, finish_row, "forward rope", 2 * (u->H + u->KV) * c->D);
    u->engine->heads(u);
    if (gated)
        stage_rows(u, in, gate_row, "forward gate", 3 * u->H * c->D);
    heads_output(u, in, gated ? u->f->gated : u->a.att);
}

const struct part part_attention = { attention_has, heads_widths, heads_lay,
    heads_lay_back, attention_forward, attention_backward };
