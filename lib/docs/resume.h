/*
 * Going on with a stream of documents that a shard directory keeps.  Each
 * message has a cursor: hashes of the options and inputs, and the place behind
 * its last document.  clean and tokenize read it, clean for the place where it
 * goes on with its inputs, tokenize for the message that comes next.
 */
#ifndef DOCS_RESUME_H
#define DOCS_RESUME_H

#include "docs/inputs.h"

#include "msg/msg.h"

#define DOCS_RESUME_CURSOR 192 /* bytes of a cursor as text, with its NUL */

/* Hashes that must be those of the run before: tokenize's options; the names
 * and sizes of the files and of 64 KiB at the beginning, in the middle and at
 * the end of each; clean's options, 0 without clean. */
struct docs_resume_key {
    uint64_t options, inputs, cleaning;
};
/* Set k->inputs and k->cleaning; EX_SYS. */
int docs_resume_inputs(struct docs_resume_key *k, const struct inputs *in,
    struct err *e);

/* The cursor of a message whose last document is before `next`. */
void docs_resume_cursor(char out[DOCS_RESUME_CURSOR],
    const struct docs_resume_key *k, const struct doc_cursor *next);

/* A stream that goes on; { 0 } begins. */
struct docs_resume {
    int resumed;                /* something has been committed */
    int has_cursor;             /* and documents are among it */
    uint64_t seq, tokens;       /* of the next message; tokens before it */
    struct chain chain;         /* before it */
    char tokenizer[33];         /* hash */
    struct docs_resume_key key; /* of the cursor */
    struct doc_cursor from;     /* where its documents end */
};
/* Read what the shard directory has committed; a directory that holds nothing
 * yet means the beginning, with a note.  EX_USAGE: it is complete, or holds no
 * documents. */
int docs_resume_read(struct docs_resume *r, const char *dir, struct err *e);
/* Refuse a hash that was another one; `what` it is of.  EX_USAGE. */
int docs_resume_check(const struct docs_resume *r, const char *dir,
    const char *what, uint64_t was, uint64_t is, struct err *e);
/* Where to begin with the inputs: *from, unless clean has begun there already.
 * dir NULL: nothing is resumed.  EX_USAGE: clean has begun elsewhere. */
int docs_resume_place(const struct docs_resume *r, const char *dir,
    const struct inputs *in, struct doc_cursor *from, struct err *e);

#endif
