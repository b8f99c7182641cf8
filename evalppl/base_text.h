/* The text of llama.cpp's file of a base, which holds its tokens. */
#ifndef EVALPPL_BASE_TEXT_H
#define EVALPPL_BASE_TEXT_H

#include "eval.h"

/* Fill e->info and e->vocab, as a stream's head would, for the text of
 * e->kld.in, by the first model's tokenizer.  Dies if a model's tokenizer gives
 * other tokens for that text. */
void base_text(struct eval *e);

#endif
