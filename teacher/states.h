/* Run batches through the model and send them with the teacher's tensors. Only
 * one block's states are in memory at a time. */
#ifndef TEACHER_STATES_H
#define TEACHER_STATES_H

#include "base/err.h"
#include "msg/msg.h"

struct teacher;
/* Choose from --hidden the blocks whose outputs are sent, and how many blocks
 * to run.  Dies if there is nothing to add. */
void choose_taps(struct teacher *t);
/* Run t->batch and send it; all ranks of the team call it.  m: the message, on
 * the rank that sends.  Returns as msg_send. */
int send_batch(struct teacher *t, const struct msg *m, struct err *e);
/* Without a batch, take part in gathering the blocks that other ranks run. */
void run_none(struct teacher *t);

#endif
