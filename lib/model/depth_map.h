/*
 * The teacher's block that each block of a student is compared with.  Each
 * block of a student that was cut from its teacher (config.json's retort.kept,
 * the same width) is compared with the block that it was cut from.  Any other
 * student's block i of 1..Ls is compared with the teacher's block at the same
 * relative depth, the nearest to i Lt / Ls of 1..Lt: so the last blocks go
 * together, and in models of equal depth each block goes with the one of its
 * number.
 */
#ifndef MODEL_DEPTH_MAP_H
#define MODEL_DEPTH_MAP_H

#include "base/err.h"
#include "model/model.h"

/* Set map [s->c.L] to the teacher's blocks, counted from 0, for a teacher of L
 * blocks of width d.  *how: how they were chosen, in words for a note.  -1:
 * EX_INPUT, s was cut from a model of more than L blocks. */
int depth_map(const struct model *s, size_t L, size_t d, size_t *map,
    const char **how, struct err *e);

#endif
