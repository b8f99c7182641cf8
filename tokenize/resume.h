/* Going on with a stream that is kept in a shard directory. */
#ifndef TOKENIZE_RESUME_H
#define TOKENIZE_RESUME_H

#include "docs/docs.h"

#include "cli/opt.h"
#include "msg/msg.h"
#include "tok/tok.h"

/* What a cursor must agree with: XXH3-64 of all options that decide what is
 * read and made of it; and of the names and sizes of the inputs and of 64 KiB
 * at the beginning, in the middle and at the end of each.  EX_SYS. */
struct resume_key {
    uint64_t options, inputs;
};
void resume_options(struct resume_key *k, const struct opt *table);
int resume_inputs(struct resume_key *k, const struct inputs *in, struct err *e);

/* The cursor of a message: after which document of which input. */
void resume_cursor(char out[160], const struct resume_key *k, size_t input,
    const struct doc_place *after);

/* Where a stream goes on. */
struct resume {
    int resumed;          /* something has been committed */
    uint64_t seq, tokens; /* of the next message; tokens before it */
    struct chain chain;   /* before it */
};
/* Read what DIR has committed, and set run->from; a directory that holds
 * nothing yet means the beginning, with a note.  -1: EX_USAGE when it is
 * complete, or was begun with other options, inputs or tokenizer. */
int resume_read(const char *dir, const struct resume_key *k,
    const struct tokenizer *t, struct docs_opts *run, struct resume *r,
    struct err *e);

#endif
