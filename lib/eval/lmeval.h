/*
 * Texts into a model's tokens as lm-evaluation-harness's huggingface model
 * encodes them.
 */
#ifndef EVAL_SPEECH_H
#define EVAL_SPEECH_H

#include "base/err.h"
#include "eval/models.h"
#include "tok/tok.h"

#include <stddef.h>

struct speech {
    struct tokenizer *tok;
    struct tok_scratch *scratch;
    const char *label; /* of the model, for messages */
    char *prefix;      /* text of the prefix token */
    size_t most;       /* tokens that the model takes */
    size_t V;          /* ids that it has, or all models that read them */
};
/* -1 and *e: no tokenizer that fits the model; speech_close in any case.  Warns
 * of what the tokenizer does otherwise than its files say. */
int speech_open(struct speech *s, const struct judged *j, size_t V,
    struct err *e);
void speech_close(struct speech *s);
/* Append a text's tokens: BOS where the tokenizer puts it, unless the text
 * begins with it already. */
void speech_encode(struct speech *s, const char *text, size_t n,
    struct tok_ids *out);

#endif
