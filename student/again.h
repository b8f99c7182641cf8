/* The command that resumes a stopped run. */
#ifndef STUDENT_AGAIN_H
#define STUDENT_AGAIN_H

struct student;
/* Returns the command line, quoted for a shell; the caller frees it.  command:
 * the word that names the command; argv[0] may lack it. */
char *again_command(int argc, char **argv, const char *command);
/* Print a note of the command that resumes the run. */
void again_tell(const struct student *s);

#endif
