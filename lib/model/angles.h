/* Angles of RoPE for the passes.  Private to lib/model. */
#ifndef MODEL_ANGLES_H
#define MODEL_ANGLES_H

#include "base/mem.h"
#include "model/config.h"

/* Allocate and fill the angles [T,rotary] of positions 0..T-1 in a text of
 * `length` tokens: *cs for blocks without a window, *local for blocks with one;
 * the two may be the same array.  While planning both are NULL. */
void angles_lay(const struct config *c, size_t T, size_t length,
    struct arena *a, float **cs, float **local);
/* The most tokens of a text that still has the angles of a short text;
 * SIZE_MAX: angles do not depend on the length. */
size_t angles_short(const struct config *c);
/* Set cs [n,rotary] to the angles of positions from..from+n-1, in blocks
 * without a window, of a text of from+n tokens. */
void angles_text(const struct config *c, size_t from, size_t n, float *cs);
/* The factor by which a query at this position is multiplied (rope_query). */
float angles_query(const struct config *c, size_t position);

#endif
