/* student dpo: training on preferences. */
#ifndef STUDENT_DPO_H
#define STUDENT_DPO_H

#include "student.h"

extern const struct command dpo_command;
int dpo_main(int argc, char **argv);

#endif
