/* Normalizers. */
#ifndef TOK_NORM_H
#define TOK_NORM_H

#include "tok/tokenizer.h"

/* *p, *n after the normalizer: as they are, or in one of b[2]. */
void norm_run(const struct tokenizer *t, struct buf b[2],
    const unsigned char **p, size_t *n);
/* Encode what stands between added tokens, normalized; first: at the
 * beginning of the text. */
void pre_gap(const struct tokenizer *t, struct tok_scratch *s,
    const unsigned char *p, size_t n, int first, struct tok_ids *out);

#endif
