/* Encode conversations by a model's chat template, and mark the tokens to train
 * on; see tokenize(1), --chat, and student-dpo(1). */
#ifndef GEN_CONVERSATIONS_H
#define GEN_CONVERSATIONS_H

#include "base/err.h"
#include "base/mem.h"
#include "gen/chat.h"
#include "tok/tok.h"

#include <stddef.h>
#include <stdint.h>

struct conversations {
    const struct tokenizer *t;
    const struct tm *date; /* for templates that ask for it, or NULL */
    struct chat *own;      /* the model's template */
    struct chat *training; /* template that marks the assistant's words; NULL:
                            * there is none, and no_training says why */
    struct err no_training;
};

/* Open the templates of a tokenizer's model, or of `file` unless it is NULL.
 * date: as in struct chat_options; it outlives c.
 * -1 and *e.  If *e is EX_USAGE there is no template: *c still encodes texts,
 * and refuses lists of messages with that error. */
int conversations_open(struct conversations *c, const struct tokenizer *t,
    const char *path, const char *file, const struct tm *date, struct err *e);
void conversations_close(struct conversations *c);

/*
 * Encode a record, the JSON object record[n]:
 * - {messages}: train on the assistant's words, as TRL's assistant_only_loss
 *   does: tokens that overlap a generation block of the template.
 * - {prompt, completion}, two lists of messages or two texts: train on the
 *   completion, from the first token on in which prompt and completion together
 *   differ from the prompt alone.
 * - a line of generate run, see dialogue_answer: its text is the assistant's
 *   last message, or the completion.  If the template has no {% generation %}
 *   marks, the messages are the prompt, and the text is the completion.
 * Optional members: tools, chat_template_kwargs.
 * ids is overwritten; mask gets a byte for each id: 1: train on the id.
 * 0; 1: the same, and generate run cut the text off (finish_reason length); -1
 * and *e (EX_INPUT): the record is none of these, the template refuses it, or
 * no token is trained on; EX_USAGE: the template asks for the date.
 */
int conversations_encode(const struct conversations *c, struct tok_scratch *s,
    const char *record, size_t n, struct tok_ids *ids, struct buf *mask,
    struct err *e);

/*
 * Encode a pair of completions, the JSON object record[n], as TRL's DPOTrainer
 * does: {prompt, chosen, rejected}, three texts or three lists of messages; or
 * {chosen, rejected}, two lists of messages, whose common beginning is the
 * prompt.  Optional members as in conversations_encode.
 * ids[0], ids[1]: prompt with chosen, prompt with rejected.  *prompt: the
 * number of ids at the beginning of ids[0] and of ids[1] that are those of the
 * prompt alone; at least 1, as nothing predicts the first token.
 * 0; -1 and *e (EX_INPUT): the record is none of these, the template refuses
 * it, or a completion is empty; EX_USAGE: the template asks for the date.
 */
int conversations_pair(const struct conversations *c, struct tok_scratch *s,
    const char *record, size_t n, struct tok_ids ids[2], size_t *prompt,
    struct err *e);

/* ids[n] encode the text.  Set mask[i] to 1 if the bytes of token ids[i]
 * overlap a span of the text, else to 0.  -1 and *e (EX_INPUT): the tokens
 * cannot be found in the text. */
int conversations_mask(const struct tokenizer *t, const struct jinja_out *text,
    const uint32_t *ids, size_t n, char *mask, struct err *e);

#endif
