/*
 * Scales of quantised groups by least squares.  Eight groups lie side by side:
 * x[8 * i + g] is number i of group g, so that a vector has one number of each.
 * The code (quant_fit_lanes.h) is plain C that quant_fit_ref.c and
 * quant_fit_avx2.c compile for their instruction sets; both give the same bits.
 */
#ifndef KERN_QUANT_FIT_H
#define KERN_QUANT_FIT_H

#include <stddef.h>

enum { FIT_LANES = 8, FIT_MOST = 32 }; /* groups; numbers in a group, at most */

/* Candidates of a search: candidate k = from, ..., to divides a range into
 * levels + first + k * step steps of a code.  The range is from the low found
 * so far (at first the smallest number, 0 if that is positive) to the largest
 * number; for signed codes, from 0 to the number of largest magnitude. */
struct fit_grid {
    float first, step;
    int from, to;
};

/* Results for each group. */
struct fit {
    float scale[FIT_LANES], low[FIT_LANES]; /* numbers x are about scale * code
                                             * + low */
    float least[FIT_LANES];   /* what code 0 stood for in the search; 0 if
                               * codes are signed */
    float inverse[FIT_LANES]; /* the search rounded inverse * (x - least) to
                               * codes; 0: all codes are 0 */
};

struct fit_kern {
    /* Find scale >= 0 and low <= 0 with the least sum of w (scale * code + low
     * - x)^2 among the candidates, codes 0..levels, for groups of n numbers x
     * with weights w >= 0. */
    void (*range)(const float *x, const float *w, size_t n, float levels,
        const struct fit_grid *grid, struct fit *f);
    /* Find the scale, of any sign, for signed codes -levels..levels-1 in the
     * same way; low is 0. */
    void (*scale)(const float *x, const float *w, size_t n, float levels,
        const struct fit_grid *grid, struct fit *f);
    /* Set error [8] to each group's sum of w (scale * code + low - x)^2 with
     * the best codes 0..levels. */
    void (*error)(const float *x, const float *w, size_t n, float levels,
        const float *scale, const float *low, float *error);
};
extern const struct fit_kern fit_kern_ref, fit_kern_avx2;

/* Round a to the nearest integer, ties to the even one, for |a| < 2^22: the sum
 * has no bits for a fraction. */
static inline float
fit_near(float a)
{
    return (a + 0x1.8p23f) - 0x1.8p23f;
}

/* a between least and most; least if a is NaN. */
static inline float
fit_clamp(float a, float least, float most)
{
    a = a > least ? a : least;
    return a < most ? a : most;
}

#endif
