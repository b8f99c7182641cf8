/* Encoding where symbols are characters, as SentencePiece has them. */
#ifndef TOK_SP_H
#define TOK_SP_H

#include "tok/tokenizer.h"

/* Encode text without added tokens, normalized; lead: with a U+2581 before
 * it. */
void sp_gap(const struct tokenizer *t, struct tok_scratch *s,
    const unsigned char *p, size_t n, int lead, struct tok_ids *out);
/* norm_run and pre_gap in one, where t->sp->spaces. */
void sp_text(const struct tokenizer *t, struct tok_scratch *s,
    const unsigned char *p, size_t n, int first, struct tok_ids *out);
/* Tables of t->sp from the vocabulary and the merges; and their end. */
void sp_index(struct tokenizer *t);
void sp_free(struct sp *sp);

#endif
