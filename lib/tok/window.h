/* Merging the symbols of a long piece a window at a time. */
#ifndef TOK_WINDOW_H
#define TOK_WINDOW_H

#include "tok/tokenizer.h"

/* The symbols of the text p .. end: next() writes the next ones to id[room],
 * room >= SYMBOLS_ROOM, and returns how many, 0 at the end.  All in all there
 * is at most one for each byte, and one more.  bytes: each symbol is that of a
 * byte, which next() writes to byte[] too unless that is NULL. */
#define SYMBOLS_ROOM 8
struct symbols {
    size_t (*next)(const struct tokenizer *t, struct symbols *x, uint32_t *id,
        size_t room);
    const unsigned char *p, *end;
    int bytes;
    unsigned char *byte;
    int waits, lead; /* of sp.c: an unknown token waits; U+2581 comes first */
};
/* Merge the symbols of x and append the ids, in linear time and constant memory
 * for all but contrived vocabularies. */
void window_merge(const struct tokenizer *t, struct tok_scratch *s,
    const struct symbols *x, struct tok_ids *out);

#endif
