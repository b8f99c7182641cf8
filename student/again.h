/* The command that resumes a stopped run. */
#ifndef STUDENT_AGAIN_H
#define STUDENT_AGAIN_H

struct student;
/* The command line, quoted for a shell, in two texts that the caller frees:
 * words[0], the program with its command; words[1], the options and the
 * operand.  command: the word that names the command; argv[0] may lack it. */
void again_command(int argc, char **argv, const char *command, char *words[2]);
/* Is the input (NULL: standard input) a file or a folder, which can be read
 * again from the beginning? */
int again_can_read(const char *input);
/* Print a note of the command that resumes the run. */
void again_tell(const struct student *s);

#endif
