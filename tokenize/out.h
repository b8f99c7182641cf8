/* Output of tokenize: documents as a stream of messages or as ids in text, and
 * a stream decoded to text. */
#ifndef TOKENIZE_OUT_H
#define TOKENIZE_OUT_H

#include "docs/docs.h"
#include "docs/resume.h"
#include "tok/tok.h"

#include <stdio.h>

/* Functions whose names end in _put are for `put` of struct docs_opts. */

struct out_stream;
/* Open the output at addr (msg_out_open) and write the first message.  *run:
 * hashes for the cursors; *from: where the stream begins.  NULL and *e. */
struct out_stream *out_stream_open(const char *addr, const struct tokenizer *t,
    const struct inputs *in, int64_t bos, int64_t eos,
    const struct docs_resume_key *run, const struct docs_resume *from,
    struct err *e);
int out_stream_put(void *ctx, const struct doc *d, struct err *e);
/* ok 1: write the last documents and the message `end`; 0: write the message
 * `abort` with the reason `why`.  Returns 0; 1: the reader has left; -1 and *e.
 */
int out_stream_end(struct out_stream *s, int ok, const char *why,
    struct err *e);
void out_stream_close(struct out_stream *s);
/* Number of documents put that end in an answer that was cut off. */
uint64_t out_stream_cut(const struct out_stream *s);

/* Write ids as decimal numbers, a line for each document; ctx: FILE *. */
int out_ids_put(void *ctx, const struct doc *d, struct err *e);

/* Decode r, a stream of documents, and close it.  Writes the text of each
 * document, without its BOS and EOS, followed by `between`. */
struct msg_in;
int out_decode(struct msg_in *r, const struct tokenizer *t, const char *between,
    FILE *out, struct err *e);

#endif
