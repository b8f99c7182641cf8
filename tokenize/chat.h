/* Conversations as documents: ids by a model's chat template, and which of them
 * are to be learnt; see tokenize(1), --chat. */
#ifndef TOKENIZE_CHAT_H
#define TOKENIZE_CHAT_H

#include "base/err.h"
#include "base/mem.h"
#include "gen/chat.h"
#include "tok/tok.h"

#include <stddef.h>
#include <stdint.h>

struct conversations {
    const struct tokenizer *t;
    struct chat *own;      /* the model's template */
    struct chat *training; /* marks what the assistant says; NULL: untrained */
    struct err untrained;  /* why there is none */
};

/* Open the templates of a tokenizer's model, or of `file` unless it is NULL.
 * -1 and *e. */
int conversations_open(struct conversations *c, const struct tokenizer *t,
    const char *path, const char *file, struct err *e);
void conversations_close(struct conversations *c);

/*
 * Encode a record, the JSON object record[n]:
 * - {messages}: learnt is what the assistant says, as TRL's assistant_only_loss
 *   has it: tokens that overlap a generation block of the template.
 * - {prompt, completion}, two lists of messages or two texts: learnt is the
 *   completion, from the first token on in which prompt and completion together
 *   differ from the prompt alone.
 * Optional members: tools, chat_template_kwargs.
 * ids is overwritten; mask gets a byte for each: 1: learnt.
 * 0; -1 and *e (EX_INPUT): the record is none of these, the template refuses
 * it, or there is nothing to learn.
 */
int conversations_encode(const struct conversations *c, struct tok_scratch *s,
    const char *record, size_t n, struct tok_ids *ids, struct buf *mask,
    struct err *e);

/* Set mask[i] to 1 for each of ids[n], the encoded text, whose bytes of the
 * text overlap a span, else to 0.  -1 and *e (EX_INPUT): the tokens cannot be
 * found in the text. */
int conversations_mask(const struct tokenizer *t, const struct jinja_out *text,
    const uint32_t *ids, size_t n, char *mask, struct err *e);

#endif
