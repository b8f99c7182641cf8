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
    const char *p;      /* n bytes of UTF-8, n > 0 */
    size_t n;
    double score;       /* not NaN */
    int used;           /* is a symbol of the model at all */
    int made;           /* merges may give it */
};

/*
 * [["left", "right"], ...], first the one that is merged first, which gives
 * the same ids as the rule above; the caller's.  No two tokens that are used
 * have the same text.
 *
 * One pair for each token is enough.  What happens within the text of a token
 * from its characters on until it is whole is what happens to that text alone,
 * as nothing crosses its borders meanwhile and order does not depend on the
 * place: so the last step is always the same, whatever stands around.  And
 * pairs of one token are merged from the left, as BPE does it.
 *
 * NULL and *e: a token that can be made holds a character that is none; two
 * have the same score, so that their order depends on the place (but not those
 * of one repeated character, where the longer one goes first).
 */
json_t *spm_merges(const struct spm_token *tok, size_t n, struct err *e);

#endif
