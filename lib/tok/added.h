/* Added tokens, which are found in the text before anything else is done. */
#ifndef TOK_ADDED_H
#define TOK_ADDED_H

#include "tok/tok.h"

#include <stddef.h>
#include <stdint.h>

/* An added token, with the flags of the JSON.  s: the text that is searched
 * for, which is the name, normalized if `normalized` is set. */
struct added {
    const char *s, *name; /* of n and nname bytes, each malloc'd */
    size_t n, nname;
    uint32_t id;
    uint8_t single_word, lstrip, rstrip, normalized, special;
};

/* Added tokens that are searched for together, sorted by s: those that begin
 * with byte c are a[start[c]] .. a[start[c+1]-1]. */
struct added_set {
    struct added *a;
    size_t n;
    size_t start[257];
    int only; /* first byte of all tokens, -1: they differ */
    int all_special;
    struct aho *aho; /* NULL: the tokens never need it */
};

/* Compare two struct added by s, for qsort. */
int added_compare(const void *a, const void *b);
/* Sort and index a set whose a[n] has been filled, with no two equal s. */
void added_index(struct added_set *set);
/* Encode text: added tokens first, the rest by bpe_gap. */
void added_encode(const struct tokenizer *t, struct tok_scratch *s,
    const unsigned char *p, size_t n, int flags, struct tok_ids *out);

#endif
