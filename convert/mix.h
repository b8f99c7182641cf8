/* Merging tensors of several models, as mergekit does. */
#ifndef CONVERT_MIX_H
#define CONVERT_MIX_H

#include <stddef.h>

/* x: n tensors of `size` fp32 numbers; out [size] may be x[0]. */

/* Mean of the tensors. */
void mix_average(float *const *x, size_t n, size_t size, float *out);
/* Spherical interpolation from x[0] (t = 0) to x[1] (t = 1): x[0] sin((1-t) a)
 * / sin a + x[1] sin(t a) / sin a, where a is the angle between x[0] and x[1]
 * (Shoemake, doi:10.1145/325334.325242).  Linear if |cos a| > 0.9995. */
void mix_slerp(float *const *x, double t, size_t size, float *out);
/* TIES (arXiv:2306.01708): x[0] is the base.  In each difference x[k] - x[0],
 * only the `density` share of numbers with the largest magnitude is kept (of
 * equal ones the first).  Each number of the result is the base's plus the mean
 * of its kept differences that have the sign of the sum of all its kept
 * differences. */
void mix_ties(float *const *x, size_t n, double density, size_t size,
    float *out);

#endif
