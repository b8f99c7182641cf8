/* The command that distils a model on text of one's own. */
#ifndef RETORT_DISTIL_H
#define RETORT_DISTIL_H

/* Check the arguments, and run recipes/own.mk, which knows the steps, by
 * make(1); see retort-distil(1).  Returns the exit status. */
int distil_main(int argc, char **argv);

#endif
