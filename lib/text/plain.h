/* Texts by which questions and answers are compared. */
#ifndef TEXT_PLAIN_H
#define TEXT_PLAIN_H

#include "base/mem.h"

#include <stddef.h>

/* Append text[n] with A to Z in lower case, one space in place of each run of
 * ASCII white space, and no space at its ends: scripts/agree takes two texts
 * for the same answer if these are equal. */
void plain_text(const char *text, size_t n, struct buf *out);

#endif
