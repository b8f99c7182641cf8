/* Which source comes next: see mix.h */
#include "data/mix.h"
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
    /* The smallest first. */
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

void
mix_init(struct mix *m, const uint64_t *w, size_t n)
{
    m->n = n;
    m->w = xcalloc(n, sizeof *m->w);
    m->owed = xcalloc(n, sizeof *m->owed);
    m->sum = 0;
    for (size_t i = 0; i < n; i++)
        m->sum += m->w[i] = w[i];
}

void
mix_release(struct mix *m)
{
    free(m->w);
    free(m->owed);
    memset(m, 0, sizeof *m);
}

void
mix_turn(struct mix *m, const uint64_t *w)
{
    m->sum = 0;
    for (size_t i = 0; i < m->n; i++) {
        m->sum += m->w[i] = w[i];
        m->owed[i] = 0;
    }
}

size_t
mix_next(const struct mix *m)
{
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < m->n; i++)
        if (m->w[i] > 0 && (best == SIZE_MAX || m->owed[i] > m->owed[best] ||
            (m->owed[i] == m->owed[best] && m->w[i] > m->w[best])))
            best = i;
    return best;
}

void
mix_took(struct mix *m, size_t i, uint64_t tokens)
{
    /* Weights sum to about 2^30 and debts stay within a few pieces of less
     * than 2^32 tokens, so 63 bits do for any T that fits in memory. */
    for (size_t k = 0; k < m->n; k++)
        m->owed[k] += (int64_t)(m->w[k] * tokens);
    m->owed[i] -= (int64_t)(m->sum * tokens);
}

void
mix_drop(struct mix *m, size_t i)
{
    m->sum -= m->w[i];
    m->w[i] = 0;
    m->owed[i] = 0;
}
