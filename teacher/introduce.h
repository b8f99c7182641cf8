/* The `teacher` message. */
#ifndef TEACHER_INTRODUCE_H
#define TEACHER_INTRODUCE_H

#include "base/err.h"

struct teacher;
/* Does the teacher add tokens (--top, --sample)? */
int adds_tokens(const struct teacher *t);
/* Send the `teacher` message: configuration, hashes, and the head if the
 * student needs it.  Returns as msg_send. */
int send_self(struct teacher *t, struct err *e);

#endif
