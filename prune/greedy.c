/*
 * The greedy method drops one piece (units.h) at a time: see best_drop.  Before
 * the first drop and after each drop a mix is scored: the remaining pieces,
 * with as many channels as the goal allows.  With --blocks only mixes of that
 * number of blocks are scored.  The best mix is chosen.
 */
#include "greedy.h"
#include "candidates.h"
#include "channels.h"
#include "units.h"
#include "base/mem.h"
#include "base/note.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct greedy {
    struct conf now;    /* the remaining pieces, with all their channels */
    struct score score; /* scores of now */
    double params;      /* number of parameters of now */
};

/* Score `now` with as many channels as the goal allows.  If no channel has to
 * go, the score is known. */
static void
try_mix(struct search *s, const struct greedy *g)
{
    struct conf mix;
    struct cand c;

    conf_copy(&mix, &g->now);
    if (channels_fit(s, &mix, 0) < 0) {
        conf_release(&mix);
        return;
    }
    cand_init(&c, s, "mix", &mix);
    if (conf_equal(&c.conf, &g->now))
        cand_known(s, &c, &g->score, 0.0);
    else
        cand_score_all(s, &c, 1);
    cand_keep_best(s, &c);
    cand_release(&c);
}

/* A piece that may be dropped. */
struct likely {
    struct piece p;
    double v; /* influence per parameter */
};

/* Fill `out` [4 L] with pieces that may be dropped, in the order of the model:
 * the s->candidates pieces of least influence per parameter (0: all).  Returns
 * the number of pieces. */
static size_t
likely_drops(const struct search *s, const struct greedy *g, struct likely *out)
{
    static const enum unit units[] = { UNIT_BLOCKS, UNIT_ATTN, UNIT_MLP,
        UNIT_GROUPS };
    struct likely *all = xcalloc(4 * g->now.L, sizeof(*all));
    size_t n = 0, kept = 0;

    for (size_t i = 0; i < 4 * g->now.L; i++) {
        const struct piece p = { units[i % 4], i / 4 };
        struct conf less;

        if (!piece_there(s, &g->now, p))
            continue;
        conf_copy(&less, &g->now);
        piece_drop(s, &less, p);
        if (conf_blocks(&less) > 0 && conf_blocks(&less) >= s->g.blocks)
            all[n++] = (struct likely){ p,
                piece_influence(s, &g->now, p) /
                    (g->params - conf_params(s, &less)) };
        conf_release(&less);
    }
    for (size_t i = 0; i < n; i++) {
        size_t before = 0;

        for (size_t k = 0; k < n; k++)
            before += all[k].v < all[i].v || (all[k].v == all[i].v && k < i);
        if (s->candidates == 0 || before < s->candidates)
            out[kept++] = all[i];
    }
    free(all);
    return kept;
}

/* Index of the best drop in c[n], among those scored on all rows.  If all
 * dropped pieces have the same size, the lowest objective is best; else the
 * least rise of the objective per dropped parameter. */
static size_t
best_drop(const struct search *s, const struct greedy *g, const struct cand *c,
    size_t n)
{
    size_t best = n;
    double least = INFINITY, first = NAN;
    int equal = 1;

    for (size_t i = 0; i < n; i++) {
        const double freed = g->params - conf_params(s, &c[i].conf);

        first = i == 0 ? freed : first;
        equal = equal && freed == first;
    }
    for (size_t i = 0; i < n; i++) {
        const double freed = g->params - conf_params(s, &c[i].conf);
        const double v =
            equal ? c[i].score.sum : (c[i].score.sum - g->score.sum) / freed;

        if (c[i].full && v < least) {
            least = v;
            best = i;
        }
    }
    return best;
}

/* Drop the best piece; -1: no piece can be dropped. */
static int
drop_one(struct search *s, struct greedy *g)
{
    struct likely *m = xcalloc(4 * g->now.L, sizeof(*m));
    const size_t n = likely_drops(s, g, m);
    struct cand *c = xcalloc(n, sizeof(*c));
    size_t best;

    for (size_t i = 0; i < n; i++) {
        struct conf less;

        conf_copy(&less, &g->now);
        piece_drop(s, &less, m[i].p);
        cand_init(&c[i], s, "drop", &less);
    }
    if (n > 0) {
        cand_score_all(s, c, n);
        best = best_drop(s, g, c, n);
        search_log_take(s->log, c[best].trial);
        conf_release(&g->now);
        conf_copy(&g->now, &c[best].conf);
        g->score = c[best].score;
        g->params = conf_params(s, &g->now);
        vnote("without %s %zu: loss %.4f, KL %.4f", unit_text(m[best].p.unit),
            m[best].p.block, g->score.nll, g->score.kl);
        judge_set(s->j, &c[best].choice, 1);
        if (!s->fixed_order)
            orders_measured(s->order, s->j, &g->now);
    }
    for (size_t i = 0; i < n; i++)
        cand_release(&c[i]);
    free(c);
    free(m);
    return n > 0 ? 0 : -1;
}

/* Has `now` too many blocks, or costs above the limits? */
static int
too_large(const struct search *s, const struct greedy *g)
{
    return (s->g.blocks > 0 && conf_blocks(&g->now) > s->g.blocks) ||
        !meets_limits(s, &g->now);
}

void
search_greedy(struct search *s)
{
    struct greedy g = { .score = s->log->t[0].score };

    conf_copy(&g.now, &s->log->t[0].conf);
    g.params = conf_params(s, &g.now);
    for (;;) {
        if (s->g.blocks == 0 || conf_blocks(&g.now) == s->g.blocks)
            try_mix(s, &g);
        if (!too_large(s, &g) || drop_one(s, &g) < 0)
            break;
        /* Dropping more will hardly do better than the best mix so far. */
        if (s->best != SIZE_MAX && g.score.sum > s->log->t[s->best].score.sum)
            break;
    }
    conf_release(&g.now);
}
