/*
 * Words of a text, folded: case, accents, punctuation and white space do not
 * distinguish texts.  A word is a run of letters and numbers after
 * NFKC_Casefold, without marks (so without accents).  All other characters
 * separate words.  After words_begin_each, each letter of a script that is
 * written without spaces is a word by itself.
 */
#ifndef CLEAN_WORDS_H
#define CLEAN_WORDS_H

#include "base/err.h"
#include "base/mem.h"

#include <stddef.h>
#include <stdint.h>

struct fold;

/* Make the folding table, which threads may share; NULL and *e (EX_SYS): ICU
 * has no data. */
struct fold *fold_new(struct err *e);
void fold_free(struct fold *f);

/* Iterator over the words of UTF-8 text p..end; it can be reused, and is freed
 * by words_release. */
struct words {
    const struct fold *fold;
    const unsigned char *p, *end;
    struct buf word; /* the current word, or the last part of a long one */
    void *hash; /* XXH3 state of a long word's parts before `word`; or NULL */
    int hashed; /* hash has a part of the current word */
    int each;   /* 1: words_begin_each was called */
};
void words_begin(struct words *w, const struct fold *f, const char *text,
    size_t n);
/* As words_begin, but each letter of a script that is written without spaces is
 * a word by itself: ideographs, kana, and the scripts of class SA in Unicode's
 * line breaking (UAX 14: Thai, Lao, Khmer, Myanmar and others). */
void words_begin_each(struct words *w, const struct fold *f, const char *text,
    size_t n);
/* Go to the next word.  1: *hash is the XXH3-64 of its folded UTF-8; w->word
 * has the word, or the last part of a long one.  0: the end. */
int words_next(struct words *w, uint64_t *hash);
void words_release(struct words *w);

#endif
