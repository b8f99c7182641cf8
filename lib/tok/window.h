/* Merging the symbols of a long piece a window at a time. */
#ifndef TOK_WINDOW_H
#define TOK_WINDOW_H

#include "tok/tokenizer.h"

/* A reader of the symbols of the text p .. end: next() writes the next symbols
 * to id[room], room >= SYMBOLS_ROOM, and returns their number, 0 at the end.  A
 * text of n bytes has at most n + 1 symbols.  bytes: 1: each symbol stands for
 * one byte, which next() writes to byte[] unless byte is NULL. */
#define SYMBOLS_ROOM 8
struct symbols {
    size_t (*next)(const struct tokenizer *t, struct symbols *x, uint32_t *id,
        size_t room);
    const unsigned char *p, *end;
    int bytes;
    unsigned char *byte;
    int waits; /* for sp.c: 1: an unknown token is delayed */
    int lead;  /* for sp.c: 1: a U+2581 comes first */
};
/* Merge the symbols of x and append the ids.  Takes linear time and constant
 * memory, except with contrived vocabularies. */
void window_merge(const struct tokenizer *t, struct tok_scratch *s,
    const struct symbols *x, struct tok_ids *out);

#endif
