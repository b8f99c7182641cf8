/*
 * Decontamination: does a document share a word n-gram with held-out text?
 * Words are those of words.h; n is 13 by default, as in Brown et al.
 * (arXiv:2005.14165, appendix C).
 *
 * Texts of fewer than 8 words, or of fewer than n if n < 8, are ignored.  A
 * longer held-out text of fewer than n words is one gram.  A document of fewer
 * than n words is excluded if a held-out text contains all of it.  Grams are
 * compared word by word, by the words' 64-bit hashes.
 *
 * A question is short, and may be shorter than n words.  So by default n is 8
 * in questions.  A question is also excluded if it contains a held-out text of
 * 5 words or more, or if its words are those of a held-out text, however few.
 *
 * A gram that several held-out documents contain is likely a notice or a set
 * phrase, such as a licence, and does not count.  An exception is a gram of an
 * item, a string of JSONL: any part of it may be what a model is judged by.
 * Only held-out documents are counted: copies of a gram in the cleaned texts do
 * not make it common.
 */
#ifndef CLEAN_EXCLUDE_H
#define CLEAN_EXCLUDE_H

#include "docs/docs.h"
#include "words.h"

#include "cli/opt.h"

#define EXCLUDE_MOST 100
#define EXCLUDE_COMMON 3 /* the usual value of `common` in exclude_new */

struct exclude;
/* Read the held-out files with the options of *in and *run, but documents of up
 * to 64 MiB in any case.  Each string of a JSONL record, at any depth, is a
 * text of its own.
 *   n          words of a gram, 1 to EXCLUDE_MOST; 0: 13, and 8 in questions
 *   common     ignore grams that more than this many held-out documents
 *              contain; 0: ignore none.  In questions no gram is ignored
 *   questions  1: the caller will look up questions, so keep short held-out
 *              texts, too
 *   fold       must outlive the result
 * NULL and *e: as docs_run; EX_INPUT: no text has enough words. */
struct exclude *exclude_new(const struct opt_list *files, size_t n,
    size_t common, int questions, const struct inputs *in,
    const struct docs_opts *run, const struct fold *fold, struct err *e);
void exclude_free(struct exclude *x);

/* Words in a row for which a text that is no question is excluded. */
size_t exclude_words(const struct exclude *x);

/* Hash (XXH3-64) of n and common, of the words of all held-out texts, of the
 * indices at which these texts begin, and of which are items. */
uint64_t exclude_digest(const struct exclude *x);

struct exclude_hit {
    size_t words;    /* words of the gram */
    size_t from, to; /* byte range of the gram in the document */
    size_t at;       /* index of the gram's first word among the words of all
                      * held-out texts */
    int of_item;     /* 1: an item holds the gram */
};
/* Call put for each gram in text[n], in order of their ends, until it returns
 * 1.  asks: 1: the text is a question.  Returns 1 if put has, else 0.
 * Thread-safe: each thread has its own *w. */
int exclude_each(const struct exclude *x, struct words *w, const char *text,
    size_t n, int asks, int (*put)(void *ctx, const struct exclude_hit *hit),
    void *ctx);
/* Find the gram in text[n] that ends first; of several that end there, the
 * shortest.  1, and *hit; 0: there is none. */
int exclude_find(const struct exclude *x, struct words *w, const char *text,
    size_t n, int asks, struct exclude_hit *hit);
/* Returns the file or member that a hit's held-out text is from; *record:
 * number of the record in it. */
const char *exclude_name(const struct exclude *x, const struct exclude_hit *hit,
    uint64_t *record);

#endif
