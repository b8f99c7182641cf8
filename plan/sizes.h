/* Shapes from the sizes in a config.json: see shape.h. */
#ifndef PLAN_SIZES_H
#define PLAN_SIZES_H

#include "shape.h"

#include <jansson.h>

/* Set the shape from the sizes in a config.json of a family that families.h
 * knows.  Without model_type it is a file of sizes, which may also have the
 * keys mlp_matrices and dropout.  -1 and *e: a key that matters is missing or
 * not known, or the sizes are impossible. */
int shape_from_sizes(struct shape *s, const json_t *j, struct err *e);

#endif
