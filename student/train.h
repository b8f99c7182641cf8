/* The steps of a run, and its end. */
#ifndef STUDENT_TRAIN_H
#define STUDENT_TRAIN_H

struct student;
/* Train until the stream or --steps ends it; the exit status. */
int train(struct student *s);
/* After train has returned `status`, `wall` seconds after its start: write the
 * finished model and the closing line. */
void finish(struct student *s, int status, double wall);

#endif
