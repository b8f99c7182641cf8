/* The command that goes on with a run that was stopped. */
#ifndef STUDENT_AGAIN_H
#define STUDENT_AGAIN_H

struct student;
/* The words of a command, quoted for a shell; the caller frees it. */
char *again_command(int argc, char **argv);
/* Note which command goes on with the run. */
void again_tell(const struct student *s);

#endif
