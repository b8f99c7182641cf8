/* Token ids inside files of other projects. */
#ifndef SHARD_FOREIGN_IDS_H
#define SHARD_FOREIGN_IDS_H

#include <stddef.h>
#include <stdint.h>

/* The integer types of ids. */
enum id_type {
    ID_U8,
    ID_I8,
    ID_U16,
    ID_I16,
    ID_U32,
    ID_I32,
    ID_U64,
    ID_I64,
    ID_NONE
};
size_t id_size(enum id_type t); /* bytes */
/* The type called "uint16", "int32", ...; ID_NONE: there is none. */
enum id_type id_type_of(const char *name, size_t n);

/* An array of ids in a file. */
struct ids_view {
    const unsigned char *p;
    size_t n; /* ids */
    enum id_type type;
    const char *file; /* name of the file, for errors */
    uint64_t at;      /* offset of p in the file */
};
/* Id i as a signed number; a u64 that does not fit gives a negative one. */
int64_t id_at(const struct ids_view *v, size_t i);

#endif
