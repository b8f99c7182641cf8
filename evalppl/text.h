/* Scoring texts with the rolling windows of lm-evaluation-harness. */
#ifndef EVALPPL_TEXT_H
#define EVALPPL_TEXT_H

#include "eval.h"

/* Score the JSON lines of path (NULL: standard input) by the models of e and of
 * e->also; dies on damage. */
void eval_text(struct eval *e, const char *path);

#endif
