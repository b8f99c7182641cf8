/*
 * The bytes of a JSON number: which may come next, and where it may end.
 *
 * A number without bounds has at most 18 digits before and after the point, and
 * an exponent of two digits: all common readers read it exactly.  One with
 * bounds (minimum, maximum, exclusiveMinimum, exclusiveMaximum) has no exponent
 * and at most 6 digits after the point, and is written so that it can still
 * come to lie within them.
 */
#ifndef GEN_JSON_NUMBER_H
#define GEN_JSON_NUMBER_H

#include "gen/json_state.h"
#include "gen/schema_impl.h"

#include <jansson.h>

/* Read the bounds of a kind of numbers from the keywords of a schema.  Returns
 * NULL, or why that cannot be done. */
const char *json_number_bounds(const json_t *schema, struct schema_kind *k);

/* Begin a number of kind k with byte c; or add c to the number that the thread
 * t is in.  0: c may not come there. */
int json_number_begin(const struct schema_kind *k, struct json_thread *t,
    unsigned char c);
int json_number_next(const struct schema_kind *k, struct json_thread *t,
    unsigned char c);
/* Is the text of the number so far a whole number, within its bounds?  Then it
 * may end, and it may also go on: 1 and 12. */
int json_number_ends(const struct schema_kind *k, const struct json_thread *t);

#endif
