/*
 * Measures the seconds that parts of a model take on this machine: attention
 * with a number of KV groups, an MLP with a number of channels, and the head.
 */
#ifndef PRUNE_LATENCY_H
#define PRUNE_LATENCY_H

#include "base/pool.h"
#include "model/files/model.h"

#include <stddef.h>

enum shape_part { SHAPE_ATTN, SHAPE_MLP, SHAPE_HEAD };
struct shapes;

/* Begin with the times in `file` (NULL: none), to which new times are appended.
 * All times are for rows of T tokens.  Dies. */
struct shapes *shapes_open(const struct model *m, size_t T, struct pool *pool,
    const char *file);
void shapes_close(struct shapes *s);
/* Seconds of the part with n groups or channels (head: 1), measured when they
 * are first asked for.  Dies. */
double shapes_seconds(struct shapes *s, enum shape_part part, size_t n);

#endif
