/*
 * A gradient as a sketch, instead of a copy of it: each element, by a sign and
 * a place both taken by chance, is added to one of 65,536 sums.  The sketch is
 * linear, and its length that of the gradient give or take 0.3 %: so is the
 * length of the difference of two.
 * Charikar, Chen, Farach-Colton, doi:10.1007/3-540-45465-9_59.
 */
#ifndef STUDENT_SKETCH_H
#define STUDENT_SKETCH_H

#include "model/backward.h"

/* Sketch of t's gradient sums; the caller frees it. */
double *sketch_new(const struct tmodel *t);
/* |a - b| / |a| */
double sketch_distance(const double *a, const double *b);

#endif
