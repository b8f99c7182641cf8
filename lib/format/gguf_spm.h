/*
 * SentencePiece's BPE as a list of merges.  Such a model lists no merges: any
 * two neighbours whose texts together are a token's text merge to that token.
 * The token of the highest score goes first, of equal scores the leftmost (Kudo
 * and Richardson, arXiv:1808.06226, and tokenizer.ggml.model "llama" of a
 * GGUF).
 */
#ifndef FORMAT_GGUF_SPM_H
#define FORMAT_GGUF_SPM_H

#include "base/err.h"

#include <jansson.h>
#include <stddef.h>

struct spm_token {
    const char *p; /* n bytes of UTF-8, n > 0 */
    size_t n;
    double score; /* not NaN */
    int used;     /* the model uses the token */
    int made;     /* merging may produce it */
};

/*
 * Returns the merges [["left", "right"], ...] in order of priority, which give
 * the same ids as the rule above; the caller frees them.  No two tokens that
 * are used have the same text.
 *
 * One pair for each token is enough.  Before a token is complete, no merge
 * crosses its borders, and merges within them come in the same order as when
 * its text is merged alone.  So the last merge that makes a token is the same
 * in any context.
 *
 * *ties: NULL, or [[first, number], ...]: `number` merges from `first` on have
 * the same score, so that the leftmost of them in the text goes first; the
 * caller frees it.  Runs of one character need no ties: the longer run goes
 * first.
 *
 * NULL and *e: a token that merging makes contains a character that is no
 * token, or has more than 512 bytes.
 */
json_t *spm_merges(const struct spm_token *tok, size_t n, json_t **ties,
    struct err *e);

#endif
