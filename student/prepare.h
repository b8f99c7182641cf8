/* Everything before the first step. */
#ifndef STUDENT_PREPARE_H
#define STUDENT_PREPARE_H

struct student;
/* Is `model` a configuration, whose weights are made at random? */
int starts_random(const char *model);
/* Open the input, load or make the model, decide on losses, length and memory.
 * Dies if anything does not fit. */
void prepare(struct student *s, const char *input);

#endif
