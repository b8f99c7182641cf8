/*
 * SentencePiece's BPE as a list of merges.  Such a model has no merges: any
 * two neighbours whose texts together are a token become it, the highest score
 * first, of equals the leftmost (Kudo and Richardson, arXiv:1808.06226, and
 * tokenizer.ggml.model "llama" of a GGUF).
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
    int used;     /* is a symbol of the model at all */
    int made;     /* merges may give it */
};

/*
 * [["left", "right"], ...], first the one that is merged first, which gives
 * the same ids as the rule above; the caller's.  No two tokens that are used
 * have the same text.
 *
 * One pair for each token is enough.  What happens within the text of a token
 * from its characters on until it is whole is what happens to that text alone,
 * as nothing crosses its borders meanwhile and the leftmost within them is the
 * leftmost there too: so the last step is always the same, whatever stands
 * around.
 *
 * *ties: NULL, or [[first, number], ...]: `number` merges from `first` on have
 * one score, so that the leftmost of them in the text goes first; the
 * caller's.  Tokens of one repeated character need none: there the longer one
 * goes first.
 *
 * NULL and *e: a token that can be made holds a character that is none.
 */
json_t *spm_merges(const struct spm_token *tok, size_t n, json_t **ties,
    struct err *e);

#endif
