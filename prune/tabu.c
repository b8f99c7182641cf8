/*
 * Tabu search (Glover, ORSA Journal on Computing 1 and 2, 1989 and 1990): of
 * some neighbours of a configuration the best is gone on with, better or not;
 * what a move has changed stays as it is for some moves, unless the best so far
 * is beaten.  Which neighbours are looked at is drawn from a seed.
 */
#include "search.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { UNITS = 5, TRIES = 64, IDLE = 20 };

struct tabu {
    struct search *s;
    struct conf now;
    size_t *until; /* [UNITS,L] the move from which that may change again */
    size_t move, since; /* moves; since the best was last beaten */
    uint64_t draws;
};

struct move {
    struct piece p[2];
    size_t n;
};

static size_t
draw(struct tabu *t, size_t n)
{
    return (size_t)(rng_u64(t->s->seed, t->draws++) % n);
}

static size_t *
until(const struct tabu *t, struct piece p)
{
    size_t bit = 0;

    while (p.unit >> (bit + 1) != 0)
        bit++;
    return &t->until[bit * t->now.L + p.block];
}

/* ---- parts that are gone ---- */

static int
part_gone(const struct search *s, const struct conf *c, struct piece p)
{
    const struct block *of = &s->j->m->block[p.block];
    const struct block_shape *b = &c->b[p.block];
    const int blocks = (s->g.units & UNIT_BLOCKS) != 0;

    if (!(s->g.units & p.unit))
        return 0;
    switch (p.unit) {
    case UNIT_BLOCKS: return !conf_has(c, p.block);
    case UNIT_ATTN:
        return b->groups == 0 && of->groups > 0 && (b->mlp > 0 || !blocks);
    case UNIT_MLP:
        return b->mlp == 0 && of->mlp > 0 && (b->groups > 0 || !blocks);
    case UNIT_GROUPS: return b->groups > 0 && b->groups < of->groups;
    case UNIT_CHANNELS: return b->mlp > 0 && b->mlp < of->mlp;
    }
    return 0;
}

static void
part_restore(const struct search *s, struct conf *c, struct piece p)
{
    const struct block *of = &s->j->m->block[p.block];
    struct block_shape *b = &c->b[p.block];

    if (p.unit == UNIT_BLOCKS || p.unit == UNIT_ATTN)
        b->groups = of->groups;
    if (p.unit == UNIT_BLOCKS || p.unit == UNIT_MLP)
        b->mlp = of->mlp;
    if (p.unit == UNIT_GROUPS)
        b->groups++;
    if (p.unit == UNIT_CHANNELS)
        b->mlp +=
            of->mlp - b->mlp < s->g.multiple ? of->mlp - b->mlp : s->g.multiple;
}

/* Of a unit's parts that are there, or gone, the one of least, or most,
 * influence among two drawn; -1: there is none. */
static int
pick(struct tabu *t, const struct conf *c, enum unit unit, int gone,
    struct piece *out)
{
    const struct search *s = t->s;
    size_t *list = xcalloc(c->L, sizeof(*list)), n = 0;
    struct piece a, b;

    for (size_t i = 0; i < c->L; i++) {
        const struct piece p = { unit, i };

        if (gone ? part_gone(s, c, p) : part_there(s, c, p))
            list[n++] = i;
    }
    if (n > 0) {
        a = (struct piece){ unit, list[draw(t, n)] };
        b = (struct piece){ unit, list[draw(t, n)] };
        *out = a;
        if (unit != UNIT_GROUPS && unit != UNIT_CHANNELS &&
            (part_influence(s, c, b) < part_influence(s, c, a)) != gone)
            *out = b;
    }
    free(list);
    return n > 0 ? 0 : -1;
}

/* ---- moves ---- */

static int
drop(struct tabu *t, struct conf *c, enum unit unit, struct move *m)
{
    if (pick(t, c, unit, 0, &m->p[m->n]) < 0)
        return -1;
    part_drop(t->s, c, m->p[m->n++]);
    return 0;
}

static int
restore(struct tabu *t, struct conf *c, enum unit unit, struct move *m)
{
    if (pick(t, c, unit, 1, &m->p[m->n]) < 0)
        return -1;
    part_restore(t->s, c, m->p[m->n++]);
    return 0;
}

/* Channels go from one block to another. */
static int
shift(struct tabu *t, struct conf *c, struct move *m)
{
    const size_t steps = (size_t)1 << draw(t, 3);

    if (drop(t, c, UNIT_CHANNELS, m) < 0 || restore(t, c, UNIT_CHANNELS, m) < 0)
        return -1;
    for (size_t i = 1; i < steps; i++) {
        if (!part_there(t->s, c, m->p[0]) || !part_gone(t->s, c, m->p[1]))
            break;
        part_drop(t->s, c, m->p[0]);
        part_restore(t->s, c, m->p[1]);
    }
    return m->p[0].block != m->p[1].block ? 0 : -1;
}

/* Change c in some way, and make it meet the goal. */
static int
change(struct tabu *t, struct conf *c, struct move *m)
{
    static const enum unit units[] = { UNIT_BLOCKS, UNIT_ATTN, UNIT_MLP,
        UNIT_GROUPS };
    const struct goal *g = &t->s->g;
    const enum unit u = units[draw(t, 4)];
    const size_t kind = draw(t, 4);
    int r;

    m->n = 0;
    switch (kind) {
    case 0: r = drop(t, c, u, m); break;
    case 1: r = restore(t, c, u, m); break;
    case 2: r = g->ranked ? shift(t, c, m) : -1; break;
    default:
        r = drop(t, c, u, m);
        r = r < 0 ? r : restore(t, c, u, m);
        break;
    }
    if (r < 0 || conf_blocks(c) == 0 ||
        (g->blocks > 0 && conf_blocks(c) != g->blocks))
        return -1;
    /* what was shifted is not shifted back */
    return kind == 2 ? (fits(t->s, c) ? 0 : -1) : fit(t->s, c, 1);
}

static int
is_tabu(const struct tabu *t, const struct move *m)
{
    for (size_t i = 0; i < m->n; i++)
        if (t->move < *until(t, m->p[i]))
            return 1;
    return 0;
}

/* Tried before in this run, or among the n of c. */
static int
seen(const struct tabu *t, const struct cand *new, const struct cand *c,
    size_t n)
{
    const uint64_t key = choice_key(&new->choice);

    for (size_t i = 0; i < t->s->log->n; i++)
        if (t->s->log->t[i].key == key)
            return 1;
    for (size_t i = 0; i < n; i++)
        if (choice_key(&c[i].choice) == key)
            return 1;
    return 0;
}

/* Up to `most` new neighbours. */
static size_t
neighbours(struct tabu *t, struct cand *c, struct move *m, size_t most)
{
    size_t n = 0;

    for (size_t i = 0; i < TRIES * most && n < most; i++) {
        struct conf conf;

        conf_copy(&conf, &t->now);
        if (change(t, &conf, &m[n]) < 0) {
            conf_release(&conf);
            continue;
        }
        cand_init(&c[n], t->s, "move", &conf);
        if (seen(t, &c[n], c, n))
            cand_release(&c[n]);
        else
            n++;
    }
    return n;
}

/* ---- the walk ---- */

static void
stay(struct tabu *t, const struct move *m)
{
    for (size_t i = 0; i < m->n; i++)
        *until(t, m->p[i]) = t->move + t->s->tenure + 1;
}

/* Go on from the best so far, changed in two ways. */
static void
restart(struct tabu *t)
{
    struct move m;

    conf_release(&t->now);
    conf_copy(&t->now, &t->s->log->t[t->s->best].conf);
    memset(t->until, 0, UNITS * t->now.L * sizeof(*t->until));
    for (size_t i = 0, done = 0; i < TRIES && done < 2; i++) {
        struct conf c;

        conf_copy(&c, &t->now);
        if (change(t, &c, &m) == 0) {
            conf_release(&t->now);
            t->now = c;
            done++;
        } else {
            conf_release(&c);
        }
    }
    t->since = 0;
}

static void
set_judge(struct tabu *t)
{
    struct choice c;

    conf_choice(&t->now, t->s->j->m, t->s->rank, &c);
    judge_set(t->s->j, &c, 0);
    choice_release(&c);
}

/* The best of n that may be taken, or n. */
static size_t
admissible(const struct tabu *t, const struct cand *c, const struct move *m,
    size_t n)
{
    const double best = t->s->log->t[t->s->best].score.sum;
    size_t at = n;

    for (size_t i = 0; i < n; i++)
        if (c[i].full && (!is_tabu(t, &m[i]) || c[i].score.sum < best) &&
            (at == n || c[i].score.sum < c[at].score.sum))
            at = i;
    return at;
}

/* One move; 0: there was nothing to try. */
static size_t
step(struct tabu *t, size_t most)
{
    struct search *s = t->s;
    struct cand *c = xcalloc(most, sizeof(*c));
    struct move *m = xcalloc(most, sizeof(*m));
    const size_t n = neighbours(t, c, m, most), best = s->best;
    size_t at;

    if (n > 0) {
        try_all(s, c, n);
        at = admissible(t, c, m, n);
        for (size_t i = 0; i < n; i++)
            if (c[i].full)
                try_best(s, &c[i]);
        t->since = s->best != best ? 0 : t->since + 1;
        if (at < n) {
            trials_take(s->log, c[at].trial);
            conf_release(&t->now);
            conf_copy(&t->now, &c[at].conf);
            stay(t, &m[at]);
            set_judge(t);
        }
        t->move++;
    }
    for (size_t i = 0; i < n; i++)
        cand_release(&c[i]);
    free(c);
    free(m);
    return n;
}

void
search_tabu(struct search *s)
{
    const double most =
        s->evals > 0.0 ? s->evals : 2.0 * (s->spent > 16.0 ? s->spent : 16.0);
    struct tabu t = { .s = s };
    size_t idle = 0;

    conf_copy(&t.now, &s->log->t[s->best].conf);
    t.until = xcalloc(UNITS * t.now.L, sizeof(*t.until));
    set_judge(&t);
    while (s->spent < most && idle < IDLE) {
        idle =
            step(&t, s->candidates > 0 ? s->candidates : 16) > 0 ? 0 : idle + 1;
        if (idle > 0 || t.since >= s->patience) {
            restart(&t);
            set_judge(&t);
        }
    }
    vnote("%zu moves, best %.4f", t.move, s->log->t[s->best].score.sum);
    conf_release(&t.now);
    free(t.until);
}
