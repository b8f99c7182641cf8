/* Running a command of student from its first option to its exit status. */
#ifndef STUDENT_COMMAND_H
#define STUDENT_COMMAND_H

struct command;
/* Parse the options, run the command, and return the exit status.  about: text
 * for -h; NULL: that of the command. */
int command_main(int argc, char **argv, const struct command *c,
    const char *about);

#endif
