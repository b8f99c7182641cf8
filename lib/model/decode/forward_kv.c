/*
 * Generation with a cache of keys and values.  A row is a token of some text;
 * KV_TILE rows make a tile.  A part of a weight is widened once for all rows of
 * a tile.
 *
 * Every number is computed as by forward_block.c: products have the order of
 * kern.gemm_nt, attention that of attn_fwd.
 */
#include "model/decode/forward_kv.h"
#include "base/profile.h"
#include "kern/int.h"
#include "kern/kern.h"
#include "model/files/adapter.h"
#include "model/pass/angles.h"
#include "model/pass/att_gate.h"
#include "model/config/delta_config.h"
#include "model/pass/forward_block.h"
#include "model/decode/kv_impl.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static float **
lay_each(struct arena *a, size_t threads, size_t floats)
{
    float **p = arena_alloc(a, threads, sizeof *p);

    for (size_t i = 0; i < threads; i++) {
        float *q = arena_alloc(a, floats, sizeof *q);

        if (p != NULL)
            p[i] = q;
    }
    return p;
}

/* Are matrices of experts packed for products in integers? */
static int
experts_packed(const struct model *m)
{
    int any = 0;

    for (size_t i = 0; i < m->c.L; i++)
        for (int t = W_EXPERT_GATE; t <= W_EXPERT_DOWN; t++)
            any |= m->block[i].w[t].ints != NULL;
    return any;
}

static void
lay_cache(struct kvcache *k, struct arena *a)
{
    const struct model *m = k->f->m;
    const struct config *c = &m->c;
    const size_t threads = pool_size(k->f->pool), mlp = model_widest(m);
    const size_t att = att_width(c, NULL),
                 text = attn_text_scratch(c->H / c->KV, c->D);
    size_t cols = c->d > att ? c->d : att;

    cols = mlp > cols ? mlp : cols;
    cols = c->mla.q_rank > cols ? c->mla.q_rank : cols;
    cols = c->mla.kv_rank > cols ? c->mla.kv_rank : cols;
    pages_lay(&k->pages, a, k->texts);
    k->n = arena_alloc(a, k->texts, sizeof *k->n);
    k->k = arena_alloc(a, kv_cache_bytes(k) / 2, 1);
    k->v = arena_alloc(a, kv_cache_bytes(k) / 2, 1);
    k->at = arena_alloc(a, c->L, sizeof *k->at);
    for (size_t i = 0, at = 0; k->at != NULL && i < c->L; i++) {
        k->at[i] = at;
        at += m->block[i].groups * k->pages.pages * KV_PAGE * c->D;
    }
    k->row = arena_alloc(a, KV_TILE, sizeof *k->row);
    k->run = arena_alloc(a, KV_TILE, sizeof *k->run);
    k->x = arena_alloc(a, KV_TILE * c->d, sizeof(float));
    k->xn = arena_alloc(a, KV_TILE * c->d, sizeof(float));
    k->out = arena_alloc(a, KV_TILE * c->d, sizeof(float));
    k->last = arena_alloc(a, k->texts * c->d, sizeof(float));
    k->qkv = arena_alloc(a, KV_TILE * raw_width(c, NULL), sizeof(float));
    k->att = arena_alloc(a, KV_TILE * att, sizeof(float));
    if (k->f->family->gated)
        k->gated = arena_alloc(a, KV_TILE * att, sizeof(float));
    mla_lay(&k->mla, c, KV_TILE, a);
    delta_kv_lay(&k->delta, m, k->texts, KV_TILE, a);
    k->span = arena_alloc(a, KV_TILE, sizeof *k->span);
    k->gate = arena_alloc(a, KV_TILE * mlp, sizeof(float));
    k->up = arena_alloc(a, KV_TILE * mlp, sizeof(float));
    experts_lay(&k->experts, c, KV_TILE, 0, a);
    if (experts_packed(m))
        experts_lay_rounded(&k->experts, a);
    k->each = arena_alloc(a, KV_TILE, sizeof *k->each);
    for (size_t i = 0; k->each != NULL && i < KV_TILE; i++)
        k->each[i] = i;
    k->low = arena_alloc(a, KV_TILE * low_widest(m), sizeof(float));
    angles_lay(c, k->longest, a, &k->cs, &k->cs_local);
    if (k->longest > angles_short(c))
        k->cs_row = arena_alloc(a, KV_TILE * config_rotary(c), sizeof(float));
    k->scratch = lay_each(a, threads, text > att ? text : att);
    k->wide = lay_each(a, threads, KV_PART * (cols + KV_PAD));
    k->rounded = arena_alloc(a, k->texts > KV_TILE ? k->texts : KV_TILE,
        int_row_bytes(cols));
}

struct kvcache *
kv_new(const struct model *m, struct pool *pool, size_t texts, size_t pages,
    size_t longest)
{
    struct kvcache *k = xcalloc(1, sizeof *k);
    struct arena plan;

    assert(texts > 0 && longest > 0 && m->fetch == NULL);
    assert(pages > 0 && pages < UINT32_MAX);
    k->f = fwd_make(m, pool, 1, 1, 0);
    k->texts = texts;
    k->longest = longest;
    k->pages.pages = pages;
    k->pages.most = kv_pages(longest);
    arena_plan(&plan);
    lay_cache(k, &plan);
    arena_init(&k->arena, plan.used);
    lay_cache(k, &k->arena);
    pages_reset(&k->pages);
    return k;
}

void
kv_free(struct kvcache *k)
{
    if (k == NULL)
        return;
    arena_release(&k->arena);
    fwd_free(k->f);
    free(k);
}

size_t
kv_cache_bytes(const struct kvcache *k)
{
    const struct model *m = k->f->m;
    size_t n = 0;

    for (size_t i = 0; i < m->c.L; i++)
        n += 2 * m->block[i].groups * m->c.D * KV_PAGE * sizeof(float);
    if (size_mul(n, k->pages.pages, &n) < 0)
        mem_exhausted("pages of keys and values");
    return n;
}

size_t
kv_bytes(const struct kvcache *k)
{
    return k->arena.cap + fwd_bytes(k->f);
}

/* ---- texts and pages ---- */

size_t
kv_pages(size_t n)
{
    return n / KV_PAGE + (n % KV_PAGE != 0);
}

size_t
kv_unused(const struct kvcache *k)
{
    return k->pages.n;
}

size_t
kv_length(const struct kvcache *k, size_t text)
{
    assert(text < k->texts);
    return k->n[text];
}

const uint32_t *
kv_table(const struct kvcache *k, size_t text)
{
    assert(text < k->texts);
    return k->pages.table + text * k->pages.most;
}

void
kv_share(struct kvcache *k, size_t text, const uint32_t *page, size_t n)
{
    assert(text < k->texts && k->n[text] == 0);
    assert(!config_has_delta(&k->f->m->c));
    pages_share(&k->pages, text, page, n);
    k->n[text] = n * KV_PAGE;
}

void
kv_cut(struct kvcache *k, size_t text, size_t n)
{
    assert(text < k->texts && n <= k->n[text]);
    assert(n == 0 || !config_has_delta(&k->f->m->c));
    pages_cut(&k->pages, text, kv_pages(n));
    k->n[text] = n;
}

void
kv_drop(struct kvcache *k, size_t text)
{
    kv_cut(k, text, 0);
}

void
kv_hold(struct kvcache *k, uint32_t page)
{
    pages_add_user(&k->pages, page);
}

void
kv_release(struct kvcache *k, uint32_t page)
{
    pages_drop_user(&k->pages, page);
}

/* Give a text a page, with values of zero: attention gives weight 0 to
 * positions that are not written yet, and 0 times what the memory held could be
 * NaN. */
static void
take_page(struct kvcache *k, size_t text)
{
    const struct model *m = k->f->m;
    const size_t size = KV_PAGE * m->c.D, pages = k->pages.pages;
    const size_t page = pages_extend(&k->pages, text);

    for (size_t i = 0; i < m->c.L; i++)
        for (size_t h = 0; h < m->block[i].groups; h++)
            memset(k->v + k->at[i] + (h * pages + page) * size, 0,
                size * sizeof *k->v);
}

/* ---- row by row ---- */

struct kv_rowjob {
    struct kvcache *k;
    const float *add;  /* weight of the norm of `out` before it is added; NULL:
                        * none */
    const float *norm; /* weight of the norm that makes xn; NULL: none */
    int sum;           /* 1: x += out; 0: xn = norm(x) */
    const float *bias; /* added to `out` first; NULL: none */
};

/* Set *t0 to the first row of a task; returns the row after its last. */
static size_t
task_rows(const struct kvcache *k, size_t task, size_t *t0)
{
    *t0 = task * KV_ROWS;
    return *t0 + KV_ROWS < k->rows ? *t0 + KV_ROWS : k->rows;
}

static void
sum_task(void *ctx, size_t task, size_t worker)
{
    const struct kv_rowjob *j = ctx;
    struct kvcache *k = j->k;
    const size_t d = k->f->m->c.d;
    const float eps = (float)k->f->m->c.eps;
    const float by = factor_of(k->f->m->c.residual_scale);
    size_t t, end = task_rows(k, task, &t);

    (void)worker;
    for (; t < end; t++) {
        float *x = k->x + t * d, *out = k->out + t * d;

        if (j->sum && j->bias != NULL)
            kern.add(out, out, j->bias, d);
        if (j->sum && j->add != NULL)
            kern.rmsnorm(out, out, j->add, d, eps);
        if (j->sum && by != 1.0f)
            kern.scale(out, by, d);
        if (j->sum)
            kern.add(x, x, out, d);
        else
            norm_row(&k->f->m->c, j->norm, x, k->xn + t * d);
    }
}

static void
by_rows(struct kvcache *k, void (*fn)(void *, size_t, size_t), void *ctx)
{
    pool_run(k->f->pool, (k->rows + KV_ROWS - 1) / KV_ROWS, fn, ctx);
}

/* ---- attention ---- */

struct attjob {
    struct kvcache *k;
    const float *const *vec; /* [W_N] the block's vectors */
    float *key, *val;        /* the block's pages */
    int rope;                /* 1: the block has RoPE */
    const float *local;      /* [longest,rotary] angles by position, in a block
                              * with a window; NULL: kv_row.cs is used */
    size_t window;           /* tokens of the block's window; 0: none */
    size_t H, KV, qkv;       /* heads of the block, width of a row of qkv */
};

/* Finish the rows' q, k and v, and copy k and v to their pages. */
static void
keep_task(void *ctx, size_t task, size_t worker)
{
    const struct attjob *j = ctx;
    struct kvcache *k = j->k;
    const struct config *c = &k->f->m->c;
    const size_t D = c->D, size = KV_PAGE * D, rotary = config_rotary(c);
    size_t t, end = task_rows(k, task, &t);

    for (; t < end; t++) {
        const size_t pos = k->row[t].pos, at = pos % KV_PAGE;
        float *q = k->qkv + t * j->qkv, *key = q + j->H * D;
        const float *cs = !j->rope ? NULL
            : j->local != NULL     ? j->local + pos * rotary
                                   : k->row[t].cs;
        size_t to = kv_table(k, k->row[t].text)[pos / KV_PAGE] * size;

        if (config_has_mla(c)) {
            mla_heads(&k->mla, c, j->H, t, q, k->scratch[worker]);
            turn_heads(c, j->KV, cs, pos, q, 1);
        } else {
            finish_qkv(c, j->KV, j->vec, cs, pos, q, NULL, k->scratch[worker]);
        }
        for (size_t h = 0; h < j->KV; h++, key += D) {
            for (size_t i = 0; i < D; i++)
                j->key[to + i * KV_PAGE + at] = key[i];
            memcpy(j->val + to + at * D, key + j->KV * D, D * sizeof *q);
            to += k->pages.pages * size;
        }
    }
}

/* Compute attention for a run of rows and the query heads that share a KV
 * head. */
static void
att_task(void *ctx, size_t task, size_t worker)
{
    const struct attjob *j = ctx;
    struct kvcache *k = j->k;
    const struct config *c = &k->f->m->c;
    const struct kv_run *r = &k->run[task / j->KV];
    const struct kv_row *row = &k->row[r->row];
    const size_t D = c->D, G = j->H / j->KV, h = task % j->KV;
    const size_t at = h * k->pages.pages * KV_PAGE * D;
    const struct attn_text a = { G, D, j->key + at, j->val + at,
        kv_table(k, row->text), j->window, attn_scale(c),
        k->qkv + r->row * j->qkv + h * G * D, j->qkv,
        k->att + r->row * j->H * D + h * G * D, j->H * D, (float)c->attn_cap,
        j->vec[W_SINKS] != NULL ? j->vec[W_SINKS] + h * G : NULL };
    const double begin = profile_begin();

    attn_text_fwd(&a, row->pos, r->n, k->scratch[worker]);
    for (size_t t = r->row; k->f->family->gated && t < r->row + r->n; t++) {
        float *out = k->att + (t * j->H + h * G) * D;

        att_gate(out, out, k->qkv + ((t + 1) * j->qkv - (j->H - h * G) * D),
            G * D);
    }
    profile_end("text attention", begin,
        4.0 * (double)(G * D * r->n) * (double)(row->pos + r->n), 0.0);
}

/* ---- a tile of rows ---- */

static void
latent_norm_task(void *ctx, size_t task, size_t worker)
{
    const struct attjob *j = ctx;
    size_t t, end = task_rows(j->k, task, &t);

    (void)worker;
    for (; t < end; t++)
        mla_norm(&j->k->mla, &j->k->f->m->c, j->vec, t);
}

static void
latent_out_task(void *ctx, size_t task, size_t worker)
{
    const struct attjob *j = ctx;
    const struct config *c = &j->k->f->m->c;
    size_t t, end = task_rows(j->k, task, &t);

    (void)worker;
    for (; t < end; t++)
        mla_outputs(&j->k->mla, c, j->H, t, j->k->att + t * j->H * c->D);
}

/* From xn compute latents, and from them queries (in k->qkv) and keys and
 * values (in k->mla.wide), which keep_task puts into the rows of k->qkv. */
static void
kv_latents(struct kvcache *k, const struct weight *w, struct attjob *att)
{
    const struct config *c = &k->f->m->c;
    const struct mla_room *m = &k->mla;
    const size_t n = k->rows, ld = mla_latent(c), wide = w[W_MLA_KVB].rows;
    const int q = c->mla.q_rank > 0;
    struct matjob from[] = { { k, &w[W_MLA_KVA], k->xn,
                                 m->latent + c->mla.q_rank, n, ld, 0, 0, NULL },
        { k, &w[q ? W_MLA_QA : W_Q], k->xn, q ? m->latent : k->qkv, n,
            q ? ld : att->qkv, 0, 0, NULL } };
    struct matjob kv = { k, &w[W_MLA_KVB], m->kv, m->wide, n, wide, 0, 0,
        NULL };
    struct matjob qs = { k, &w[W_MLA_QB], m->q, k->qkv, n, att->qkv, 0, 0,
        NULL };

    multiply_kv(k, from, 2);
    by_rows(k, latent_norm_task, att);
    multiply_kv(k, &kv, 1);
    if (q)
        multiply_kv(k, &qs, 1);
}

static void
kv_attention(struct kvcache *k, size_t i)
{
    const struct config *c = &k->f->m->c;
    const struct block *b = &k->f->m->block[i];
    const float *const *vec = k->f->vec + i * W_N;
    const size_t KV = b->groups, wide = qkv_width(c, KV), n = k->rows;
    const int local = config_window(c, i) > 0 && c->theta_local > 0;
    struct attjob att = { k, vec, k->k + k->at[i], k->v + k->at[i],
        config_rope(c, i), local ? k->cs_local : NULL, config_window(c, i),
        query_heads(c, KV), KV, wide };
    float *key = k->qkv + b->w[W_Q].rows, *val = key + KV * c->D;
    struct matjob qkv[] = { { k, &b->w[W_Q], k->xn, k->qkv, n, wide, 0, 0,
                                NULL },
        { k, &b->w[W_K], k->xn, key, n, wide, 0, 0, NULL },
        { k, &b->w[W_V], k->xn, val, n, wide, 0, 0, NULL } };
    const int latent = config_has_mla(c);
    struct matjob o = { k, &b->w[W_O], latent ? k->mla.out : k->att, k->out, n,
        c->d, 0, 0, NULL };
    struct kv_rowjob first = { k, NULL, vec[W_NORM1], 0, NULL };
    struct kv_rowjob sum = { k, vec[W_NORM_ATT], NULL, 1, vec[W_BO] };

    by_rows(k, sum_task, &first);
    if (latent)
        kv_latents(k, b->w, &att);
    else
        multiply_kv(k, qkv, 3);
    by_rows(k, keep_task, &att);
    pool_run(k->f->pool, k->runs * KV, att_task, &att);
    if (latent)
        by_rows(k, latent_out_task, &att);
    multiply_kv(k, &o, 1);
    by_rows(k, sum_task, &sum);
}

/* kv_attention for a block with the gated delta rule. */
static void
kv_delta(struct kvcache *k, size_t i)
{
    const struct config *c = &k->f->m->c;
    const struct weight *w = k->f->m->block[i].w;
    const float *const *vec = k->f->vec + i * W_N;
    const size_t n = k->rows;
    float *to = k->qkv;
    struct matjob in[4];
    struct matjob o = { k, &w[W_DELTA_OUT], k->gated, k->out, n, c->d, 0, 0,
        NULL };
    struct kv_rowjob first = { k, NULL, vec[W_NORM1], 0, NULL };
    struct kv_rowjob sum = { k, NULL, NULL, 1, NULL };

    by_rows(k, sum_task, &first);
    for (size_t j = 0; j < 4; to += in[j++].w->rows)
        in[j] = (struct matjob){ k, &w[W_DELTA_MIX + j], k->xn, to, n,
            delta_raw(c), 0, 0, NULL };
    multiply_kv(k, in, 4);
    delta_kv_block(&k->delta, k->f->pool, i, vec, k->span, k->spans, k->qkv,
        k->att, k->gated);
    multiply_kv(k, &o, 1);
    by_rows(k, sum_task, &sum);
}

/* out = the block's MLP of xn, or its shared expert's. */
static void
kv_dense(struct kvcache *k, const struct block *b)
{
    const size_t n = k->rows;
    struct matjob down = { k, &b->w[W_DOWN], k->gate, k->out, n, k->f->m->c.d,
        0, 0, NULL };
    struct matjob mlp[] = { { k, &b->w[W_GATE], k->xn, k->gate, n, b->mlp, 0, 0,
                                NULL },
        { k, &b->w[W_UP], k->xn, k->up, n, b->mlp, 0, 0, NULL } };

    kv_begin_products(k, mlp, 2);
    pool_run(k->f->pool, kv_parts(mlp), kv_mlp_task, mlp);
    multiply_kv(k, &down, 1);
}

static void
kv_mlp(struct kvcache *k, size_t i)
{
    const struct block *b = &k->f->m->block[i];
    const float *const *vec = k->f->vec + i * W_N;
    const struct expert_block experts = { b->w, vec[W_SHARED_GATE],
        vec[W_ROUTER_BIAS], vec[W_ROUTER_SHIFT], k->f->pool, k->f->wide, NULL,
        NULL, i };
    const struct expert_rows rows = { k->each, k->rows, NULL, 0 };
    struct kv_rowjob first = { k, NULL, vec[W_NORM2], 0, NULL };
    struct kv_rowjob sum = { k, vec[W_NORM_MLP], NULL, 1, NULL };

    by_rows(k, sum_task, &first);
    if (b->mlp > 0)
        kv_dense(k, b);
    if (b->experts > 0)
        experts_forward(&k->experts, &experts, &rows, k->xn, NULL, b->mlp == 0,
            k->out);
    by_rows(k, sum_task, &sum);
}

/* Run the rows of the tile through all blocks. */
static void
run_tile(struct kvcache *k)
{
    const struct model *m = k->f->m;
    const size_t d = m->c.d;

    for (size_t i = 0; i < m->c.L; i++) {
        if (m->block[i].groups > 0)
            kv_attention(k, i);
        if (m->block[i].linear)
            kv_delta(k, i);
        if (m->block[i].mlp + m->block[i].experts > 0)
            kv_mlp(k, i);
    }
    for (size_t t = 0; t < k->rows; t++) {
        const struct kv_row *r = &k->row[t];
        float *to = r->state != NULL ? r->state : r->last;

        if (to != NULL)
            kern.rmsnorm(to, k->x + t * d, k->f->norm, d, (float)m->c.eps);
        if (r->last != NULL && to != r->last)
            memcpy(r->last, to, d * sizeof *to);
    }
    k->rows = k->runs = k->spans = 0;
}

/* Return the angles of row `row`, position pos of a text of `length` tokens. */
static const float *
row_angles(const struct kvcache *k, size_t row, size_t pos, size_t length)
{
    const struct config *c = &k->f->m->c;
    const size_t rotary = config_rotary(c);

    if (length <= angles_short(c))
        return k->cs + pos * rotary;
    angles_text(c, length, pos, 1, k->cs_row + row * rotary);
    return k->cs_row + row * rotary;
}

/* Add a token as a row of the tile, with the angles of a text of `length`
 * tokens. */
static void
add_kv_row(struct kvcache *k, const struct kv_row *r, uint32_t id,
    size_t length)
{
    const struct model *m = k->f->m;
    const size_t row = k->rows++;

    if (r->pos % KV_PAGE == 0)
        take_page(k, r->text);
    k->row[row] = *r;
    k->row[row].cs = row_angles(k, row, r->pos, length);
    if (row == 0 || k->row[row - 1].text != r->text || r->pos % KV_PAGE == 0)
        k->run[k->runs++] = (struct kv_run){ row, 0 };
    k->run[k->runs - 1].n++;
    if (row == 0 || k->row[row - 1].text != r->text)
        k->span[k->spans++] = (struct delta_run){ r->text, row, 0, r->pos };
    k->span[k->spans - 1].n++;
    weight_rows(&m->embed, id, 1, k->x + row * m->c.d);
    low_embed(&m->embed, id, k->x + row * m->c.d);
    kern.scale(k->x + row * m->c.d, k->f->embed_scale, m->c.d);
}

/* Is there room for more tokens of n texts? */
static int
kv_has_room(const struct kvcache *k, const struct kv_more *t, size_t n)
{
    size_t pages = 0;

    for (size_t i = 0; i < n; i++) {
        const size_t has = kv_length(k, t[i].text);

        assert(t[i].n > 0 && t[i].length <= k->longest);
        if (t[i].n > k->longest - has)
            return 0;
        pages += kv_pages(has + t[i].n) - kv_pages(has);
    }
    return pages <= k->pages.n;
}

int
kv_feed(struct kvcache *k, const struct kv_more *t, size_t n, float *logits)
{
    const struct model *m = k->f->m;
    const size_t d = m->c.d;
    struct matjob head = { k, &m->head, k->last, logits, 0, m->c.V, 0,
        (float)m->c.final_cap, NULL };

    assert(n > 0 && n <= k->texts);
    if (!kv_has_room(k, t, n))
        return -1;
    for (size_t i = 0; i < n; i++) {
        for (size_t at = 0; at < t[i].n; at++) {
            const int last = t[i].logits && at + 1 == t[i].n;
            const struct kv_row r = { t[i].text, k->n[t[i].text]++,
                t[i].states != NULL ? t[i].states + at * d : NULL,
                last ? k->last + head.n++ * d : NULL, NULL };

            add_kv_row(k, &r, t[i].ids[at],
                t[i].length > r.pos ? t[i].length : r.pos + 1);
            if (k->rows == KV_TILE)
                run_tile(k);
        }
    }
    if (k->rows > 0)
        run_tile(k);
    if (head.n > 0)
        multiply_kv(k, &head, 1);
    return 0;
}

void
kv_head(struct kvcache *k, const float *states, size_t n, float *logits)
{
    const size_t V = k->f->m->c.V, d = k->f->m->c.d;

    for (size_t i = 0; i < n; i += KV_TILE) {
        struct matjob head = { k, &k->f->m->head, states + i * d,
            logits + i * V, n - i < KV_TILE ? n - i : KV_TILE, V, 0,
            (float)k->f->m->c.final_cap, NULL };

        multiply_kv(k, &head, 1);
    }
}
