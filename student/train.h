/* The steps of a run, and its end. */
#ifndef STUDENT_TRAIN_H
#define STUDENT_TRAIN_H

struct student;
/* Train until the stream ends, --steps or --patience is reached, or a rank is
 * asked to stop; returns the exit status. */
int train(struct student *s);
/* Write the finished model and the closing line.  status: returned by train;
 * wall: seconds since its start. */
void finish(struct student *s, int status, double wall);

#endif
