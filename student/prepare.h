/* Preparing a run, up to the first step. */
#ifndef STUDENT_PREPARE_H
#define STUDENT_PREPARE_H

struct student;
/* Is `model` a configuration, whose weights are initialised at random? */
int starts_random(const char *model);
/* Open the input, load or make the model, choose losses and the number of
 * steps, and plan memory.  Dies if options, input and model do not go together,
 * or need too much memory. */
void prepare(struct student *s, const char *input);

#endif
