/* What a conversation says, as clean judges it. */
#ifndef CLEAN_CONVERSATION_H
#define CLEAN_CONVERSATION_H

#include "base/err.h"
#include "base/mem.h"

#include <stddef.h>

/* What one message says: bytes [from,to) of conversation.text. */
struct conversation_part {
    size_t from, to;
    int asks; /* 1: the message is a user's */
};
/* { 0 }: empty; may be read into again. */
struct conversation {
    struct buf text; /* what all messages say, with an empty line between two;
                      * NUL-terminated */
    struct conversation_part *part; /* [n] */
    size_t n, cap;
    int has_source; /* 1: the record has a member source */
};

/* Read a record (gen/dialogue.h).  Messages of the roles system and developer
 * are left out: they are often the same in all records.  So are empty ones.
 * 0; -1 and *e (EX_INPUT). */
int conversation_read(struct conversation *c, const char *record, size_t n,
    struct err *e);
void conversation_release(struct conversation *c);

#endif
