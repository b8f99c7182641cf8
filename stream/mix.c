/* Chooses the next source: see mix.h */
#include "mix.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int
mix_quantise(uint64_t *r, const double *share, size_t n)
{
    double sum = 0.0;

    for (size_t i = 0; i < n; i++)
        sum += share[i];
    if (!(sum > 0.0 && isfinite(sum)))
        return -1;
    for (size_t i = 0; i < n; i++) {
        r[i] = (uint64_t)(share[i] / sum * (double)MIX_ONE + 0.5);
        if (r[i] == 0 && share[i] > 0.0)
            r[i] = 1;
    }
    return 0;
}

int
mix_unimax(double *share, const double *has, size_t n, double cap,
    double budget)
{
    size_t left = n;

    for (size_t i = 0; i < n; i++) {
        share[i] = -1.0;
        if (!(has[i] > 0.0)) {
            share[i] = 0.0;
            left--;
        }
    }
    /* sources with few tokens first: their remainder goes to the others */
    while (left > 0) {
        size_t least = SIZE_MAX;
        double even;

        for (size_t i = 0; i < n; i++)
            if (share[i] < 0.0 && (least == SIZE_MAX || has[i] < has[least]))
                least = i;
        even = budget / (double)left--;
        share[least] = cap * has[least] < even ? cap * has[least] : even;
        budget -= share[least];
    }
    return budget > 0.5 ? -1 : 0;
}

struct match {
    size_t winner;  /* winning source; SIZE_MAX: none takes part */
    uint64_t until; /* valid while `taken` is below this */
};

/* Mark all matches as to be played again. */
static void
replay_all(struct mix *m)
{
    for (size_t k = 0; k < m->leaves; k++)
        m->match[k].until = 0;
}

/* Mark the matches of source i as to be played again. */
static void
replay(struct mix *m, size_t i)
{
    for (size_t k = (m->leaves + i) / 2; k > 0; k /= 2)
        m->match[k].until = 0;
}

void
mix_init(struct mix *m, const uint64_t *w, size_t n)
{
    memset(m, 0, sizeof *m);
    m->n = n;
    m->w = xcalloc(n, sizeof *m->w);
    m->base = xcalloc(n, sizeof *m->base);
    for (m->leaves = 2; m->leaves < n; m->leaves *= 2)
        ;
    m->match = xcalloc(m->leaves, sizeof *m->match);
    mix_turn(m, w);
}

void
mix_release(struct mix *m)
{
    free(m->w);
    free(m->base);
    free(m->match);
    memset(m, 0, sizeof *m);
}

void
mix_turn(struct mix *m, const uint64_t *w)
{
    m->sum = m->taken = 0;
    for (size_t i = 0; i < m->n; i++) {
        m->sum += m->w[i] = w[i];
        m->base[i] = 0;
    }
    replay_all(m);
}

/* 63 bits are enough for any T that fits in memory: weights sum to about 2^30,
 * and a debt is a few pieces of less than 2^32 tokens. */
int64_t
mix_owed(const struct mix *m, size_t i)
{
    return (int64_t)(m->base[i] + m->w[i] * m->taken);
}

void
mix_owe(struct mix *m, size_t i, int64_t owed)
{
    m->base[i] = (uint64_t)owed - m->w[i] * m->taken;
    replay(m, i);
}

/* The winner of the match between sources a < b.  It stays the winner while
 * `taken` is below *until. */
static size_t
match_winner(const struct mix *m, size_t a, size_t b, uint64_t *until)
{
    size_t x = a, y = b;
    int64_t ahead;

    *until = UINT64_MAX;
    if (a == SIZE_MAX || b == SIZE_MAX)
        return a == SIZE_MAX ? b : a;
    ahead = mix_owed(m, a) - mix_owed(m, b);
    if (ahead < 0 || (ahead == 0 && m->w[b] > m->w[a])) {
        x = b;
        y = a;
        ahead = -ahead;
    }
    /* on equal debts the source with the larger weight wins */
    if (m->w[y] > m->w[x]) {
        const uint64_t by = m->w[y] - m->w[x];

        *until = m->taken + ((uint64_t)ahead + by - 1) / by;
    }
    return x;
}

/* The winner of match k, or the source at leaf k. */
static size_t
winner_of(const struct mix *m, size_t k)
{
    if (k < m->leaves)
        return m->match[k].winner;
    k -= m->leaves;
    return k < m->n && m->w[k] > 0 ? k : SIZE_MAX;
}

/* Play match k, and first the matches below it that have to be played again. */
static void
play_match(struct mix *m, size_t k)
{
    struct match *g = &m->match[k];

    if (g->until > m->taken)
        return;
    for (size_t c = 2 * k; c < 2 * k + 2 && c < m->leaves; c++)
        play_match(m, c);
    g->winner = match_winner(m, winner_of(m, 2 * k), winner_of(m, 2 * k + 1),
        &g->until);
    for (size_t c = 2 * k; c < 2 * k + 2 && c < m->leaves; c++)
        if (m->match[c].until < g->until)
            g->until = m->match[c].until;
}

size_t
mix_next(struct mix *m)
{
    play_match(m, 1);
    return m->match[1].winner;
}

void
mix_took(struct mix *m, size_t i, uint64_t tokens)
{
    m->taken += tokens;
    m->base[i] -= m->sum * tokens;
    replay(m, i);
}

void
mix_drop(struct mix *m, size_t i)
{
    m->sum -= m->w[i];
    m->w[i] = 0;
    m->base[i] = 0;
    replay(m, i);
}
