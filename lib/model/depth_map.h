/*
 * The teacher's block that each block of a student is compared with.  A student
 * that was cut from its teacher (config.json's retort.kept, the same width) has
 * the blocks it was cut from.  Any other student has, for block i of 1..Ls, the
 * teacher's block at the same relative depth, the nearest to i Lt / Ls of
 * 1..Lt: so the last has the last, and blocks of equally deep models have each
 * other.
 */
#ifndef MODEL_DEPTH_MAP_H
#define MODEL_DEPTH_MAP_H

#include "base/err.h"
#include "model/model.h"

/* map [s->c.L], blocks counted from 0, for a teacher of L blocks of width d.
 * *how: how they were found, for people.  -1:
 * EX_INPUT, it was cut from a deeper model than that. */
int depth_map(const struct model *s, size_t L, size_t d, size_t *map,
    const char **how, struct err *e);

#endif
