/* The command that counts questions and answers. */
#ifndef REPORT_ANSWERS_H
#define REPORT_ANSWERS_H

/* report answers; returns the exit status. */
int answers_main(int argc, char **argv);

#endif
