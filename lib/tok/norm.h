/* Normalizers, and the encoding of text between added tokens. */
#ifndef TOK_NORM_H
#define TOK_NORM_H

#include "tok/tokenizer.h"

/* Run the normalizer on the text of *n bytes at *p.  If that changes the text,
 * *p and *n are set to the new text, in one of b[2]. */
void norm_run(const struct tokenizer *t, struct buf b[2],
    const unsigned char **p, size_t *n);
/* Encode normalized text between added tokens.  first: the text is at the start
 * of the whole text. */
void pre_gap(const struct tokenizer *t, struct tok_scratch *s,
    const unsigned char *p, size_t n, int first, struct tok_ids *out);

#endif
