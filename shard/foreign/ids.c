/* Ids inside files: see ids.h */
#include "ids.h"
#include "base/bytes.h"

#include <string.h>

size_t
id_size(enum id_type t)
{
    static const size_t size[] = { 1, 1, 2, 2, 4, 4, 8, 8, 0 };

    return size[t];
}

enum id_type
id_type_of(const char *name, size_t n)
{
    static const char *const names[] = { "uint8", "int8", "uint16", "int16",
        "uint32", "int32", "uint64", "int64" };

    for (int t = 0; t < ID_NONE; t++)
        if (strlen(names[t]) == n && memcmp(names[t], name, n) == 0)
            return (enum id_type)t;
    return ID_NONE;
}

int64_t
id_at(const struct ids_view *v, size_t i)
{
    const size_t size = id_size(v->type);
    const uint64_t u = le_get(v->p + size * i, size);

    switch (v->type) {
    case ID_I8: return (int8_t)u;
    case ID_I16: return (int16_t)u;
    case ID_I32: return (int32_t)u;
    default: return (int64_t)u;
    }
}
