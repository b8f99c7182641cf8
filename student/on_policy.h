/* student on-policy: a teacher judges every token of the texts that the student
 * writes. */
#ifndef STUDENT_ON_POLICY_H
#define STUDENT_ON_POLICY_H

#include "student.h"

extern const struct command on_policy_command;
int on_policy_main(int argc, char **argv);

#endif
