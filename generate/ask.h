/*
 * generate run --ask and --harder: a model writes questions of users.  Each
 * text of the model is a draw; a draw that is a question is written, the others
 * are counted by reason.  A draw depends on the seed and its index alone.
 */
#ifndef GENERATE_ASK_H
#define GENERATE_ASK_H

#include "asker.h"
#include "many.h"
#include "output.h"

struct ask;
/* *from outlives the result.  Dies on errors. */
struct ask *ask_open(const struct ask_from *from);
/* Read the lines that the output has, so that the next draw comes after the
 * last of them.  file: the name of the output.  Returns the text of the last
 * line if it has to be made again (output_unproven), else NULL.  Dies if a line
 * is none of this run's. */
struct written *ask_resume(struct ask *a, struct output *o, const char *file);
/* Prompts of draws, and the judge of their texts, for many_run.  Call it after
 * ask_resume; valid until ask_close. */
const struct many_draws *ask_draws(const struct ask *a);
/* Print a note of what was dropped.  Dies (EX_INPUT) if no question was written
 * although there were draws. */
void ask_report(const struct ask *a);
void ask_close(struct ask *a);

#endif
