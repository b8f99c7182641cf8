/*
 * Angles of RoPE.  With longrope and dynamic RoPE they depend on the length of
 * a text.  All texts of at most angles_short tokens have the same angles.  A
 * longer text has other angles:
 *   longrope  all longer texts have the same angles
 *   dynamic   each length has angles of its own
 */
#ifndef MODEL_ANGLES_H
#define MODEL_ANGLES_H

#include "base/mem.h"
#include "model/config/config.h"

/* Allocate and fill the angles [T,rotary] of positions 0..T-1 in a short text:
 * *cs for blocks without a window, *local for blocks with one; the two may be
 * the same array.  While planning both are NULL. */
void angles_lay(const struct config *c, size_t T, struct arena *a, float **cs,
    float **local);
/* The most tokens of a text that still has the angles of a short text;
 * SIZE_MAX: angles do not depend on the length. */
size_t angles_short(const struct config *c);
/* Set cs [n,rotary] to the angles of positions from..from+n-1, in blocks
 * without a window, of a text of `length` tokens. */
void angles_text(const struct config *c, size_t length, size_t from, size_t n,
    float *cs);
/* A number for the angles of a text of `length` tokens: two lengths have the
 * same number if their angles are the same.  0: the angles of a short text. */
size_t angles_set(const struct config *c, size_t length);
/* A text was read with the angles of a text of `was` tokens, and now has n
 * tokens.  Must it be read again from its first token?  As in transformers'
 * generate: with longrope, if n is more than angles_short and `was` is not;
 * with dynamic RoPE, never. */
int angles_outgrown(const struct config *c, size_t was, size_t n);
/* The factor by which a query at this position is multiplied (rope_query). */
float angles_query(const struct config *c, size_t position);

#endif
