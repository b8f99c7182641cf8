/* What a killed run leaves in its folder. */
#ifndef STUDENT_LEFTOVERS_H
#define STUDENT_LEFTOVERS_H

/* Remove unfinished files (NAME.tmp.PID) and folders (NAME.tmp) of processes
 * that have died from `run`, a folder that this process has locked. */
void leftovers_remove(const char *run);

#endif
