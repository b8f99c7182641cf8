/* student grpo: reinforcement learning from rewards that programs give. */
#ifndef STUDENT_GRPO_H
#define STUDENT_GRPO_H

#include "student.h"

extern const struct command grpo_command;
int grpo_main(int argc, char **argv);

#endif
