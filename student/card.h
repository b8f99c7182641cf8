/* The model card of a finished run. */
#ifndef STUDENT_CARD_H
#define STUDENT_CARD_H

#include "base/err.h"

struct student;
/* Options that are left out of the card, as they do not change the model; ends
 * with NULL. */
extern const char *const run_card_own[];
/* Write RUN/README.md: parent and teacher by hash, options, and the last line
 * of RUN/held-out.tsv, or else the last training loss. */
int run_card_write(const struct student *s, struct err *e);

#endif
