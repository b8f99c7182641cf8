/*
 * Words of a text in a form that duplicates share: letters and numbers under
 * NFKC_Casefold without marks (so no accents); everything else separates.
 */
#ifndef TOKENIZE_WORDS_H
#define TOKENIZE_WORDS_H

#include "base/err.h"
#include "base/mem.h"

#include <stddef.h>
#include <stdint.h>

struct fold;

/* The table that folds characters, read by any number of threads; NULL and
 * *e (EX_SYS) when ICU has no data. */
struct fold *fold_new(struct err *e);
void fold_free(struct fold *f);

/* A walk over the words of text p..end, which is UTF-8; word is memory of
 * its own that is reused, see words_release. */
struct words {
    const struct fold *fold;
    const unsigned char *p, *end;
    int more;               /* text follows this part */
    int open;               /* word holds the beginning of one */
    struct buf word;
    void *hash;             /* of a long one, before what word holds; or NULL */
    int hashed;
};
void words_begin(struct words *w, const struct fold *f, const char *text,
    size_t n);
/* The same where the text comes in parts, of whole characters: words_begin
 * with none, then words_part with each; more: it is not the last. */
void words_part(struct words *w, const char *text, size_t n, int more);
/* 1 and the XXH3-64 of the next word's UTF-8 (whose last 64 KiB w->word then
 * holds); 0 at the end, or that of a part. */
int words_next(struct words *w, uint64_t *hash);
void words_release(struct words *w);

#endif
