/*
 * What to cut.  Blocks are dropped one at a time, each time the one without
 * which the rest scores best; for every number of blocks the rest of the goal
 * is met by channels of least energy, and the best of these mixes is taken.
 */
#include "prune.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/note.h"
#include "cli/die.h"
#include "cli/progress.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void
shape_init(struct shape *s, size_t n)
{
    s->n = n;
    s->block = xcalloc(n, sizeof(*s->block));
    s->width = xcalloc(n, sizeof(*s->width));
}

static void
shape_copy(struct shape *to, const struct shape *s)
{
    shape_init(to, s->n);
    memcpy(to->block, s->block, s->n * sizeof(*s->block));
    memcpy(to->width, s->width, s->n * sizeof(*s->width));
}

static void
shape_release(struct shape *s)
{
    free(s->block);
    free(s->width);
    memset(s, 0, sizeof(*s));
}

static void
shape_drop(struct shape *s, size_t i)
{
    s->n--;
    memmove(s->block + i, s->block + i + 1, (s->n - i) * sizeof(*s->block));
    memmove(s->width + i, s->width + i + 1, (s->n - i) * sizeof(*s->width));
}

static size_t
shape_params(const struct model *m, const struct shape *s)
{
    struct block_shape *b = xcalloc(s->n, sizeof(*b));
    struct config c = m->c;
    size_t n;

    for (size_t i = 0; i < s->n; i++)
        b[i] = (struct block_shape){ m->block[s->block[i]].groups, s->width[i],
            s->block[i] };
    c.L = s->n;
    n = config_params(&c, b);
    free(b);
    return n;
}

static size_t
shape_width(const struct shape *s)
{
    size_t w = 0;

    for (size_t i = 0; i < s->n; i++)
        w = s->width[i] > w ? s->width[i] : w;
    return w;
}

/* Set every width to at most w. */
static void
set_widths(const struct model *m, struct shape *s, size_t w)
{
    for (size_t i = 0; i < s->n; i++) {
        const size_t own = m->block[s->block[i]].mlp;

        s->width[i] = own < w ? own : w;
    }
}

/* The widest MLPs with which these blocks meet the goal; -1: none do. */
static int
fit_width(const struct model *m, struct shape *s, const struct goal *g)
{
    size_t w;

    set_widths(m, s, g->width > 0 ? g->width : SIZE_MAX);
    if (shape_params(m, s) <= g->params)
        return 0;
    if (g->width > 0)
        return -1;
    for (w = shape_width(s) / g->multiple * g->multiple; w > 0;
         w -= g->multiple) {
        set_widths(m, s, w);
        if (shape_params(m, s) <= g->params)
            return 0;
    }
    return -1;
}

struct trial *
search_add(struct search *s, const char *kind)
{
    s->t = xgrow(s->t, s->n, &s->cap, sizeof(*s->t));
    memset(&s->t[s->n], 0, sizeof(*s->t));
    s->t[s->n].kind = kind;
    return &s->t[s->n++];
}

static void
record(struct search *s, const char *kind, const struct model *m,
    const struct shape *shape, const struct score *score, double start)
{
    struct trial *t = search_add(s, kind);

    shape_copy(&t->s, shape);
    t->width = shape_width(shape);
    t->params = shape_params(m, shape);
    t->score = *score;
    t->seconds = clock_now() - start;
    progress_at((double)s->n, NULL);
}

/* ---- channels ---- */

struct rank {
    double v;
    size_t i;
};

static int
rank_order(const void *x, const void *y)
{
    const struct rank *a = x, *b = y;

    if (a->v != b->v)
        return a->v > b->v ? -1 : 1;
    return a->i < b->i ? -1 : a->i > b->i;
}

static int
index_order(const void *x, const void *y)
{
    const size_t a = *(const size_t *)x, b = *(const size_t *)y;

    return a < b ? -1 : a > b;
}

void
top_channels(const double *importance, size_t n, size_t keep, size_t *chan)
{
    struct rank *r = xreallocarray(NULL, n, sizeof(*r));

    for (size_t i = 0; i < n; i++)
        r[i] = (struct rank){ importance[i], i };
    qsort(r, n, sizeof(*r), rank_order);
    for (size_t i = 0; i < keep; i++)
        chan[i] = r[i].i;
    qsort(chan, keep, sizeof(*chan), index_order);
    free(r);
}

/* The channels that shape s keeps, by block of the model; NULL: all, or the
 * block is not in s. */
static size_t **
choose_channels(const struct judge *j, const struct shape *s)
{
    size_t **chan = xcalloc(j->m->c.L, sizeof(*chan));

    for (size_t i = 0; i < s->n; i++) {
        const size_t b = s->block[i], n = j->m->block[b].mlp;

        if (s->width[i] == n)
            continue;
        chan[b] = xreallocarray(NULL, s->width[i], sizeof(**chan));
        top_channels(j->importance[b], n, s->width[i], chan[b]);
    }
    return chan;
}

static void
free_channels(size_t **chan, size_t L)
{
    for (size_t i = 0; chan != NULL && i < L; i++)
        free(chan[i]);
    free(chan);
}

/* 1 or 0 for each channel of each block of s, kept or not; NULL for a block
 * that keeps all. */
static float **
flags(const struct model *m, const struct shape *s, size_t *const *chan)
{
    float **f = xcalloc(s->n, sizeof(*f));

    for (size_t i = 0; i < s->n; i++) {
        const size_t b = s->block[i];

        if (chan[b] == NULL)
            continue;
        f[i] = xcalloc(m->block[b].mlp, sizeof(**f));
        for (size_t c = 0; c < s->width[i]; c++)
            f[i][chan[b][c]] = 1.0f;
    }
    return f;
}

static void
free_flags(float **f, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(f[i]);
    free(f);
}

/* The score of blocks of which only the channels chan are kept. */
static struct score
score_mix(struct judge *j, const struct shape *mix, size_t *const *chan)
{
    float **f = flags(j->m, mix, chan);
    struct score score;

    judge_score(j, 0, mix->block, mix->n, (const float *const *)f, &score);
    free_flags(f, mix->n);
    return score;
}

/* Evaluate the blocks left with as many channels as the goal allows.  If it
 * allows all of them, their score is known. */
static void
try_mix(struct search *s, struct judge *j, const struct shape *now,
    const struct goal *g, size_t ***best)
{
    const double start = clock_now();
    struct shape mix;
    struct score score;
    size_t **chan;

    shape_copy(&mix, now);
    if (fit_width(j->m, &mix, g) < 0) {
        shape_release(&mix);
        return;
    }
    chan = choose_channels(j, &mix);
    score = shape_params(j->m, &mix) == shape_params(j->m, now)
        ? s->now
        : score_mix(j, &mix, chan);
    record(s, "mix", j->m, &mix, &score, start);
    shape_release(&mix);
    if (s->best == SIZE_MAX ||
        score_sum(&score) < score_sum(&s->t[s->best].score)) {
        free_channels(*best, j->m->c.L);
        *best = chan;
        s->best = s->n - 1;
    } else {
        free_channels(chan, j->m->c.L);
    }
}

/* ---- blocks ---- */

/* Is block i of s among the `most` of least influence (0: any)?  Of equal ones
 * the first are. */
static int
is_candidate(const struct judge *j, const struct shape *s, size_t i,
    size_t most)
{
    const double mine = j->influence[s->block[i]];
    size_t before = 0;

    for (size_t k = 0; k < s->n; k++) {
        const double v = j->influence[s->block[k]];

        before += v < mine || (v == mine && k < i);
    }
    return most == 0 || before < most;
}

/* Drop the block without which the others score best. */
static void
drop_one(struct search *s, struct judge *j, struct shape *now,
    const struct goal *g)
{
    size_t best = SIZE_MAX, at = 0;
    struct score score;

    for (size_t i = 0; i < now->n; i++) {
        const double start = clock_now();
        struct shape less;

        if (!is_candidate(j, now, i, g->candidates))
            continue;
        judge_score(j, i, now->block + i + 1, now->n - i - 1, NULL, &score);
        shape_copy(&less, now);
        shape_drop(&less, i);
        record(s, "drop", j->m, &less, &score, start);
        shape_release(&less);
        if (best == SIZE_MAX ||
            score_sum(&score) < score_sum(&s->t[best].score)) {
            best = s->n - 1;
            at = i;
        }
    }
    s->t[best].taken = 1;
    s->now = s->t[best].score;
    vnote("without block %zu: loss %.4f, KL %.4f", now->block[at], s->now.nll,
        s->now.kl);
    shape_drop(now, at);
    judge_profile(j, now, at);
}

static void
begin(struct search *s, struct judge *j, struct shape *now)
{
    const double start = clock_now();

    shape_init(now, j->m->c.L);
    for (size_t i = 0; i < now->n; i++) {
        now->block[i] = i;
        now->width[i] = j->m->block[i].mlp;
    }
    judge_profile(j, now, 0);
    judge_score(j, now->n, NULL, 0, NULL, &s->now);
    record(s, "whole", j->m, now, &s->now, start);
    s->best = SIZE_MAX;
}

/* The fewest parameters that a mix could have. */
static size_t
fewest(const struct model *m, const struct goal *g)
{
    struct shape s;
    size_t n;

    shape_init(&s, g->blocks > 0 ? g->blocks : 1);
    for (size_t i = 0; i < s.n; i++)
        s.block[i] = i;
    set_widths(m, &s, g->width > 0 ? g->width : g->multiple);
    n = shape_params(m, &s);
    shape_release(&s);
    return n;
}

/* Configurations that will be evaluated at most: the whole model, and for each
 * number of blocks the mix that meets the goal, if one does, and the
 * candidates to drop. */
static double
most_trials(const struct model *m, const struct goal *g)
{
    const size_t least = g->blocks > 0 ? g->blocks : 1;
    double total = 1.0;
    int whole = 0;

    for (size_t n = m->c.L; n >= least && !whole; n--) {
        struct shape s;

        shape_init(&s, n);
        for (size_t i = 0; i < n; i++) {
            s.block[i] = i;
            s.width[i] = m->block[i].mlp;
        }
        whole = g->blocks == 0 && shape_params(m, &s) <= g->params;
        total += (g->blocks == 0 || n == g->blocks) && fit_width(m, &s, g) == 0;
        if (n > least && !whole)
            total +=
                (double)(g->candidates > 0 && g->candidates < n ? g->candidates
                                                                : n);
        shape_release(&s);
    }
    return total;
}

void
search_run(struct search *s, struct judge *j, const struct goal *g,
    size_t ***chan)
{
    struct shape now;

    if (fewest(j->m, g) > g->params)
        die(EX_USAGE,
            "%s: cannot be cut to %zu parameters in this way: the fewest are "
            "%zu",
            j->m->path, g->params, fewest(j->m, g));
    memset(s, 0, sizeof(*s));
    *chan = NULL;
    progress_begin("searching", most_trials(j->m, g), "configurations");
    begin(s, j, &now);
    for (;;) {
        int whole;

        if (g->blocks == 0 || now.n == g->blocks)
            try_mix(s, j, &now, g, chan);
        whole = shape_params(j->m, &now) <= g->params;
        if (now.n == 1 || now.n == g->blocks || (whole && g->blocks == 0))
            break;
        drop_one(s, j, &now, g);
        /* Dropping more will hardly do better than the best mix so far. */
        if (s->best != SIZE_MAX &&
            score_sum(&s->now) > score_sum(&s->t[s->best].score))
            break;
    }
    progress_end();
    shape_release(&now);
    if (s->best == SIZE_MAX)
        die(EX_USAGE,
            "%s: no mix of blocks and channels has at most %zu parameters",
            j->m->path, g->params);
    s->t[s->best].taken = 1;
}

void
search_release(struct search *s)
{
    for (size_t i = 0; i < s->n; i++)
        shape_release(&s->t[i].s);
    free(s->t);
    memset(s, 0, sizeof(*s));
}
