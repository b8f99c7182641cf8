/*
 * JSON schemas: which JSON documents a text may be.
 *
 * A schema is read once into tables (schema_impl.h).  json_state.h then says
 * after each byte of a text whether the text is still the beginning of a
 * document that the schema allows, and mask.h says which tokens may follow.
 *
 * These keywords of JSON Schema (draft 2020-12) are read: type, properties,
 * required, additionalProperties, items, minItems, maxItems, minLength,
 * maxLength, minimum, maximum, exclusiveMinimum, exclusiveMaximum, enum, const,
 * anyOf, and $ref to a place of the same schema ("#", "#/$defs/name").  true
 * and false are schemas too.  Annotations (title, description, default, ...)
 * are accepted.  A schema with any other keyword is refused: if the keyword
 * were ignored, documents that it forbids could be written.
 *
 * Not every document that a schema allows can be written, only those of one
 * form, which generate-run(1) describes: declared members alone, in the
 * schema's order; little white space; short numbers.
 */
#ifndef GEN_SCHEMA_H
#define GEN_SCHEMA_H

#include "base/err.h"

#include <jansson.h>
#include <stddef.h>

enum { SCHEMA_DEPTH = 64 }; /* arrays and objects, nested, at most */

struct schema;
/* Read a schema; *j is not needed afterwards.  The caller frees the result.
 * NULL and *e (EX_INPUT) "#/place: why": it is no schema, has a keyword that
 * is not read, or allows no document, at least none of SCHEMA_DEPTH. */
struct schema *schema_read(const json_t *j, struct err *e);
/* The schema that allows every object. */
struct schema *schema_object(void);
void schema_free(struct schema *s);
/* Memory of a schema. */
size_t schema_bytes(const struct schema *s);

#endif
