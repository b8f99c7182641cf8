/* Normalizers. */
#ifndef TOK_NORM_H
#define TOK_NORM_H

#include "tok/tokenizer.h"

/* Run the normalizer on the text *p, *n: they stay, or become text in one of
 * b[2]. */
void norm_run(const struct tokenizer *t, struct buf b[2],
    const unsigned char **p, size_t *n);
/* Encode normalized text between added tokens; first: it begins the text. */
void pre_gap(const struct tokenizer *t, struct tok_scratch *s,
    const unsigned char *p, size_t n, int first, struct tok_ids *out);

#endif
