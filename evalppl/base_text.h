/* The text of a file that --read-base names (llama.cpp's format); the file
 * holds that text's tokens. */
#ifndef EVALPPL_BASE_TEXT_H
#define EVALPPL_BASE_TEXT_H

#include "eval.h"

/* Fill e->info and e->vocab for the text of e->kld.in, as a stream's head
 * would, by the tokenizer of the first model that is not the base.  Dies if a
 * model's tokenizer turns the text into tokens that differ too much from the
 * file's. */
void base_text(struct eval *e);

#endif
