/*
 * Prompts: the ids that a model continues, of a text or of messages.
 */
#ifndef GEN_PROMPT_H
#define GEN_PROMPT_H

#include "gen/chat.h"
#include "tok/tok.h"

#include <jansson.h>
#include <stddef.h>

struct prompt_reader {
    const struct tokenizer *tok;
    size_t V;             /* ids of the model */
    const char *field;    /* member of a record that is the prompt, unless the
                        * record has messages */
    const char *model;    /* path of the model, whose chat template they need */
    const char *template; /* file of a chat template in its place, or NULL */
    struct tok_scratch *scratch;
    struct chat *chat; /* NULL: no record has had messages */
};
/* Set the last two members; the others are the caller's, and outlive the
 * reader. */
void prompt_begin(struct prompt_reader *p);
void prompt_release(struct prompt_reader *p);

/* Append the ids of text [n] to *ids: BOS first where the tokenizer puts one;
 * of an empty text BOS, or EOS if there is no BOS.  -1 and *e (EX_INPUT): there
 * is neither, or an id is V or more. */
int prompt_text(const struct prompt_reader *p, const char *text, size_t n,
    struct tok_ids *ids, struct err *e);
/* Append the ids of a record's messages, by the chat template, or of its
 * member `field`; the text becomes the member "prompt".  -1 and *e (EX_INPUT,
 * EX_USAGE, EX_SYS). */
int prompt_record(struct prompt_reader *p, json_t *record, struct tok_ids *ids,
    struct err *e);

#endif
