/*
 * Resuming a stream of documents that a shard directory holds.  Each message
 * has a cursor: hashes of the options and inputs, and the place after the
 * message's last document.  The last cursor tells clean where to go on in its
 * inputs, and tokenize which message comes next.
 */
#ifndef DOCS_RESUME_H
#define DOCS_RESUME_H

#include "docs/inputs.h"

#include "msg/msg.h"

#define DOCS_RESUME_CURSOR 192 /* bytes of a cursor as text, with its NUL */

/* Hashes that must equal those of the run that is resumed. */
struct docs_resume_key {
    uint64_t options;  /* options of tokenize */
    uint64_t inputs;   /* names and sizes of the files, and 64 KiB at the
                        * beginning, in the middle and at the end of each */
    uint64_t cleaning; /* options of clean; 0 without clean */
};
/* Set k->inputs and k->cleaning.  0; -1 and *e (EX_SYS). */
int docs_resume_inputs(struct docs_resume_key *k, const struct inputs *in,
    struct err *e);

/* Write the cursor of a message; next: the place after its last document. */
void docs_resume_cursor(char out[DOCS_RESUME_CURSOR],
    const struct docs_resume_key *k, const struct doc_cursor *next);

/* State of a stream to be resumed; { 0 }: the stream is a new one. */
struct docs_resume {
    int resumed;                /* 1: messages have been committed */
    int has_cursor;             /* 1: some of the messages hold documents */
    uint64_t seq;               /* number of the next message */
    uint64_t tokens;            /* tokens in all messages before seq */
    struct chain chain;         /* hash chain up to the message before seq */
    char tokenizer[33];         /* hash of the tokenizer */
    struct docs_resume_key key; /* from the last cursor */
    struct doc_cursor from;     /* place after the last document */
};
/* Read the state from what is committed in the shard directory.  If nothing is
 * committed, *r is { 0 } and a note says so.  -1 and *e: EX_USAGE: the stream
 * is complete, or has no documents. */
int docs_resume_read(struct docs_resume *r, const char *dir, struct err *e);
/* -1 and *e (EX_USAGE) if r has a cursor and the hashes `was` and `is` differ;
 * what: name of what was hashed, for the message, such as "options". */
int docs_resume_check(const struct docs_resume *r, const char *dir,
    const char *what, uint64_t was, uint64_t is, struct err *e);
/* Set *from to r->from, where reading begins.  If clean wrote the input, *from
 * stays: clean must itself have begun at r->from.  dir NULL: nothing is
 * resumed.  -1 and *e (EX_USAGE): clean has begun elsewhere. */
int docs_resume_place(const struct docs_resume *r, const char *dir,
    const struct inputs *in, struct doc_cursor *from, struct err *e);

#endif
