/*
 * Words of a text in a form that duplicates share: letters and numbers under
 * NFKC_Casefold without marks (so no accents); everything else separates.
 */
#ifndef CLEAN_WORDS_H
#define CLEAN_WORDS_H

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
    struct buf word;
    void *hash; /* of a long one, before what word holds; or NULL */
    int hashed;
};
void words_begin(struct words *w, const struct fold *f, const char *text,
    size_t n);
/* 1 and the XXH3-64 of the next word's UTF-8 (whose last 64 KiB w->word then
 * holds); 0 at the end. */
int words_next(struct words *w, uint64_t *hash);
void words_release(struct words *w);

#endif
