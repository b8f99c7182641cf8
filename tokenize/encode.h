/* Encoding of documents by a tokenizer. */
#ifndef TOKENIZE_ENCODE_H
#define TOKENIZE_ENCODE_H

#include "docs/docs.h"
#include "gen/conversations.h"
#include "tok/tok.h"

struct encoder {
    const struct tokenizer *t;
    int special, count; /* 1: find special tokens; count characters and words */
    int64_t bos, eos;   /* ids put around each document, or -1 */
    const struct conversations *chat; /* NULL: no document is a conversation */
    struct tok_scratch **scratch;     /* [threads] */
    size_t threads;
};

/* Allocate c->scratch for docs_threads(o) threads, and set o->work to encode by
 * *c.  o->threads must not change later.  The caller has set the members of *c
 * up to chat. */
void encoder_begin(struct encoder *c, struct docs_opts *o);
void encoder_release(struct encoder *c);
/* Loss mask of a document: a byte for each id, 1: the id is to be learnt. NULL:
 * all are.  d owns it. */
const char *encoder_mask(const struct doc *d);
/* Does the document end in an answer that generate run cut off? */
int encoder_cut(const struct doc *d);

#endif
