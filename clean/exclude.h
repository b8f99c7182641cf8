/*
 * Held-out text, and whether a document holds a part of it: a gram, which is
 * so many words in a row (words.h), 13 as Brown et al. (arXiv:2005.14165,
 * appendix C) have it.
 *
 * A held-out text of fewer words, but of at least 8, is one gram.  Of a
 * document of fewer words, but of at least 8, it is asked whether all of it
 * stands in held-out text.  Where grams are shorter than 8 words, so are
 * texts that count.  Words are compared by their 64-bit hashes, one by one.
 */
#ifndef CLEAN_EXCLUDE_H
#define CLEAN_EXCLUDE_H

#include "docs/docs.h"
#include "words.h"

#include "cli/opt.h"

#define EXCLUDE_WORDS 13
#define EXCLUDE_MOST 100

struct exclude;
/* Read the files, as tokenize reads its inputs and with the same limits (in,
 * run; a document may always have 64 MiB); of JSONL all strings, wherever they
 * are in a record, each a text of its own.  n: words of a gram, 1 to
 * EXCLUDE_MOST.  fold must stay.  NULL and *e: what docs_run says; EX_INPUT:
 * no text has enough words. */
struct exclude *exclude_new(const struct opt_list *files, size_t n,
    const struct inputs *in, const struct docs_opts *run,
    const struct fold *fold, struct err *e);
void exclude_free(struct exclude *x);

/* XXH3-64 of what decides the answers: all words and n. */
uint64_t exclude_digest(const struct exclude *x);

struct exclude_hit {
    size_t words;    /* of the gram */
    size_t from, to; /* its bytes in the document */
    size_t at;       /* its first word among those held out */
};
/* Does text[n] hold a gram?  1 and the one that ends first, of these the
 * shortest; or 0.  By any number of threads, with a *w each. */
int exclude_find(const struct exclude *x, struct words *w, const char *text,
    size_t n, struct exclude_hit *hit);
/* The held-out text of a hit: file or member, and record in it. */
const char *exclude_name(const struct exclude *x, const struct exclude_hit *hit,
    uint64_t *record);

#endif
