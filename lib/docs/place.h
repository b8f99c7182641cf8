/* Places in inputs, where reading can be resumed. */
#ifndef DOCS_PLACE_H
#define DOCS_PLACE_H

#include <stddef.h>
#include <stdint.h>

/* A place between two records of an input. */
struct doc_place {
    size_t entry;    /* number of the archive's member, from 0; 0 if there is
                      * no archive */
    uint64_t record; /* records of the member or file before this place */
    uint64_t at;     /* offset of this place in the member or file */
};

/* A place in one of several inputs; the beginning is { 0 }. */
struct doc_cursor {
    size_t input; /* number of the input */
    struct doc_place place;
};

static inline int
doc_cursor_same(const struct doc_cursor *a, const struct doc_cursor *b)
{
    return a->input == b->input && a->place.entry == b->place.entry &&
        a->place.record == b->place.record && a->place.at == b->place.at;
}

#endif
