/*
 * Chooses the next source: the one that lacks most of what its weight promises
 * (largest deficit), counted in tokens and exactly, in integers.  When n tokens
 * are taken from one source, every source is owed its share of them: owed[i] +=
 * w[i] * n, and the one that gave them loses n * sum(w).  The sum of owed is
 * always 0; a source that is ahead is at most one piece ahead.
 */
#ifndef STREAM_MIX_H
#define STREAM_MIX_H

#include <stddef.h>
#include <stdint.h>

#define MIX_ONE ((uint64_t)1 << 30) /* about the sum of all weights */

/* Debts grow with each token, faster where the weight is larger.  So the struct
 * keeps them as they were when no token had been taken, and finds the largest
 * in a tournament: each match knows for how many tokens its winner stays the
 * winner. */
struct mix {
    size_t n;
    uint64_t *w;         /* [n] 0: takes no part (any more) */
    uint64_t *base;      /* [n] owed[i] - w[i] * taken, modulo 2^64 */
    uint64_t taken;      /* tokens */
    uint64_t sum;        /* of w */
    size_t leaves;       /* a power of two */
    struct match *match; /* [leaves] 1 is the root */
};

/* r[i] = share[i] / sum(share) * MIX_ONE, at least 1 where share[i] > 0; 0
 * elsewhere.  Shares are finite and >= 0; -1 when none is positive. */
int mix_quantise(uint64_t *r, const double *share, size_t n);
/*
 * UniMax (Chung et al., arXiv:2304.09151): of `budget` tokens every source gets
 * the same, but none more than cap times what it has; what it leaves is for
 * the others.  share[i]: tokens of source i.  -1: even all of them, cap times,
 * are less than the budget.
 */
int mix_unimax(double *share, const double *has, size_t n, double cap,
    double budget);
/* Begin with weights w (copied) and no debts. */
void mix_init(struct mix *m, const uint64_t *w, size_t n);
void mix_release(struct mix *m);
/* The source that is due, the first of equals; SIZE_MAX: all have left. */
size_t mix_next(struct mix *m);
/* Count tokens (< 2^32) that were taken from source i. */
void mix_took(struct mix *m, size_t i, uint64_t tokens);
/* Tokens that source i is owed, times sum(w). */
int64_t mix_owed(const struct mix *m, size_t i);
void mix_owe(struct mix *m, size_t i, int64_t owed);
/* Take new weights and forget the debts. */
void mix_turn(struct mix *m, const uint64_t *w);
/* Take source i, which is exhausted, out, and forget its debt. */
void mix_drop(struct mix *m, size_t i);

#endif
