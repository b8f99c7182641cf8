/* The engine: requests, steps, memory; see engine.h. */
#include "gen/engine.h"
#include "base/mem.h"
#include "gen/draft.h"
#include "gen/engine_impl.h"
#include "model/config/delta_config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Rows of logits of a step, at most. */
static size_t
logit_rows(const struct gen_limits *l)
{
    return l->texts * (l->draft != NULL ? 1 + l->guesses : 1);
}

static void
add_end_ids(struct gen_engine *g)
{
    for (size_t id = 0; id < g->V; id++)
        if (config_is_eos(&g->m->c, (int64_t)id) ||
            (g->tok != NULL && tok_is_end(g->tok, (uint32_t)id)))
            tok_ids_push(&g->end, (uint32_t)id);
}

struct gen_engine *
gen_new(const struct model *m, struct pool *pool, const struct tokenizer *tok,
    const struct gen_limits *l)
{
    const size_t V = m->c.V, pages = kv_pages(l->longest);
    const size_t rows = logit_rows(l);
    struct gen_engine *g = xcalloc(1, sizeof *g);

    assert(l->texts > 0 && l->pages > 0 && l->longest > 0 && l->slice > 0);
    g->m = m;
    g->pool = pool;
    g->tok = tok;
    g->limits = *l;
    g->limits.apart |= m->c.conv > 0;
    g->V = tok != NULL && tok_vocab(tok) < V ? tok_vocab(tok) : V;
    add_end_ids(g);
    g->kv = kv_new(m, pool, l->texts, l->pages, l->longest);
    g->prefix = prefix_new(l->pages);
    g->room = xreallocarray(NULL, pool_size(pool), sizeof *g->room);
    for (size_t i = 0; i < pool_size(pool); i++)
        sample_room_init(&g->room[i], V);
    if (l->vocab != NULL)
        g->mask = xreallocarray(NULL, pool_size(pool), sizeof *g->mask);
    for (size_t i = 0; l->vocab != NULL && i < pool_size(pool); i++)
        mask_room_init(&g->mask[i], l->vocab);
    g->logits = xreallocarray(NULL, rows * V, sizeof *g->logits);
    g->top = xreallocarray(NULL, rows, sizeof *g->top);
    g->more = xcalloc(l->texts, sizeof *g->more);
    g->path = xreallocarray(NULL, pages, sizeof *g->path);
    g->run = xreallocarray(NULL, l->texts, sizeof(struct gen_text *));
    g->slot = xreallocarray(NULL, l->texts, sizeof *g->slot);
    for (size_t i = 0; i < l->texts; i++)
        g->slot[g->nslot++] = l->texts - 1 - i;
    if (l->scores) {
        g->fwd = fwd_new(m, pool, 1, 1);
        g->states = xreallocarray(NULL, l->slice * m->c.d, sizeof *g->states);
        g->z = xreallocarray(NULL, GEN_SCORED * V, sizeof *g->z);
    }
    g->draft = l->draft != NULL ? draft_new(g) : NULL;
    g->stats.pages = l->pages;
    return g;
}

size_t
gen_page_bytes(const struct model *m)
{
    size_t n = 0;

    for (size_t i = 0; i < m->c.L; i++)
        n += 2 * m->block[i].groups * m->c.D * sizeof(float);
    return n * KV_PAGE;
}

size_t
gen_cache_bytes(const struct gen_engine *g)
{
    return kv_cache_bytes(g->kv);
}

size_t
gen_bytes(const struct gen_engine *g)
{
    const struct gen_limits *l = &g->limits;
    const size_t V = g->m->c.V;
    size_t n = kv_bytes(g->kv) + prefix_bytes(l->pages) +
        pool_size(g->pool) * sample_room_bytes(V) +
        logit_rows(l) * (V * sizeof *g->logits + sizeof *g->top) +
        l->texts * sizeof *g->more;

    if (l->vocab != NULL)
        n += pool_size(g->pool) * mask_room_bytes(l->vocab);
    if (g->draft != NULL)
        n += draft_bytes(g);
    if (l->scores)
        n += fwd_bytes(g->fwd) +
            (l->slice * g->m->c.d + GEN_SCORED * V) * sizeof(float);
    return n;
}

static void
free_text(struct gen_text *t)
{
    tok_ids_release(&t->ids);
    tok_ids_release(&t->end);
    buf_release(&t->bytes);
    json_state_release(&t->json);
    free(t);
}

void
gen_free(struct gen_engine *g)
{
    if (g == NULL)
        return;
    for (size_t i = 0; i < g->nrun; i++)
        free_text(g->run[i]);
    for (struct gen_text *t = g->first, *next; t != NULL; t = next) {
        next = t->next;
        free_text(t);
    }
    for (size_t i = 0; i < pool_size(g->pool); i++)
        sample_room_release(&g->room[i]);
    for (size_t i = 0; g->mask != NULL && i < pool_size(g->pool); i++)
        mask_room_release(&g->mask[i]);
    free(g->room);
    free(g->mask);
    tok_ids_release(&g->end);
    kv_free(g->kv);
    prefix_free(g->prefix);
    draft_free(g->draft);
    fwd_free(g->fwd);
    free(g->logits);
    free(g->top);
    free(g->more);
    free(g->path);
    free(g->run);
    free(g->slot);
    free(g->states);
    free(g->z);
    free(g);
}

static int
check_request(const struct gen_engine *g, const struct gen_request *r,
    struct err *e)
{
    const size_t most = r->params->most, longest = g->limits.longest;

    if (r->n == 0)
        return err_set(e, EX_INPUT, "prompt: has no tokens");
    for (size_t i = 0; i < r->n; i++)
        if (r->prompt[i] >= g->V)
            return err_set(e, EX_INPUT,
                "prompt: has id %u, but the model only those below %zu",
                r->prompt[i], g->V);
    if (kv_pages(r->n + most) > g->limits.pages)
        return err_set(e, EX_INPUT,
            "max_tokens: the prompt has %zu tokens, and with %zu more they "
            "exceed the memory for keys and values, of %zu tokens: shorten "
            "it, ask for fewer, or give more memory by --cache",
            r->n, most, g->limits.pages * KV_PAGE);
    if (r->n > longest || most > longest - r->n)
        return err_set(e, EX_INPUT,
            "max_tokens: the prompt has %zu tokens, and with %zu more they "
            "exceed %zu: shorten it, or ask for fewer",
            r->n, most, longest);
    return 0;
}

struct gen_text *
gen_add(struct gen_engine *g, const struct gen_request *r, struct err *e)
{
    struct gen_text *t;

    assert(!r->score || g->limits.scores);
    assert(r->schema == NULL || g->limits.vocab != NULL);
    if (check_request(g, r, e) < 0)
        return NULL;
    t = xcalloc(1, sizeof *t);
    t->r = *r;
    t->length = r->n;
    if (r->schema != NULL)
        json_state_begin(&t->json, r->schema);
    for (size_t i = 0; i < r->n; i++)
        tok_ids_push(&t->ids, r->prompt[i]);
    for (size_t i = 0; !r->params->past_eos && i < g->end.n; i++)
        tok_ids_push(&t->end, g->end.v[i]);
    for (size_t i = 0; i < r->params->nend; i++)
        tok_ids_push(&t->end, r->params->end[i]);
    *(g->last != NULL ? &g->last->next : &g->first) = t;
    g->last = t;
    g->stats.waiting++;
    return t;
}

void
gen_cancel(struct gen_engine *g, struct gen_text *t)
{
    (void)g;
    t->cancelled = 1;
}

static void
end_text(struct gen_text *t, enum gen_reason why)
{
    gen_report_end(t, why);
    free_text(t);
}

/* End the waiting texts that are cancelled. */
static void
cancel_waiting(struct gen_engine *g)
{
    struct gen_text **at = &g->first, *kept = NULL;

    while (*at != NULL) {
        struct gen_text *t = *at;

        if (!t->cancelled) {
            kept = t;
            at = &t->next;
            continue;
        }
        *at = t->next;
        g->last = t == g->last ? kept : g->last;
        g->stats.waiting--;
        end_text(t, GEN_CANCELLED);
    }
}

/* Report what the step has computed, and the end of cancelled texts; keep the
 * other texts in their order. */
static void
finish_step(struct gen_engine *g, int computed)
{
    const size_t n = g->nrun;

    g->nrun = 0;
    for (size_t i = 0; i < n; i++) {
        struct gen_text *t = g->run[i];
        enum gen_reason why = computed ? gen_report(g, t) : GEN_GOES_ON;

        if (why == GEN_GOES_ON && t->cancelled)
            why = GEN_CANCELLED;
        if (why == GEN_GOES_ON) {
            g->run[g->nrun++] = t;
            continue;
        }
        gen_drop(g, t);
        end_text(t, why);
    }
}

/* Compute the planned tokens; rows: number of texts with a row of logits and
 * without guesses. */
static void
compute_step(struct gen_engine *g, size_t rows)
{
    size_t n = 0, tokens = 0;

    for (size_t i = 0; i < g->nrun; i++) {
        const struct gen_text *t = g->run[i];

        if (t->feed == 0)
            continue;
        g->more[n++] = (struct kv_more){ .text = t->slot,
            .ids = t->ids.v + kv_length(g->kv, t->slot),
            .n = t->feed,
            .logits = t->row < rows,
            .states = t->states,
            .length = t->length };
        tokens += t->feed;
    }
    if (n > 0 && kv_feed(g->kv, g->more, n, g->logits) < 0)
        mem_exhausted("planned pages of keys and values");
    g->stats.steps++;
    g->stats.step_tokens = tokens;
}

size_t
gen_step(struct gen_engine *g)
{
    size_t rows;

    cancel_waiting(g);
    finish_step(g, 0);
    if ((rows = gen_plan(g)) == 0 && g->nrun == 0)
        return g->stats.waiting;
    if (g->draft != NULL)
        draft_guess(g, rows);
    compute_step(g, rows);
    if (g->draft != NULL)
        draft_logits(g);
    for (size_t i = 0; !g->limits.apart && i < g->nrun; i++)
        gen_keep_pages(g, g->run[i]);
    gen_choose(g);
    finish_step(g, 1);
    return g->nrun + g->stats.waiting;
}

void
gen_statistics(const struct gen_engine *g, struct gen_stats *s)
{
    *s = g->stats;
    s->running = g->nrun;
    s->kept = prefix_idle(g->prefix);
    s->used = s->pages - kv_unused(g->kv) - s->kept;
}
