/* student train: training on a stream of batches, with or without a teacher's
 * outputs; the default command. */
#ifndef STUDENT_TRAIN_H
#define STUDENT_TRAIN_H

#include "student.h"

extern const struct command train_command;
int train_main(int argc, char **argv);

#endif
