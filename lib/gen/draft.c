/* Guessing tokens by a smaller model; see draft.h. */
#include "gen/draft.h"
#include "base/mem.h"
#include "gen/engine_impl.h"
#include "model/pass/angles.h"

#include <stdlib.h>

struct draft {
    struct kvcache *kv;
    size_t V;              /* ids below V may be guessed */
    float *logits;         /* [texts,draft.V] */
    float *states;         /* [texts (1 + guesses),m.d] final states */
    struct kv_more *more;  /* [texts] */
    struct gen_text **who; /* [texts] texts that get another guess */
    size_t n;              /* number of texts in `who` */
    size_t row, rows;      /* the first of the engine's rows of logits to which
                            * `states` belong, and their number */
};

struct draft *
draft_new(const struct gen_engine *g)
{
    const struct gen_limits *l = &g->limits;
    const struct model *m = l->draft;
    struct draft *d = xcalloc(1, sizeof *d);

    d->kv = kv_new(m, g->pool, l->texts, l->pages, l->longest);
    d->V = m->c.V < g->V ? m->c.V : g->V;
    d->logits = xreallocarray(NULL, l->texts * m->c.V, sizeof *d->logits);
    d->states = xreallocarray(NULL, l->texts * (1 + l->guesses) * g->m->c.d,
        sizeof *d->states);
    d->more = xcalloc(l->texts, sizeof *d->more);
    d->who = xreallocarray(NULL, l->texts, sizeof(struct gen_text *));
    return d;
}

void
draft_free(struct draft *d)
{
    if (d == NULL)
        return;
    kv_free(d->kv);
    free(d->logits);
    free(d->states);
    free(d->more);
    free(d->who);
    free(d);
}

size_t
draft_bytes(const struct gen_engine *g)
{
    const struct gen_limits *l = &g->limits;

    return kv_bytes(g->draft->kv) + l->texts * l->draft->c.V * sizeof(float) +
        l->texts * (1 + l->guesses) * g->m->c.d * sizeof(float);
}

/* ---- guesses ---- */

static void
guess_task(void *ctx, size_t i, size_t worker)
{
    struct gen_engine *g = ctx;
    struct gen_text *t = g->draft->who[i];
    const size_t V = g->limits.draft->c.V;

    t->chosen = gen_next(g, t, t->ids.n - t->r.n, g->draft->logits + i * V, V,
        g->draft->V, worker);
}

/* Tokens of a text that the draft knows: those in its cache, which are dropped
 * if the text has outgrown their angles. */
static size_t
known_tokens(const struct gen_engine *g, const struct gen_text *t)
{
    struct kvcache *k = g->draft->kv;

    if (angles_outgrown(&g->limits.draft->c, kv_length(k, t->slot), t->ids.n))
        kv_drop(k, t->slot);
    return kv_length(k, t->slot);
}

/* Collect the running texts that want more than `has` guesses.  If the draft's
 * cache has too few pages for a text, the text gets no more guesses. */
static void
collect_texts(struct gen_engine *g, size_t has)
{
    const struct config *c = &g->limits.draft->c;
    struct draft *d = g->draft;
    size_t promised = 0;

    d->n = 0;
    for (size_t i = 0; i < g->nrun; i++) {
        struct gen_text *t = g->run[i];
        size_t known, pages;

        if (t->row != GEN_DRAFT_ROW || t->guesses <= has)
            continue;
        known = known_tokens(g, t);
        pages = kv_pages(t->ids.n) - kv_pages(known);
        if (promised + pages > kv_unused(d->kv)) {
            t->guesses = has;
            continue;
        }
        promised += pages;
        d->more[d->n] = (struct kv_more){ .text = t->slot,
            .ids = t->ids.v + known,
            .n = t->ids.n - known,
            .logits = 1,
            .length =
                angles_outgrown(c, t->r.n, t->ids.n) ? t->ids.n : t->r.n };
        d->who[d->n++] = t;
    }
}

/* Give rows of logits and of states to the texts that may have guesses. */
static void
place_rows(struct gen_engine *g, size_t row)
{
    struct draft *d = g->draft;

    d->row = row;
    d->rows = 0;
    for (size_t i = 0; i < g->nrun; i++) {
        struct gen_text *t = g->run[i];

        if (t->row != GEN_DRAFT_ROW)
            continue;
        t->feed = 1 + t->guesses;
        t->row = row + d->rows;
        t->states = d->states + d->rows * g->m->c.d;
        d->rows += t->feed;
        g->stats.guessed += t->guesses;
    }
}

void
draft_guess(struct gen_engine *g, size_t row)
{
    struct draft *d = g->draft;

    for (size_t has = 0;; has++) {
        collect_texts(g, has);
        if (d->n == 0)
            break;
        if (kv_feed(d->kv, d->more, d->n, d->logits) < 0)
            mem_exhausted("planned pages of the draft");
        pool_run(g->pool, d->n, guess_task, g);
        for (size_t i = 0; i < d->n; i++) {
            struct gen_text *t = d->who[i];

            if (t->chosen == UINT32_MAX)
                t->guesses = has;
            else
                tok_ids_push(&t->ids, t->chosen);
        }
    }
    place_rows(g, row);
}

void
draft_logits(struct gen_engine *g)
{
    const struct draft *d = g->draft;

    if (d->rows > 0)
        kv_head(g->kv, d->states, d->rows, g->logits + d->row * g->m->c.V);
}

/* ---- after the model has chosen ---- */

void
draft_forget(struct gen_engine *g, const struct gen_text *t)
{
    const size_t n = t->ids.n - 1; /* the last token was not computed yet */

    kv_cut(g->kv, t->slot, n);
    if (kv_length(g->draft->kv, t->slot) > n)
        kv_cut(g->draft->kv, t->slot, n);
}

void
draft_drop(struct gen_engine *g, const struct gen_text *t)
{
    kv_drop(g->draft->kv, t->slot);
}
