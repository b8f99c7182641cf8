/* Output of tokenize: documents as a stream or as ids in text, and a stream as
 * text. */
#ifndef TOKENIZE_OUT_H
#define TOKENIZE_OUT_H

#include "docs/docs.h"
#include "docs/resume.h"
#include "tok/tok.h"

#include <stdio.h>

/* put functions of docs_opts; each has its context. */

struct out_stream;
/* Write the stream's first message.  addr as in msg_out_open; `run` goes into
 * cursors; the stream begins at `from`. */
struct out_stream *out_stream_open(const char *addr, const struct tokenizer *t,
    const struct inputs *in, int64_t bos, int64_t eos,
    const struct docs_resume_key *run, const struct docs_resume *from,
    struct err *e);
int out_stream_put(void *ctx, const struct doc *d, struct err *e);
/* Write the last documents and `end` (ok), or `abort` with the reason.  0; 1:
 * the reader has left; -1. */
int out_stream_end(struct out_stream *s, int ok, const char *why,
    struct err *e);
void out_stream_close(struct out_stream *s);

/* Ids as decimal numbers, a line for each document; ctx: FILE *. */
int out_ids_put(void *ctx, const struct doc *d, struct err *e);

/* Decode a stream of docs and close it: the text of each document, without its
 * BOS and EOS, followed by `between`. */
struct msg_in;
int out_decode(struct msg_in *r, const struct tokenizer *t, const char *between,
    FILE *out, struct err *e);

#endif
