/* The streams that pass through teacher. */
#ifndef TEACHER_FILTER_H
#define TEACHER_FILTER_H

struct teacher;
/* Send the stream `input` on to --output, or several such streams, with what
 * the teacher adds. */
void filter_streams(struct teacher *t, const char *input);

#endif
