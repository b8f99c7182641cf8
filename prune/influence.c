/*
 * The influence method drops pieces in the order of their influence.  For each
 * number of dropped pieces it removes channels to meet the rest of the goal.
 * The best of these mixes is chosen.
 */
#include "influence.h"
#include "candidates.h"
#include "channels.h"
#include "units.h"
#include "base/mem.h"

#include <stdlib.h>

/* The n pieces that may be dropped from the whole model, by rising influence;
 * the caller frees the array. */
static struct piece *
sorted_pieces(const struct search *s, const struct conf *whole, size_t *n)
{
    static const enum unit units[] = { UNIT_BLOCKS, UNIT_ATTN, UNIT_MLP };
    struct piece *all = xcalloc(3 * whole->L, sizeof(*all));
    struct piece *sorted = xcalloc(3 * whole->L, sizeof(*sorted));
    double *value = xcalloc(3 * whole->L, sizeof(*value));
    size_t *order = xcalloc(3 * whole->L, sizeof(*order));

    *n = 0;
    for (size_t i = 0; i < 3 * whole->L; i++) {
        const struct piece p = { units[i % 3], i / 3 };

        if (!piece_there(s, whole, p))
            continue;
        value[*n] = -piece_influence(s, whole, p);
        all[(*n)++] = p;
    }
    order_values(value, *n, order);
    for (size_t i = 0; i < *n; i++)
        sorted[i] = all[order[i]];
    free(all);
    free(value);
    free(order);
    return sorted;
}

static size_t
all_channels(const struct conf *c)
{
    size_t n = 0;

    for (size_t i = 0; i < c->L; i++)
        n += c->b[i].mlp;
    return n;
}

/* Set *out to the whole model without the first k pieces, with channels removed
 * to meet the goal.  1: channels were removed.  0: none had to be.  -1: the
 * goal is not met, and *out is not set. */
static int
drop_first(const struct search *s, const struct piece *p, size_t k,
    struct conf *out)
{
    size_t before;

    conf_copy(out, &s->log->t[0].conf);
    for (size_t i = 0; i < k; i++)
        if (piece_there(s, out, p[i]))
            piece_drop(s, out, p[i]);
    before = all_channels(out);
    if (conf_blocks(out) > 0 &&
        (s->g.blocks == 0 || conf_blocks(out) == s->g.blocks) &&
        channels_fit(s, out, 0) == 0)
        return all_channels(out) < before;
    conf_release(out);
    return -1;
}

void
search_influence(struct search *s)
{
    size_t n;
    struct piece *p = sorted_pieces(s, &s->log->t[0].conf, &n);

    for (size_t k = 0; k <= n; k++) {
        struct conf conf;
        struct cand c;
        const int took = drop_first(s, p, k, &conf);

        if (took < 0)
            continue;
        cand_init(&c, s, "mix", &conf);
        cand_score_all(s, &c, 1);
        cand_keep_best(s, &c);
        cand_release(&c);
        if (took == 0 && s->g.blocks == 0)
            break;
    }
    free(p);
}
