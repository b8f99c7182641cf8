/* Added tokens, which are found in the text before anything else is done. */
#ifndef TOK_ADDED_H
#define TOK_ADDED_H

#include "tok/tok.h"

#include <stddef.h>
#include <stdint.h>

/* An added token, with the flags of the JSON.  s: the text to look for: the
 * name, normalized if `normalized` is set. */
struct added {
    const char *s, *name; /* [n] and [nname] bytes, each malloc'd */
    size_t n, nname;
    uint32_t id;
    uint8_t single_word, lstrip, rstrip, normalized, special;
};

/* A set of added tokens, sorted by s.  Those that begin with byte c are
 * a[start[c]] .. a[start[c+1]-1]. */
struct added_set {
    struct added *a;
    size_t n;
    size_t start[257];
    int only; /* first byte of all tokens; -1: first bytes differ */
    int all_special;
    struct aho *aho; /* NULL: longest() in added.c is fast enough */
};

/* Compare two struct added by s, for qsort. */
int added_compare(const void *a, const void *b);
/* Sort and index a set whose a[n] has been filled, with no two equal s. */
void added_index(struct added_set *set);
/* Encode a text: find added tokens, and encode the text between them by
 * norm_run and pre_gap, or by sp_text. */
void added_encode(const struct tokenizer *t, struct tok_scratch *s,
    const unsigned char *p, size_t n, int flags, struct tok_ids *out);

#endif
