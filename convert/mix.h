/* Merging tensors of several models, as mergekit does. */
#ifndef CONVERT_MIX_H
#define CONVERT_MIX_H

#include <stddef.h>

/* x: n tensors of `size` numbers; out may be x[0]. */

/* The mean. */
void mix_average(float *const *x, size_t n, size_t size, float *out);
/* Spherical interpolation from x[0] (t 0) to x[1] (t 1): the angle between the
 * tensors is divided, lengths are not changed (Shoemake,
 * doi:10.1145/325334.325242).  Linear if the cosine of the angle is beyond
 * 0.9995. */
void mix_slerp(float *const *x, double t, size_t size, float *out);
/* TIES (arXiv:2306.01708): x[0] is the base of the others.  Of each difference
 * to it the `density` share of largest magnitude is kept (of equal ones the
 * first); an element of the result is the base plus the mean of those kept
 * differences that have the sign of their sum. */
void mix_ties(float *const *x, size_t n, double density, size_t size,
    float *out);

#endif
