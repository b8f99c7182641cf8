/* Merging the symbols of a long piece a window at a time. */
#ifndef TOK_WINDOW_H
#define TOK_WINDOW_H

#include "tok/tokenizer.h"

/* A reader of the symbols of the text p .. end: next() writes the next ones to
 * id[room], room >= SYMBOLS_ROOM, and returns how many, 0 at the end.  A text
 * has at most one symbol for each byte, and one more.  bytes: each symbol
 * stands for one byte, and next() writes it to byte[] unless that is NULL. */
#define SYMBOLS_ROOM 8
struct symbols {
    size_t (*next)(const struct tokenizer *t, struct symbols *x, uint32_t *id,
        size_t room);
    const unsigned char *p, *end;
    int bytes;
    unsigned char *byte;
    int waits, lead; /* of sp.c: an unknown token is delayed; U+2581 comes
                      * first */
};
/* Merge the symbols of x and append the ids, in linear time and constant memory
 * for all but contrived vocabularies. */
void window_merge(const struct tokenizer *t, struct tok_scratch *s,
    const struct symbols *x, struct tok_ids *out);

#endif
