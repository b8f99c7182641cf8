/* A model that takes part in a chat. */
#ifndef GENERATE_SPEAKER_H
#define GENERATE_SPEAKER_H

#include "how.h"
#include "base/pool.h"
#include "gen/chat.h"
#include "gen/engine.h"
#include "model/files/model.h"
#include "model/decode/packed.h"
#include "tok/tok.h"

#include <jansson.h>
#include <stddef.h>

/* Options of generate chat. */
struct chat_args {
    struct how how;
    struct sampling given; /* options; else a model's own, see defaults.h */
    const char *model, *against, *template, *system;
    size_t length, cache;
};

struct speaker {
    const char *path;
    struct model m;
    struct packed *packed; /* NULL: the model is used as it is */
    struct tokenizer *tok;
    struct tok_scratch *scratch;
    struct chat *template;
    struct gen_engine *engine;
    struct gen_params params;
    size_t longest;   /* most tokens of a conversation */
    json_t *messages; /* the conversation: a list of {role, content} */
    size_t answers;   /* answers so far: the number of the next one's draws */
};

/* Open the model and its template; speaker_start makes its engine.  Both die on
 * errors. */
void speaker_open(struct speaker *s, const char *path,
    const struct chat_args *a);
void speaker_start(struct speaker *s, const struct chat_args *a,
    struct pool *pool);
void speaker_close(struct speaker *s);

/* Begin a new conversation, with this message by the system; NULL: none. */
void speaker_forget(struct speaker *s, const char *system);
/* Set the message by the system, or with NULL remove it. */
void speaker_system(struct speaker *s, const char *system);
/* Remove the last message if `role` has it.  Returns 1 if it did. */
int speaker_take_back(struct speaker *s, const char *role);
/* Add the user's words p[n], which need not be UTF-8. */
void speaker_hear(struct speaker *s, const char *p, size_t n);
/* Print the answer to the conversation, of at most `length` tokens, and add it.
 * Ctrl-C ends it.  An error of the conversation removes the user's last
 * message: with a terminal it is printed, else the program dies.  Returns the
 * number of the answer's tokens. */
size_t speaker_answer(struct speaker *s, size_t length);
/* Print text on standard output; on a terminal, without control sequences. */
void speaker_print(const char *p, size_t n);

#endif
