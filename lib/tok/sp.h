/* Encoding with characters as symbols, as in SentencePiece. */
#ifndef TOK_SP_H
#define TOK_SP_H

#include "tok/tokenizer.h"

/* Encode normalized text between added tokens; lead: put a U+2581 before it. */
void sp_gap(const struct tokenizer *t, struct tok_scratch *s,
    const unsigned char *p, size_t n, int lead, struct tok_ids *out);
/* Does both norm_run and pre_gap, for tokenizers with t->sp->spaces. */
void sp_text(const struct tokenizer *t, struct tok_scratch *s,
    const unsigned char *p, size_t n, int first, struct tok_ids *out);
/* sp_index fills the tables of t->sp from the vocabulary and the merges;
 * sp_free frees them. */
void sp_index(struct tokenizer *t);
void sp_free(struct sp *sp);

#endif
