/* Options and inputs that must be the same on all ranks. */
#ifndef STUDENT_ALIKE_H
#define STUDENT_ALIKE_H

struct student;
/* Die (EX_USAGE) on all ranks if their options, kernels or versions of the
 * program differ.  Call it before anything depends on options. */
void alike_options(const struct student *s);
/* Die on all ranks if their models, checkpoints or held-out batches (EX_USAGE),
 * or their streams (EX_INPUT) differ.  Call it when these are open, before the
 * first batch is taken. */
void alike_inputs(const struct student *s);

#endif
