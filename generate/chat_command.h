/* Commands that a person types in a chat: lines that begin with a slash. */
#ifndef GENERATE_CHAT_COMMAND_H
#define GENERATE_CHAT_COMMAND_H

#include "speaker.h"

#include <stddef.h>

/* A chat with one or two models. */
struct talk {
    struct speaker *s;
    size_t speakers;
    struct chat_args *a; /* `length` and `system` can be changed */
    size_t questions, tokens;
    char *system; /* text of the last /system; NULL: none, or a->system */
    char *file;   /* last file of /save and /load, which /save replaces */
};

enum command_result {
    COMMAND_NONE, /* the line is no command */
    COMMAND_DONE,
    COMMAND_QUIT
};
/* Carry out a line.  What is wrong with it is printed, and nothing is done. */
enum command_result command_run(struct talk *t, const char *line);

/* Let all models answer, each after its label if there are several. */
void talk_answer(struct talk *t);

#endif
