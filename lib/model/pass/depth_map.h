/*
 * The teacher's block that each block of a student is compared with.
 *
 * If the student was cut from this teacher (config.json's retort.kept, equal
 * widths): the block that the student's block was cut from.
 *
 * Otherwise: the block at the same relative depth.  Block i of the student's
 * 1..Ls goes with the teacher's block nearest to i Lt / Ls of 1..Lt.  So the
 * last blocks go together, and in models of equal depth blocks of the same
 * number.
 */
#ifndef MODEL_DEPTH_MAP_H
#define MODEL_DEPTH_MAP_H

#include "base/err.h"
#include "model/files/model.h"

/* Set map [s->c.L] to the teacher's blocks, counted from 0, for a teacher of L
 * blocks of width d.  *how: how they were chosen, in words for a note.  -1:
 * EX_INPUT, s was cut from a model of more than L blocks. */
int depth_map(const struct model *s, size_t L, size_t d, size_t *map,
    const char **how, struct err *e);

#endif
