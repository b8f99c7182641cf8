/* Places in inputs, at which reading goes on. */
#ifndef DOCS_PLACE_H
#define DOCS_PLACE_H

#include <stddef.h>
#include <stdint.h>

/* A place between two records of an input. */
struct doc_place {
    size_t entry;    /* members before this one, 0 without archive */
    uint64_t record; /* records of it before this place */
    uint64_t at;     /* bytes of its content before this place */
};

/* A place in one of several inputs; the beginning is { 0 }. */
struct doc_cursor {
    size_t input; /* its number */
    struct doc_place place;
};

static inline int
doc_cursor_same(const struct doc_cursor *a, const struct doc_cursor *b)
{
    return a->input == b->input && a->place.entry == b->place.entry &&
        a->place.record == b->place.record && a->place.at == b->place.at;
}

#endif
