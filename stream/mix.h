/*
 * Chooses the next source: the one that has given the fewest tokens compared
 * with its weight.  Debts to sources are counted exactly, in integers.  When a
 * source gives n tokens, every source is owed its share of them: owed[i] +=
 * w[i] * n; and the source that gave them is owed less: owed -= n * sum(w).  So
 * debts add up to 0 (until mix_drop), and a source is at most one piece ahead.
 */
#ifndef STREAM_MIX_H
#define STREAM_MIX_H

#include <stddef.h>
#include <stdint.h>

#define MIX_ONE ((uint64_t)1 << 30) /* about the sum of all weights */

/* Debts change with each token, faster for larger weights.  So the struct keeps
 * the debts that sources had at taken = 0.  The largest debt is found by a
 * tournament: each match knows for how long its winner stays the winner. */
struct mix {
    size_t n;
    uint64_t *w;         /* [n] weight; 0: takes no part, or no more */
    uint64_t *base;      /* [n] owed[i] - w[i] * taken, modulo 2^64 */
    uint64_t taken;      /* tokens taken so far */
    uint64_t sum;        /* sum of w */
    size_t leaves;       /* a power of two */
    struct match *match; /* [leaves] matches; 1 is the root, k has 2k and 2k+1
                          * below it */
};

/* r[i] = share[i] / sum(share) * MIX_ONE; at least 1 if share[i] > 0, else 0.
 * Shares are finite and >= 0.  -1: none is positive. */
int mix_quantise(uint64_t *r, const double *share, size_t n);
/*
 * UniMax (Chung et al., arXiv:2304.09151): sources get equal numbers of the
 * `budget` tokens, but source i at most cap times its has[i] tokens; other
 * sources share the remainder.  Sets share[i] to the tokens of source i.  -1:
 * cap times all tokens are less than the budget.
 */
int mix_unimax(double *share, const double *has, size_t n, double cap,
    double budget);
/* Begin with weights w (copied) and no debts. */
void mix_init(struct mix *m, const uint64_t *w, size_t n);
void mix_release(struct mix *m);
/* Index of the source with the largest debt; at equal debt, the larger weight,
 * then the lower index wins.  SIZE_MAX: no source is left. */
size_t mix_next(struct mix *m);
/* Count `tokens` (< 2^32) taken from source i. */
void mix_took(struct mix *m, size_t i, uint64_t tokens);
/* Debt to source i, in tokens times sum(w). */
int64_t mix_owed(const struct mix *m, size_t i);
void mix_owe(struct mix *m, size_t i, int64_t owed);
/* Set new weights and forget all debts. */
void mix_turn(struct mix *m, const uint64_t *w);
/* Remove source i, which is exhausted, and forget its debt. */
void mix_drop(struct mix *m, size_t i);

#endif
