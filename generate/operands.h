/* Prompts that are operands of generate run: they are printed with their
 * texts. */
#ifndef GENERATE_OPERANDS_H
#define GENERATE_OPERANDS_H

#include "many.h"

#include <stddef.h>

/* Continue the prompts r->prompts, of which there are n, given as `given` [n],
 * r->at_once at a time.  Prints each with its text, in their order and as the
 * text grows, and an empty line between two.  Adds to r->texts, r->tokens and
 * r->stats.  Dies on errors. */
void operands_run(struct many *r, char *const *given, size_t n);

#endif
