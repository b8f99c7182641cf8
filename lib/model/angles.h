/*
 * Angles of RoPE, which with longrope and dynamic RoPE depend on the length of
 * a text.  A text up to angles_short tokens long has the angles of a short
 * text.  A longer one has those of its length:
 *   longrope  one set for all longer texts
 *   dynamic   another set for each length
 */
#ifndef MODEL_ANGLES_H
#define MODEL_ANGLES_H

#include "base/mem.h"
#include "model/config.h"

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
/* A number that texts of two lengths share if they have the same angles; 0: a
 * short text's. */
size_t angles_set(const struct config *c, size_t length);
/* Does a text that was read with the angles of `was` tokens have to be read
 * again, from its first token, now that it has n?  Only with longrope, when the
 * text ceases to be short.  With dynamic RoPE keys that are kept stay as they
 * are.  Both as in transformers' generate. */
int angles_outgrown(const struct config *c, size_t was, size_t n);
/* The factor by which a query at this position is multiplied (rope_query). */
float angles_query(const struct config *c, size_t position);

#endif
