/* Encoding texts into a model's tokens as lm-evaluation-harness's huggingface
 * model does. */
#ifndef EVAL_LMEVAL_H
#define EVAL_LMEVAL_H

#include "base/err.h"
#include "eval/models.h"
#include "tok/tok.h"

#include <stddef.h>

struct lmeval {
    struct tokenizer *tok;
    struct tok_scratch *scratch;
    const char *label; /* label of the model, for messages */
    char *prefix;      /* text of the prefix token (BOS, or EOS), or NULL */
    size_t most;       /* most tokens of a text that the model takes */
    size_t V;          /* all models that read the tokens know the ids below
                        * V */
};
/* Open model j's tokenizer, and print its tok_warning.  -1 and *e: it cannot be
 * read or does not fit the model.  Call lmeval_close in any case. */
int lmeval_open(struct lmeval *s, const struct eval_model *j, size_t V,
    struct err *e);
void lmeval_close(struct lmeval *s);
/* Append a text's tokens, with BOS if the tokenizer adds BOS and the text does
 * not begin with s->prefix. */
void lmeval_encode(struct lmeval *s, const char *text, size_t n,
    struct tok_ids *out);

#endif
