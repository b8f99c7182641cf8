/* Options and inputs that must be the same on all ranks. */
#ifndef STUDENT_ALIKE_H
#define STUDENT_ALIKE_H

struct student;
/* Die (EX_USAGE), on all ranks, if they have other options, kernels or versions
 * of the program.  Before anything depends on options. */
void alike_options(const struct student *s);
/* Die if they have other models, checkpoints or held-out batches (EX_USAGE), or
 * other streams (EX_INPUT).  After these have been opened, before the first
 * batch is taken. */
void alike_inputs(const struct student *s);

#endif
