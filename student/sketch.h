/* Count sketch of a gradient, instead of a copy of it: each element, with a
 * random sign, is added to one of 65,536 sums chosen at random.  The sketch has
 * the norm of the gradient to 0.3 %.  As sketches are linear, this holds for
 * the difference of two gradients too.  (Charikar, Chen, Farach-Colton,
 * doi:10.1007/3-540-45465-9_59.) */
#ifndef STUDENT_SKETCH_H
#define STUDENT_SKETCH_H

#include "model/pass/backward.h"

/* Sketch of t's gradient sums; the caller frees it. */
double *sketch_new(const struct tmodel *t);
/* |a - b| / |a| */
double sketch_distance(const double *a, const double *b);

#endif
