/* Files and folders that a killed run left unfinished. */
#ifndef STUDENT_LEFTOVERS_H
#define STUDENT_LEFTOVERS_H

/* Remove the unfinished files NAME.tmp.PID and folders NAME.tmp of dead
 * processes from the folder `run`, which this process has locked. */
void leftovers_remove(const char *run);

#endif
