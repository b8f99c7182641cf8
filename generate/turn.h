/* The place of a user's words in a chat template: what the template prints
 * before them, and what follows them. */
#ifndef GENERATE_TURN_H
#define GENERATE_TURN_H

#include "base/err.h"
#include "base/mem.h"
#include "gen/chat.h"
#include "tok/tok.h"

#include <stdint.h>
#include <time.h>

struct user_turn {
    struct buf before; /* text that ends where the words begin */
    struct buf after;  /* text from their end to the assistant's words */
};
/* Render a user's message, after a system message unless `system` is NULL, and
 * cut the text at the user's words.  now: for templates that ask for the date,
 * or NULL.  The caller releases *t, also after an error.
 * -1 and *e: EX_INPUT: the template refuses the messages, or does not print the
 * user's words exactly once; EX_USAGE: the template asks for the date. */
int turn_find(struct user_turn *t, const struct chat *c, const char *system,
    const struct tm *now, struct err *e);
void turn_release(struct user_turn *t);

/* The end of a user's words. */
struct turn_end {
    int64_t id; /* a token that ends them; -1: none */
    char *text; /* else the line of text that does, which the caller frees;
                 * NULL: only an EOS ends them */
};
/* Find the end in `after`, white space at its start aside. */
struct turn_end turn_end(const struct user_turn *t, const struct tokenizer *tok,
    struct tok_scratch *scratch);

#endif
