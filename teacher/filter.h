/* Pass the input streams on to the output, with the teacher's tensors added. */
#ifndef TEACHER_FILTER_H
#define TEACHER_FILTER_H

struct teacher;
/* Send the stream `input`, or each stream if the address names several, on to
 * --output with the tensors that the teacher adds. */
void filter_streams(struct teacher *t, const char *input);

#endif
