/* Held-out batches (--eval) that are judged beside training.  Without --eval
 * the functions do nothing. */
#ifndef STUDENT_HELD_OUT_H
#define STUDENT_HELD_OUT_H

#include "feed.h"
#include "train/plan.h"
#include "train/step.h"

#include <stdio.h>

struct held_out {
    struct feed feed;
    char hash[33]; /* chain of the stream after its first batch */
    size_t T;
    size_t head; /* bytes of the teacher's head in the stream */
    struct loss_opt loss;
    struct step_judge *judge;
    FILE *log; /* RUN/held-out.tsv */
};

struct student;
/* Open the batches, when the losses of training are known.  Dies if they cannot
 * be judged beside it. */
void held_out_open(struct student *s);
/* After step_new: prepare to judge, and add its memory to *l. */
void held_out_plan(struct student *s, struct plan_load *l);
/* Open the log, and lead RUN/best to the checkpoint of the best evaluation. */
void held_out_begin(struct student *s);
/* After a step, before its checkpoint: judge if it is time, and note the result
 * in s->st.  0, or -1 and *e. */
int held_out_judge(struct student *s, struct err *e);
/* Has --patience come to its end? */
int held_out_over(const struct student *s);
/* Note the best evaluation, at the end. */
void held_out_tell(const struct student *s);
void held_out_close(struct student *s);

#endif
