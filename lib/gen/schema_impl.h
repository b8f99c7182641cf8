/*
 * The tables of a schema: schema.c fills them, schema_link.c completes them,
 * json_state.c reads them.
 *
 * A place is where a value stands: the root, a member, an item.  Each place has
 * a list of kinds, of which the value must be one; anyOf, $ref and lists of
 * types have become such lists.
 */
#ifndef GEN_SCHEMA_IMPL_H
#define GEN_SCHEMA_IMPL_H

#include "base/mem.h"
#include "gen/schema.h"

#include <stdint.h>

enum kind_type {
    KIND_LITERALS, /* one of the texts first to first + n - 1 */
    KIND_STRING,   /* lo to hi code points */
    KIND_NUMBER,
    KIND_INTEGER,
    KIND_OBJECT, /* the properties first to first + n - 1 */
    KIND_MAP,    /* an object of any names, each with a value of `place` */
    KIND_ARRAY   /* lo to hi items of `place` */
};
#define SCHEMA_NO_LIMIT UINT32_MAX /* as `hi` */

struct schema_kind {
    enum kind_type type;
    uint32_t first, n;
    uint32_t place;
    uint32_t lo, hi;
    int bounded; /* 1: a number of least to most units: see json_number.c */
    int64_t least, most;
    uint32_t depth; /* nesting of its shallowest value: 0 for a scalar, 1 for
                     * [] or {}; more than SCHEMA_DEPTH: no value of it can
                     * be written */
};
struct schema_place {
    uint32_t first, n; /* its kinds: schema.choice[first], ... */
    uint32_t depth;    /* the least `depth` of its kinds */
    uint32_t part;     /* while it is read: its last part + 1, or 0 */
};
/* While a schema is read, a place has a linked list of parts: kinds, and other
 * places whose kinds it gets too. */
struct schema_part {
    int is_place; /* 1: id is a place, all of whose kinds it gets; 0: a kind */
    uint32_t id;
    uint32_t before; /* the place's part before this one + 1, or 0 */
};
/* JSON text of a literal or of a property's name, with its quotes. */
struct schema_text {
    uint32_t off, n;   /* schema.bytes.p + off */
    uint32_t property; /* of a name: index of the property in its object */
};
struct schema_property {
    uint32_t place;
    uint32_t required;
    uint32_t last; /* the last property that may come next, if those before
                    * this one are written or left out: the first required one
                    * from here on, or else the object's last one */
};

struct schema {
    uint32_t root; /* a place */
    struct schema_place *place;
    struct schema_kind *kind;
    uint32_t *choice;
    struct schema_text *text; /* of literals: sorted by their bytes */
    /* properties in the schema's order; their names, sorted by their bytes */
    struct schema_property *property;
    struct schema_text *name;
    struct buf bytes;
    struct schema_part *part;
    size_t places, kinds, choices, texts, properties, parts;
};

enum {
    SCHEMA_PLACES = 1 << 16,  /* places, kinds, texts, properties at most */
    SCHEMA_CHOICES = 1 << 18, /* kinds of all places together, at most */
    SCHEMA_KINDS = 64,        /* kinds of a place, at most */
    SCHEMA_BYTES = 4 << 20    /* bytes of names and literals, at most */
};

/* Complete the tables of a schema whose places have parts: fill `choice`, set
 * depths, remove kinds that have no value.  -1 and *e: the root has none, or a
 * bound is exceeded. */
int schema_link(struct schema *s, struct err *e);

#endif
