/* Evaluation on held-out batches (--eval) during training.  Without --eval the
 * functions do nothing. */
#ifndef STUDENT_HELD_OUT_H
#define STUDENT_HELD_OUT_H

#include "feed.h"
#include "train/plan.h"
#include "train/step.h"

#include <stdio.h>

struct held_out {
    struct feed feed;
    char hash[33]; /* hash chain of the stream to its first batch */
    size_t T;      /* tokens of a row in the first batch; later batches may
                    * not have more */
    size_t head;   /* bytes of the teacher's head, if the stream has it; or 0 */
    struct loss_opt loss;
    struct step_judge *judge;
    FILE *log; /* RUN/held-out.tsv */
};

struct student;
/* Open the batches.  Call it after the losses of training have been chosen.
 * Dies if the batches lack something that these losses need. */
void held_out_open(struct student *s);
/* Call it after step_new: prepares evaluation, and adds its memory to *l. */
void held_out_plan(struct student *s, struct plan_load *l);
/* Open the log, and point RUN/best to the checkpoint of the best evaluation. */
void held_out_begin(struct student *s);
/* Call it after a step of --eval-every, before its checkpoint: evaluates, and
 * records the result in s->st.  0, or -1 and *e. */
int held_out_judge(struct student *s, struct err *e);
/* Has --patience run out? */
int held_out_over(const struct student *s);
/* At the end, print a note of the best evaluation. */
void held_out_tell(const struct student *s);
void held_out_close(struct student *s);

#endif
