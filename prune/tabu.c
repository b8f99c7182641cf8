/*
 * Tabu search (Glover, ORSA Journal on Computing 1 and 2, 1989 and 1990).  Each
 * move draws some neighbours of a configuration and continues with the best of
 * these, even if it is worse.  Pieces that a move has changed may not be
 * changed back for some moves, unless the result is better than the best
 * configuration so far.
 */
#include "tabu.h"
#include "candidates.h"
#include "channels.h"
#include "units.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TRIES = 64, IDLE = 20 };
enum {
    TENURE = 6,   /* a piece that a move has changed is tabu for 6 moves */
    PATIENCE = 12 /* after 12 moves without improvement the search goes back to
                   * the best configuration */
};

struct tabu {
    struct search *s;
    struct conf now; /* the present configuration */
    size_t *until;   /* [UNITS,L] first move at which a piece may change
                      * again */
    size_t move;     /* moves so far */
    size_t since;    /* moves since a new best was found */
    uint64_t draws;
};

struct move {
    struct piece p[2];
    size_t n;
};

static size_t
draw_below(struct tabu *t, size_t n)
{
    return (size_t)(rng_u64(t->s->seed, t->draws++) % n);
}

/* Address of the element of t->until that belongs to a piece. */
static size_t *
free_from(const struct tabu *t, struct piece p)
{
    return &t->until[unit_index(p.unit) * t->now.L + p.block];
}

/* Draw two pieces of this unit that can be dropped, or if `gone`, restored. Set
 * *out to the one of less (gone: more) influence; for groups and channels, to
 * the first one drawn.  -1: there are none. */
static int
pick_piece(struct tabu *t, const struct conf *c, enum unit unit, int gone,
    struct piece *out)
{
    const struct search *s = t->s;
    size_t *list = xcalloc(c->L, sizeof(*list)), n = 0;
    struct piece a, b;

    for (size_t i = 0; i < c->L; i++) {
        const struct piece p = { unit, i };

        if (gone ? piece_gone(s, c, p) : piece_there(s, c, p))
            list[n++] = i;
    }
    if (n > 0) {
        a = (struct piece){ unit, list[draw_below(t, n)] };
        b = (struct piece){ unit, list[draw_below(t, n)] };
        *out = a;
        if (unit != UNIT_GROUPS && unit != UNIT_CHANNELS &&
            (piece_influence(s, c, b) < piece_influence(s, c, a)) != gone)
            *out = b;
    }
    free(list);
    return n > 0 ? 0 : -1;
}

/* ---- moves ---- */

static int
drop_unit(struct tabu *t, struct conf *c, enum unit unit, struct move *m)
{
    if (pick_piece(t, c, unit, 0, &m->p[m->n]) < 0)
        return -1;
    piece_drop(t->s, c, m->p[m->n++]);
    return 0;
}

static int
restore_unit(struct tabu *t, struct conf *c, enum unit unit, struct move *m)
{
    if (pick_piece(t, c, unit, 1, &m->p[m->n]) < 0)
        return -1;
    piece_restore(t->s, c, m->p[m->n++]);
    return 0;
}

/* Move channels from one block to another. */
static int
shift_channels(struct tabu *t, struct conf *c, struct move *m)
{
    const size_t steps = (size_t)1 << draw_below(t, 3);

    if (drop_unit(t, c, UNIT_CHANNELS, m) < 0 ||
        restore_unit(t, c, UNIT_CHANNELS, m) < 0)
        return -1;
    for (size_t i = 1; i < steps; i++) {
        if (!piece_there(t->s, c, m->p[0]) || !piece_gone(t->s, c, m->p[1]))
            break;
        piece_drop(t->s, c, m->p[0]);
        piece_restore(t->s, c, m->p[1]);
    }
    return m->p[0].block != m->p[1].block ? 0 : -1;
}

/* Change c by a random move, and make it meet the goal; -1: the move is not
 * possible, or c cannot meet the goal. */
static int
change_conf(struct tabu *t, struct conf *c, struct move *m)
{
    static const enum unit units[] = { UNIT_BLOCKS, UNIT_ATTN, UNIT_MLP,
        UNIT_GROUPS };
    const struct goal *g = &t->s->g;
    const enum unit u = units[draw_below(t, 4)];
    const size_t kind = draw_below(t, 4);
    int r;

    m->n = 0;
    switch (kind) {
    case 0: r = drop_unit(t, c, u, m); break;
    case 1: r = restore_unit(t, c, u, m); break;
    case 2: r = g->ranked ? shift_channels(t, c, m) : -1; break;
    default:
        r = drop_unit(t, c, u, m);
        r = r < 0 ? r : restore_unit(t, c, u, m);
        break;
    }
    if (r < 0 || conf_blocks(c) == 0 ||
        (g->blocks > 0 && conf_blocks(c) != g->blocks))
        return -1;
    /* refitting would undo a shift */
    return kind == 2 ? (meets_limits(t->s, c) ? 0 : -1)
                     : channels_fit(t->s, c, 1);
}

static int
is_tabu(const struct tabu *t, const struct move *m)
{
    for (size_t i = 0; i < m->n; i++)
        if (t->move < *free_from(t, m->p[i]))
            return 1;
    return 0;
}

/* Was `new` tried in this run, or is it among c[n]? */
static int
was_tried(const struct tabu *t, const struct cand *new, const struct cand *c,
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

/* Fill c with up to `most` neighbours of t->now that have not been tried, and m
 * with the moves to them.  Returns the number of neighbours. */
static size_t
make_neighbours(struct tabu *t, struct cand *c, struct move *m, size_t most)
{
    size_t n = 0;

    for (size_t i = 0; i < TRIES * most && n < most; i++) {
        struct conf conf;

        conf_copy(&conf, &t->now);
        if (change_conf(t, &conf, &m[n]) < 0) {
            conf_release(&conf);
            continue;
        }
        cand_init(&c[n], t->s, "move", &conf);
        if (was_tried(t, &c[n], c, n))
            cand_release(&c[n]);
        else
            n++;
    }
    return n;
}

/* ---- the walk ---- */

static void
hold_pieces(struct tabu *t, const struct move *m)
{
    for (size_t i = 0; i < m->n; i++)
        *free_from(t, m->p[i]) = t->move + TENURE + 1;
}

/* Continue from the best configuration so far, after two random changes. */
static void
restart_at_best(struct tabu *t)
{
    struct move m;

    conf_release(&t->now);
    conf_copy(&t->now, &t->s->log->t[t->s->best].conf);
    memset(t->until, 0, UNITS * t->now.L * sizeof(*t->until));
    for (size_t i = 0, done = 0; i < TRIES && done < 2; i++) {
        struct conf c;

        conf_copy(&c, &t->now);
        if (change_conf(t, &c, &m) == 0) {
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

    order_choice(t->s->order, &t->now, t->s->j->m, &c);
    judge_set(t->s->j, &c, 0);
    choice_release(&c);
}

/* Index of the best candidate in c[n] whose move m[i] is not tabu, or that
 * beats the best trial so far; n: there is none. */
static size_t
best_admissible(const struct tabu *t, const struct cand *c,
    const struct move *m, size_t n)
{
    const double best = t->s->log->t[t->s->best].score.sum;
    size_t at = n;

    for (size_t i = 0; i < n; i++)
        if (c[i].full && (!is_tabu(t, &m[i]) || c[i].score.sum < best) &&
            (at == n || c[i].score.sum < c[at].score.sum))
            at = i;
    return at;
}

/* Make a move; returns how many neighbours were tried. */
static size_t
make_move(struct tabu *t, size_t most)
{
    struct search *s = t->s;
    struct cand *c = xcalloc(most, sizeof(*c));
    struct move *m = xcalloc(most, sizeof(*m));
    const size_t n = make_neighbours(t, c, m, most), best = s->best;
    size_t at;

    if (n > 0) {
        cand_score_all(s, c, n);
        at = best_admissible(t, c, m, n);
        for (size_t i = 0; i < n; i++)
            if (c[i].full)
                cand_keep_best(s, &c[i]);
        t->since = s->best != best ? 0 : t->since + 1;
        if (at < n) {
            search_log_take(s->log, c[at].trial);
            conf_release(&t->now);
            conf_copy(&t->now, &c[at].conf);
            hold_pieces(t, &m[at]);
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
        idle = make_move(&t, s->candidates > 0 ? s->candidates : 16) > 0
            ? 0
            : idle + 1;
        if (idle > 0 || t.since >= PATIENCE) {
            restart_at_best(&t);
            set_judge(&t);
        }
    }
    vnote("%zu moves, best %.4f", t.move, s->log->t[s->best].score.sum);
    conf_release(&t.now);
    free(t.until);
}
