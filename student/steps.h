/* The steps of a run and the end of the run. */
#ifndef STUDENT_STEPS_H
#define STUDENT_STEPS_H

struct student;
/* Train until the input ends, --steps or --patience is reached, or a rank is
 * asked to stop; returns the exit status. */
int steps_run(struct student *s);
/* Write the finished model and the closing line.  status: what steps_run
 * returned; wall: seconds since steps_run was called. */
void steps_end(struct student *s, int status, double wall);

#endif
