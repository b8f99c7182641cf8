/* Added tokens: they are found in the text before anything else is done. */
#ifndef TOK_ADDED_H
#define TOK_ADDED_H

#include "tok/tok.h"

#include <stddef.h>
#include <stdint.h>

/* An added token; flags are those of the JSON.  s is what is looked for:
 * the name, normalized where the token is. */
struct added {
    const char *s, *name; /* of n and nname bytes, each malloc'd */
    size_t n, nname;
    uint32_t id;
    uint8_t single_word, lstrip, rstrip, normalized, special;
};

/* Added tokens that are looked for together: sorted by content, those that
 * begin with byte c are a[start[c]] .. a[start[c+1]-1]. */
struct added_set {
    struct added *a;
    size_t n;
    size_t start[257];
    int only; /* the one first byte, or -1 */
    int all_special;
    struct aho *aho; /* NULL: never needed */
};

/* Compare two struct added by the text that is looked for, for qsort. */
int added_compare(const void *a, const void *b);
/* Sort and index a set whose a[n] has been filled; of equal contents the
 * caller has left one. */
void added_index(struct added_set *set);
/* Encode text: added tokens first, the rest by bpe_gap. */
void added_encode(const struct tokenizer *t, struct tok_scratch *s,
    const unsigned char *p, size_t n, int flags, struct tok_ids *out);

#endif
