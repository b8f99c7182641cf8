/* The number of parameters that a model's safetensors files hold, as a check of
 * the shape that its config.json gives. */
#ifndef PLAN_STORED_H
#define PLAN_STORED_H

#include "shape.h"

#include <jansson.h>

/* Compare the shape with model.safetensors.index.json, or the header of
 * model.safetensors, in the folder dir, whose config.json is j.  Nothing is
 * compared if there is neither, if weights are quantised, if the files have
 * blocks that predict further tokens (DeepSeek-V3), or if the model was cut by
 * prune, which may pad blocks by zeros.  -1 and *e: the numbers of parameters
 * differ by more than 1 %, also if a tied head is counted twice. */
int stored_check(const struct shape *s, const json_t *j, const char *dir,
    struct err *e);

#endif
