/* Choose the tokens of a step, and give pages to texts; see engine_impl.h. */
#include "gen/draft.h"
#include "gen/engine_impl.h"
#include "model/pass/angles.h"

#include <string.h>

/* Free a running text's pages. */
static void
drop_pages(struct gen_engine *g, struct gen_text *t)
{
    const uint32_t *table = kv_table(g->kv, t->slot);

    while (t->nodes > 0)
        prefix_leave(g->prefix, table[--t->nodes]);
    t->apart = 0;
    kv_drop(g->kv, t->slot);
}

void
gen_drop(struct gen_engine *g, struct gen_text *t)
{
    drop_pages(g, t);
    if (g->draft != NULL)
        draft_drop(g, t);
    g->slot[g->nslot++] = t->slot;
}

/* The root of the tree that has a text's pages; texts with other angles have
 * other trees. */
static uint32_t
text_root(const struct gen_engine *g, const struct gen_text *t)
{
    return prefix_root(angles_set(&g->m->c, t->length));
}

void
gen_keep_pages(struct gen_engine *g, struct gen_text *t)
{
    const uint32_t *table = kv_table(g->kv, t->slot);
    const size_t known = t->ids.n - t->guesses;
    const size_t has = kv_length(g->kv, t->slot);
    const size_t full = (has < known ? has : known) / KV_PAGE;

    for (; !t->apart && t->nodes < full; t->nodes++) {
        const uint32_t parent =
            t->nodes > 0 ? table[t->nodes - 1] : text_root(g, t);
        const uint32_t *ids = t->ids.v + t->nodes * KV_PAGE;

        if (prefix_child(g->prefix, parent, ids) != PREFIX_NONE) {
            t->apart = 1;
            break;
        }
        prefix_add(g->prefix, parent, ids, table[t->nodes]);
        kv_hold(g->kv, table[t->nodes]);
    }
}

/* ---- texts that begin ---- */

/* Let waiting texts run while there are pages for the tokens that all running
 * texts have so far, and one more page for each text. */
static void
start_texts(struct gen_engine *g)
{
    size_t wanted = 0;
    const size_t room = kv_unused(g->kv) + prefix_idle(g->prefix);

    for (size_t i = 0; i < g->nrun; i++)
        wanted += kv_pages(g->run[i]->ids.n) -
            kv_pages(kv_length(g->kv, g->run[i]->slot));
    while (g->nrun < g->limits.texts && g->first != NULL) {
        struct gen_text *t = g->first;

        wanted += kv_pages(t->ids.n);
        if (g->nrun > 0 && wanted + g->nrun + 1 > room)
            break;
        g->first = t->next;
        g->last = g->first == NULL ? NULL : g->last;
        t->next = NULL;
        g->stats.waiting--;
        t->slot = g->slot[--g->nslot];
        g->run[g->nrun++] = t;
    }
}

/* Does an older running text with the same angles, and the same tokens up to
 * the page's end, compute page `page` of text number i? */
static int
page_is_coming(const struct gen_engine *g, size_t i, size_t page)
{
    const size_t n = (page + 1) * KV_PAGE;

    for (size_t j = 0; j < i; j++) {
        const struct gen_text *o = g->run[j];

        if (o->feed > 0 && o->ids.n >= n && kv_length(g->kv, o->slot) < n &&
            text_root(g, o) == text_root(g, g->run[i]) &&
            memcmp(o->ids.v, g->run[i]->ids.v, n * sizeof *o->ids.v) == 0)
            return 1;
    }
    return 0;
}

/* Begin text number i, which has no tokens in the cache, with pages that exist.
 * At least one token stays to be computed.  0: it waits for a page that another
 * text is computing. */
static int
share_prefix(struct gen_engine *g, size_t i)
{
    struct gen_text *t = g->run[i];
    const size_t most = (t->ids.n - 1) / KV_PAGE;
    uint32_t page = text_root(g, t);
    size_t n = 0;

    if (!g->limits.apart && (!t->r.score || t->scored == t->r.n)) {
        for (; n < most; g->path[n++] = page) {
            page = prefix_child(g->prefix, page, t->ids.v + n * KV_PAGE);
            if (page == PREFIX_NONE)
                break;
        }
        if (n < most && page_is_coming(g, i, n))
            return 0;
    }
    if (n > 0) {
        for (size_t k = 0; k < n; k++)
            prefix_enter(g->prefix, g->path[k]);
        kv_share(g->kv, t->slot, g->path, n);
    }
    t->nodes = n;
    if (!t->begun) {
        g->stats.prompt += t->r.n;
        g->stats.shared += n * KV_PAGE;
        t->begun = 1;
    }
    return 1;
}

/* ---- pages ---- */

/* Let the youngest running text wait, at the head of the queue. */
static void
preempt_youngest(struct gen_engine *g)
{
    struct gen_text *t = g->run[--g->nrun];

    gen_drop(g, t);
    t->next = g->first;
    g->first = t;
    g->last = g->last == NULL ? t : g->last;
    g->stats.waiting++;
    g->stats.preempted++;
}

/* Free n pages for text number i, besides the *promised ones, and add n to
 * *promised.  0: the text itself was preempted. */
static int
free_pages(struct gen_engine *g, size_t i, size_t n, size_t *promised)
{
    while (kv_unused(g->kv) < *promised + n) {
        const uint32_t page = prefix_evict(g->prefix);

        if (page != PREFIX_NONE)
            kv_release(g->kv, page);
        else
            preempt_youngest(g);
        if (g->nrun == i)
            return 0;
    }
    *promised += n;
    return 1;
}

/* ---- the plan ---- */

/* Drop the pages of running texts that have outgrown their angles, so that they
 * are read again from their first tokens. */
static void
drop_outgrown(struct gen_engine *g)
{
    for (size_t i = 0; i < g->nrun; i++) {
        struct gen_text *t = g->run[i];

        if (!angles_outgrown(&g->m->c, t->length, t->ids.n))
            continue;
        t->length = t->ids.n;
        drop_pages(g, t);
    }
}

/* How many tokens text number i computes; *slice: tokens of prompts that the
 * step may still read. */
static size_t
tokens_to_feed(struct gen_engine *g, size_t i, size_t *slice)
{
    const struct gen_text *t = g->run[i];
    size_t left;

    if (*slice == 0 && kv_length(g->kv, t->slot) == 0 && t->ids.n > 1)
        return 0;
    if (kv_length(g->kv, t->slot) == 0 && !share_prefix(g, i))
        return 0;
    left = t->ids.n - kv_length(g->kv, t->slot);
    if (left == 1)
        return 1;
    left = left < *slice ? left : *slice;
    *slice -= left;
    return left;
}

/* How many tokens may the draft guess for a text that would get one token in
 * this step without guesses?  A text must not outgrow its angles by guesses,
 * which may be wrong. */
static size_t
tokens_to_guess(const struct gen_engine *g, const struct gen_text *t)
{
    const size_t left = t->r.n + t->r.params->most - t->ids.n;
    size_t n = g->limits.guesses;

    if (g->draft == NULL || left <= 1 || (t->r.score && t->scored < t->r.n))
        return 0;
    n = left - 1 < n ? left - 1 : n;
    while (n > 0 && angles_outgrown(&g->m->c, t->length, t->ids.n + n))
        n--;
    return n;
}

/* Set `row` and `states` of a text, and advance *rows and *states. */
static void
want_outputs(struct gen_engine *g, struct gen_text *t, size_t *rows,
    float **states)
{
    const size_t at = kv_length(g->kv, t->slot), end = at + t->feed;

    t->row = GEN_NO_ROW;
    t->states = NULL;
    if (end == t->ids.n && t->r.params->most > 0)
        t->row = t->guesses > 0 ? GEN_DRAFT_ROW : (*rows)++;
    /* State number p predicts the prompt's token p + 1. */
    if (t->r.score && t->scored < t->r.n && end >= t->scored &&
        at + 1 < t->r.n) {
        t->states = *states;
        *states += t->feed * g->m->c.d;
    }
}

size_t
gen_plan(struct gen_engine *g)
{
    size_t slice = g->limits.slice, promised = 0, rows = 0;
    float *states = g->states;

    drop_outgrown(g);
    start_texts(g);
    for (size_t i = 0; i < g->nrun; i++)
        g->run[i]->feed = g->run[i]->guesses = 0;
    for (size_t i = 0; i < g->nrun; i++) {
        struct gen_text *t = g->run[i];
        const size_t n = tokens_to_feed(g, i, &slice);
        const size_t has = kv_length(g->kv, t->slot);
        const size_t guesses = n == 1 && has > 0 ? tokens_to_guess(g, t) : 0;

        t->row = GEN_NO_ROW;
        if (n == 0 ||
            !free_pages(g, i, kv_pages(has + n + guesses) - kv_pages(has),
                &promised))
            continue;
        t->feed = n;
        t->guesses = guesses;
        want_outputs(g, t, &rows, &states);
    }
    return rows;
}
