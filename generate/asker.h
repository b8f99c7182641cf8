/*
 * The prompts of draws: the texts by which generate run --ask and --harder make
 * a model write a question of a user.
 */
#ifndef GENERATE_ASKER_H
#define GENERATE_ASKER_H

#include "prompts.h"
#include "question.h"
#include "turn.h"
#include "base/err.h"
#include "gen/chat.h"
#include "gen/params.h"
#include "tok/tok.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct ask_from {
    const char *harder;    /* file of questions to make harder; NULL: --ask */
    const char *system;    /* file with the text of the system's message, or
                         * NULL */
    const char *like;      /* file of examples, or NULL */
    const char *model;     /* path of the model, for its chat template */
    const char *template;  /* file of another chat template, or NULL */
    const struct tm *date; /* for templates that ask for it, or NULL */
    size_t count; /* questions to write, or with `harder` to read at most */
    struct gen_params params;
    const struct tokenizer *tok;
    size_t V;           /* ids of the model */
    size_t positions;   /* positions of the model; 0: not known */
    const json_t *made; /* what texts are made with (made_with.h) */
};

struct asker {
    const struct ask_from *from;
    struct gen_params params; /* of all draws */
    char *stop[1];      /* text that ends a question: </question> with --like
                         * and --harder, else what the chat template prints
                         * after the words of a user */
    struct tok_ids end; /* all special tokens: each of them ends a question */
    struct tok_scratch *scratch;
    struct chat *chat;     /* NULL: the model has none */
    char *system;          /* text of the system's message; NULL: none */
    struct examples *like; /* NULL: none */
    struct user_turn turn; /* without examples and `harder` */
};
/* *from outlives *a.  Dies on errors. */
void asker_open(struct asker *a, const struct ask_from *from);
void asker_release(struct asker *a);
/* The prompt of draw `index`.  record: the object with the question to rewrite,
 * which the prompt keeps, or NULL.  The caller frees the prompt.  NULL and
 * *e. */
struct prompt *asker_prompt(const struct asker *a, uint64_t index,
    json_t *record, struct err *e);
/* The way in which draw `index` makes a question harder; see wording.h. */
size_t asker_way(const struct asker *a, uint64_t index);

#endif
