/* The streams that pass through teacher. */
#ifndef TEACHER_FILTER_H
#define TEACHER_FILTER_H

struct teacher;
/* Send the stream `input`, or each of several that it names, on to --output
 * with the tensors that the teacher adds. */
void filter_streams(struct teacher *t, const char *input);

#endif
