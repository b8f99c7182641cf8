/* Prompts that are operands of generate run: they are printed with their
 * texts. */
#ifndef GENERATE_OPERANDS_H
#define GENERATE_OPERANDS_H

#include "many.h"

#include <stddef.h>

/* Continue the n prompts r->prompts, at most r->at_once at a time; given [n]
 * are their texts.  Print each prompt followed by its continuation, in the
 * order of `given`, with an empty line between two.  Tokens are printed as soon
 * as they are drawn.  Adds to r->texts, r->tokens and r->stats.  Dies on
 * errors. */
void operands_run(struct many *r, char *const *given, size_t n);

#endif
