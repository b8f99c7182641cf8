/*
 * Prompts: the ids that a model continues, encoded from a text or from
 * messages.
 */
#ifndef GEN_PROMPT_H
#define GEN_PROMPT_H

#include "gen/chat.h"
#include "tok/tok.h"

#include <jansson.h>
#include <stddef.h>

struct prompt_reader {
    const struct tokenizer *tok;
    size_t V;              /* ids of the model */
    const char *field;     /* a record's member with the prompt, unless the
                           * record has messages */
    const char *model;     /* path of the model, for its chat template */
    const char *template;  /* file of another chat template, or NULL */
    const struct tm *date; /* date for chat templates, or NULL: one that needs
                            * a date is refused */
    struct tok_scratch *scratch;
    struct chat *chat; /* NULL: no record has had messages */
};
/* Set `scratch` and `chat`; the caller has set the other members, which outlive
 * the reader. */
void prompt_begin(struct prompt_reader *p);
void prompt_release(struct prompt_reader *p);

/* Append the ids of text [n] to *ids, BOS first if the tokenizer adds one.  An
 * empty text becomes BOS, or EOS if there is no BOS.  -1 and *e (EX_INPUT):
 * there is neither, or an id is V or more. */
int prompt_text(const struct prompt_reader *p, const char *text, size_t n,
    struct tok_ids *ids, struct err *e);
/* Append the ids of a record's prompt: its messages by the chat template, with
 * its tools and chat_template_kwargs, or its member `field`.  The prompt's text
 * becomes the record's member "prompt".
 * -1 and *e (EX_INPUT, EX_USAGE, EX_SYS). */
int prompt_record(struct prompt_reader *p, json_t *record, struct tok_ids *ids,
    struct err *e);

#endif
