/*
 * Generation with a cache of keys and values.  A row is a token of some text;
 * KV_TILE rows make a tile.  A part of a weight is widened once for all rows of
 * a tile.
 *
 * Blocks are run by block_forward (pass/run.h) with the engine below: products
 * have the order of kern.gemm_nt, attention that of attn_fwd, so every number
 * is the one that a batch gets.
 */
#include "model/decode/forward_kv.h"
#include "base/profile.h"
#include "kern/int.h"
#include "kern/kern.h"
#include "model/files/adapter.h"
#include "model/pass/angles.h"
#include "model/pass/attention.h"
#include "model/config/delta_config.h"
#include "model/decode/kv_impl.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The most columns of a matrix that kv_products.c multiplies with. */
static size_t
most_cols(const struct model *m)
{
    size_t most = m->c.d;

    for (size_t i = 0; i < m->c.L; i++)
        for (int t = 0; t < W_N; t++)
            if (!block_is_vector(t) && !block_is_of_experts(t))
                raise_to(&most, m->block[i].w[t].cols);
    return most;
}

static void
lay_cache(struct kvcache *k, struct arena *a)
{
    const struct model *m = k->f->m;
    const struct config *c = &m->c;
    const size_t threads = pool_size(k->f->pool);
    const size_t cols = most_cols(m);

    pages_lay(&k->pages, a, k->texts);
    k->n = arena_alloc(a, k->texts, sizeof *k->n);
    k->k = arena_alloc(a, kv_cache_bytes(k) / 2, 1);
    k->v = arena_alloc(a, kv_cache_bytes(k) / 2, 1);
    k->at = arena_alloc(a, c->L, sizeof *k->at);
    for (size_t i = 0, at = 0; k->at != NULL && i < c->L; i++) {
        k->at[i] = at;
        at += m->block[i].groups * k->pages.pages * k->page;
    }
    k->row = arena_alloc(a, KV_TILE, sizeof *k->row);
    k->run = arena_alloc(a, KV_TILE, sizeof *k->run);
    k->x = arena_alloc(a, KV_TILE * c->d, sizeof(float));
    k->first = arena_alloc(a, KV_TILE, sizeof *k->first);
    k->last = arena_alloc(a, k->texts * c->d, sizeof(float));
    text_states_lay(&k->states, m, k->texts, a);
    k->span = arena_alloc(a, KV_TILE, sizeof *k->span);
    angles_lay(c, k->longest, a, &k->cs, &k->cs_local);
    if (k->longest > angles_short(c))
        k->cs_row = arena_alloc(a, KV_TILE * config_rotary(c), sizeof(float));
    k->scratch = lay_each(a, threads, attn_text_scratch(c->H / c->KV, c->D));
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
    k->f = fwd_make(m, pool, 1, KV_TILE, FWD_ACTS);
    k->texts = texts;
    k->longest = longest;
    k->pages.pages = pages;
    k->pages.most = kv_pages(longest);
    k->page = attn_page_bytes(m->c.D);
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
        n += 2 * m->block[i].groups * k->page;
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
    assert(k->f->m->c.conv == 0);
    pages_share(&k->pages, text, page, n);
    k->n[text] = n * KV_PAGE;
}

void
kv_cut(struct kvcache *k, size_t text, size_t n)
{
    assert(text < k->texts && n <= k->n[text]);
    assert(n == 0 || !config_has_delta(&k->f->m->c));
    assert(n == 0 || k->f->m->c.conv == 0 || k->n[text] - n <= KV_BACK);
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

/* Give a text a page whose values are zero: attention multiplies the values of
 * tokens that do not exist yet by 0, and 0 times what another text left there
 * could be NaN. */
static void
take_page(struct kvcache *k, size_t text)
{
    const struct model *m = k->f->m;
    const size_t pages = k->pages.pages;
    const size_t page = pages_extend(&k->pages, text);

    for (size_t i = 0; i < m->c.L; i++)
        for (size_t h = 0; h < m->block[i].groups; h++)
            memset(k->v + k->at[i] + (h * pages + page) * k->page, 0, k->page);
}

/* ---- the engine of a block's stages ---- */

/* Consecutive stages of rows. */
struct kv_stages {
    struct run *u;
    const struct stage *s;
    size_t n;
};

/* Pool task: the stages for KV_ROWS rows. */
static void
kv_rows_task(void *ctx, size_t task, size_t worker)
{
    const struct kv_stages *j = ctx;
    const size_t t0 = task * KV_ROWS, rows = j->u->cache->rows;
    const size_t end = t0 + KV_ROWS < rows ? t0 + KV_ROWS : rows;

    for (size_t t = t0; t < end; t++)
        for (size_t i = 0; i < j->n; i++) {
            const struct run_row r = { j->s[i].in, 0, t, t, t, 1, worker };

            j->s[i].row(j->u, &r);
        }
}

static void
kv_stage_products(struct run *u, const struct stage *s)
{
    struct kvcache *k = u->cache;
    struct matjob j[PRODUCTS];

    for (size_t i = 0; i < s->n; i++)
        j[i] = (struct matjob){ k, &u->b->w[s->p[i].k], s->p[i].x, s->p[i].y,
            k->rows, s->p[i].ldy, 0, 0, NULL };
    if (s->glu) {
        kv_begin_products(k, j, 2);
        pool_run(k->f->pool, kv_parts(j), kv_mlp_task, j);
    } else {
        multiply_kv(k, j, s->n);
    }
}

static void
kv_stages(struct run *u)
{
    const struct stage *s = u->stage, *end = s + u->nstage;
    const size_t tasks = (u->cache->rows + KV_ROWS - 1) / KV_ROWS;

    while (s < end) {
        struct kv_stages j = { u, s, 0 };

        if (s->row == NULL) {
            kv_stage_products(u, s);
            s += s->glu ? 2 : 1;
            continue;
        }
        while (s < end && s->row != NULL)
            s++;
        j.n = (size_t)(s - j.s);
        pool_run(u->f->pool, tasks, kv_rows_task, &j);
    }
    u->nstage = 0;
}

static const float *
kv_angles(const struct run *u, const struct run_row *r, size_t *position)
{
    const struct kvcache *k = u->cache;
    const struct config *c = &u->f->m->c;

    *position = k->row[r->t].pos;
    return !config_rope(c, u->i) ? NULL
        : config_window(c, u->i) > 0 && c->theta_local > 0
        ? k->cs_local + *position * config_rotary(c)
        : k->row[r->t].cs;
}

/* ---- attention ---- */

/* Copy a row's k and v to its page. */
static void
keep_row(struct run *u, const struct run_row *r)
{
    struct kvcache *k = u->cache;
    const size_t D = u->f->m->c.D, pos = k->row[r->t].pos;
    const float *key = u->a.qkv + r->at * u->qkv + u->H * D;
    size_t to =
        k->at[u->i] + kv_table(k, k->row[r->t].text)[pos / KV_PAGE] * k->page;

    for (size_t h = 0; h < u->KV; h++, key += D) {
        attn_text_put(k->k + to, k->v + to, pos % KV_PAGE, D, key,
            key + u->KV * D);
        to += k->pages.pages * k->page;
    }
}

/* Compute attention for a run of rows and the query heads that share a KV
 * head. */
static void
att_task(void *ctx, size_t task, size_t worker)
{
    const struct run *u = ctx;
    struct kvcache *k = u->cache;
    const struct config *c = &u->f->m->c;
    const struct kv_run *r = &k->run[task / u->KV];
    const struct kv_row *row = &k->row[r->row];
    const size_t D = c->D, G = u->H / u->KV, h = task % u->KV;
    const size_t at = k->at[u->i] + h * k->pages.pages * k->page;
    const struct attn_text a = { G, D, k->k + at, k->v + at,
        kv_table(k, row->text), config_window(c, u->i), attn_scale(c),
        u->a.qkv + r->row * u->qkv + h * G * D, u->qkv,
        u->a.att + r->row * u->H * D + h * G * D, u->H * D, (float)c->attn_cap,
        u->vec[W_SINKS] != NULL ? u->vec[W_SINKS] + h * G : NULL };
    const double begin = profile_begin();

    attn_text_fwd(&a, row->pos, r->n, k->scratch[worker]);
    profile_end("text attention", begin,
        4.0 * (double)(G * D * r->n) * (double)(row->pos + r->n), 0.0);
}

static void
kv_heads(struct run *u)
{
    stage_rows(u, &u->mixer, keep_row, "text cache", 0);
    run_stages(u);
    pool_run(u->f->pool, u->cache->runs * u->KV, att_task, u);
}

static void
kv_rule(struct run *u)
{
    struct kvcache *k = u->cache;

    text_states_rule(&k->states, u, k->span, k->spans);
}

static const float *
kv_before(const struct run *u, const struct run_row *r, size_t back)
{
    const struct kvcache *k = u->cache;

    return text_states_before(&k->states, u, &k->span[k->row[r->at].span],
        r->at, back);
}

static void
kv_convolved(struct run *u)
{
    text_states_keep(&u->cache->states, u, u->cache->span, u->cache->spans);
}

static const struct engine with_cache = { kv_stages, kv_heads, kv_rule,
    kv_before, kv_convolved, kv_angles };

/* ---- a tile of rows ---- */

/* Run the rows of the tile through all blocks. */
static void
run_tile(struct kvcache *k)
{
    const struct model *m = k->f->m;
    const struct rows rows = { 1, k->rows, NULL, k->first };
    const size_t d = m->c.d;
    struct run u;

    for (size_t i = 0; i < m->c.L; i++) {
        run_init(&u, k->f, i, &rows, &with_cache);
        u.cache = k;
        u.a = k->f->a;
        u.a.x2 = k->x;
        run_streams(&u, k->x, k->x);
        block_forward(&u);
    }
    for (size_t t = 0; t < k->rows; t++) {
        const struct kv_row *r = &k->row[t];
        float *to = r->state != NULL ? r->state : r->last;

        if (to != NULL)
            stream_norm(k->f, to, k->x + t * d, k->f->norm, k->f->norm_bias);
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
        k->span[k->spans++] = (struct text_run){ r->text, row, 0, r->pos };
    k->span[k->spans - 1].n++;
    k->row[row].span = k->spans - 1;
    embed_id(k->f, id, r->pos, k->x + row * m->c.d);
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
                last ? k->last + head.n++ * d : NULL, NULL, 0 };

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
