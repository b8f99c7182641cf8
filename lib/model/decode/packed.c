/* Matrices repacked for products in integers; see packed.h. */
#include "model/decode/packed.h"
#include "base/mem.h"
#include "kern/int.h"
#include "model/config/experts_config.h"
#include "model/config/family.h"
#include "model/decode/forward_kv.h"
#include "model/pass/head.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct packed {
    const struct model *exact;
    struct model m;            /* shares all but `block` with the original */
    struct int_matrix *matrix; /* [L*W_N+1]; the last one is the head's */
    struct arena arena;        /* strips */
};

/* The type of weight w, tensor t of a block, in products in integers; QUANT_N:
 * there is no such product.  experts: number of experts of the block; no strip
 * may have rows of two experts. */
static enum kern_quant
packed_type(const struct weight *w, int t, size_t experts)
{
    const int apart = experts_apart(t);
    enum kern_quant q;

    if (w->rows < 2 || (block_is_of_experts(t) && !apart) || w->mask != NULL ||
        w->dtype < DT_Q8_0 || w->dtype > DT_MXFP4 ||
        (apart && w->rows / experts % INT_ROWS != 0))
        return QUANT_N;
    q = QUANT_Q8_0 + (w->dtype - DT_Q8_0);
    return int_has(q) ? q : QUANT_N;
}

/* Weight i of the model: those of the blocks in turn, then the head. */
static struct weight *
packed_weight(struct packed *p, size_t i)
{
    return i == p->m.c.L * W_N ? &p->m.head : &p->m.block[i / W_N].w[i % W_N];
}

static void
lay_strips(struct packed *p, struct arena *a)
{
    for (size_t i = 0; i <= p->m.c.L * W_N; i++) {
        struct weight *w = packed_weight(p, i);
        const size_t block = i / W_N;
        const enum kern_quant t = packed_type(w, (int)(i % W_N),
            block < p->m.c.L ? p->m.block[block].experts : 0);
        const size_t strips = (w->rows + INT_ROWS - 1) / INT_ROWS;
        size_t bytes;

        if (t == QUANT_N)
            continue;
        bytes = int_strip_bytes(t, w->cols);
        p->matrix[i] = (struct int_matrix){ arena_alloc(a, strips, bytes), t,
            w->rows, w->cols, bytes };
        w->ints = &p->matrix[i];
    }
}

/* Pack a strip of a weight. */
static void
pack_strip(void *ctx, size_t strip, size_t worker)
{
    const struct weight *w = ctx;
    const struct int_matrix *m = w->ints;
    const unsigned char *row[INT_ROWS] = { NULL };

    (void)worker;
    for (size_t i = 0; i < INT_ROWS && strip * INT_ROWS + i < w->rows; i++)
        row[i] = weight_row(w, strip * INT_ROWS + i);
    int_pack(m->type, m->cols, row,
        (unsigned char *)(uintptr_t)m->strips + strip * m->strip);
}

struct packed *
packed_new(const struct model *m, struct pool *pool)
{
    struct packed *p = xcalloc(1, sizeof *p);
    struct arena plan;

    assert(m->fetch == NULL);
    p->exact = m;
    p->m = *m;
    p->m.block = xreallocarray(NULL, m->c.L, sizeof *m->block);
    memcpy(p->m.block, m->block, m->c.L * sizeof *m->block);
    p->matrix = xcalloc(m->c.L * W_N + 1, sizeof *p->matrix);
    arena_plan(&plan);
    lay_strips(p, &plan);
    if (plan.used == 0) {
        packed_free(p);
        return NULL;
    }
    arena_init(&p->arena, plan.used);
    lay_strips(p, &p->arena);
    for (size_t i = 0; i <= m->c.L * W_N; i++) {
        struct weight *w = packed_weight(p, i);

        if (w->ints == NULL)
            continue;
        pool_run(pool, (w->rows + INT_ROWS - 1) / INT_ROWS, pack_strip, w);
        model_forget(m, w);
    }
    return p;
}

void
packed_free(struct packed *p)
{
    if (p == NULL)
        return;
    arena_release(&p->arena);
    free(p->m.block);
    free(p->matrix);
    free(p);
}

const struct model *
packed_model(const struct packed *p)
{
    return &p->m;
}

size_t
packed_bytes(const struct packed *p)
{
    return p->arena.used;
}

/* Compute the final states [n,d] of a text: `exact` by a forward pass, `ints`
 * by the cache k, whose products use integers. */
static void
both_states(struct fwd *f, struct kvcache *k, const uint32_t *ids, size_t n,
    float *exact, float *ints)
{
    const struct kv_more more = { .ids = ids,
        .n = n,
        .states = ints,
        .length = n };
    uint32_t *first = xcalloc(n, sizeof *first);
    const struct rows r = { 1, n, ids, first };
    int fed;

    fwd_states(f, &r, exact);
    fed = kv_feed(k, &more, 1, NULL);
    assert(fed == 0);
    free(first);
}

struct packed_error
packed_compare(const struct packed *p, struct pool *pool, const uint32_t *ids,
    size_t from, size_t n)
{
    enum { SOME = 16 }; /* predictions at a time */
    const size_t d = p->m.c.d, V = p->m.c.V;
    struct fwd *f = fwd_new(p->exact, pool, 1, n);
    struct kvcache *k = kv_new(&p->m, pool, 1, kv_pages(n), n);
    float *exact = xreallocarray(NULL, n * d, sizeof *exact);
    float *ints = xreallocarray(NULL, n * d, sizeof *ints);
    float *logits = xreallocarray(NULL, SOME * V, sizeof *logits);
    const double each = 1.0 / (double)(n - from);
    struct packed_error sum = { 0.0, 0.0, 0.0 };

    assert(from < n);
    both_states(f, k, ids, n, exact, ints);
    for (size_t i = from; i < n; i += SOME) {
        const size_t some = n - i < SOME ? n - i : SOME;
        static const uint32_t target[SOME]; /* nll_q, nll_p are not used */
        struct pair_score s[SOME];

        kv_head(k, ints + i * d, some, logits);
        head_score_logits(f, exact + i * d, logits, target, some, 1.0, s);
        for (size_t t = 0; t < some; t++) {
            sum.kl += s[t].back * each;
            sum.back += s[t].kl * each;
            sum.agree += s[t].agree * each;
        }
    }
    free(logits);
    free(ints);
    free(exact);
    kv_free(k);
    fwd_free(f);
    return sum;
}
