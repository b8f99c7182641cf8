/* The stream's teacher as the base.  Its head and final states come with the
 * stream.  All functions die on damage. */
#ifndef EVALPPL_STREAM_BASE_H
#define EVALPPL_STREAM_BASE_H

#include "eval.h"

/* Make the stream's teacher the base of e.  The models of e must be open. */
void stream_base_open(struct eval *e);
void stream_base_free(struct stream_base *t);
/* Copy the head from the message `teacher`. */
void stream_base_head(struct eval *e, const struct msg *m);
/* Find the states in a batch; they are valid until the next batch is read. */
void stream_base_batch(struct eval *e, const struct msg *m);
/* Make room for the states of n predictions. */
void stream_base_room(struct eval *e, size_t n);
/* Copy the state of token i of the batch to prediction k. */
void stream_base_state(struct eval *e, size_t i, size_t k);

#endif
