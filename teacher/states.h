/* Batches with what the teacher adds to them.  Only the states of one block are
 * in memory. */
#ifndef TEACHER_STATES_H
#define TEACHER_STATES_H

#include "base/err.h"
#include "msg/msg.h"

struct teacher;
/* Decide, by --hidden, of which blocks to send outputs, and how many blocks to
 * run.  Dies when there is nothing to add. */
void choose_taps(struct teacher *t);
/* Run t->batch and send it, by all ranks of the team; m is the message of the
 * rank that sends.  Returns as msg_send. */
int send_batch(struct teacher *t, const struct msg *m, struct err *e);
/* Take part in gathering blocks for other ranks, without a batch. */
void run_none(struct teacher *t);

#endif
