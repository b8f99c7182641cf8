/*
 * Rounds of --sync-every.  In a round each rank takes the same number of steps
 * without sending anything; then all ranks exchange their weights
 * (train/outer.h).  Loss and norm of each step are gathered at the end of the
 * round, for rank 0 to log them.
 */
#ifndef STUDENT_ROUND_H
#define STUDENT_ROUND_H

#include "spikes.h"
#include "base/err.h"
#include "train/step.h"

#include <stddef.h>
#include <stdint.h>

struct student;

/* A step of a rank.  sum.n 0: nothing was scored, and the step had no
 * effect. */
struct round_step {
    struct loss_sum sum;
    struct spike spike;
    double lr;
    int skipped; /* --skip-spikes left it out */
};
struct round {
    struct round_step *step; /* [room], of which n are made */
    size_t n, room;
    uint64_t from; /* steps of the run before this round */
    double begun;  /* clock_now() when it began */
    int lost;      /* 1: a signal stopped a rank before the round's last step;
                    * the steps of the round are discarded */
};

/* Print notes on --sync-every.  Without the option do nothing. */
void round_note(const struct student *s);
/* Begin a round.  Until round_end a signal to stop is deferred. */
void round_begin(struct student *s);
/* Is there another step in the round?  0: the round is full, --steps are done,
 * or a signal has come and the rest of the round takes too long: then it is
 * lost. */
int round_goes_on(struct student *s);
/* Count a step of this rank. */
void round_add(struct student *s, const struct round_step *step);
/* Gather what the ranks have done, and log it, on all ranks.  0: s->round.n is
 * the number of steps, unless s->round.lost.  -1 and *e: the ranks have not
 * made the same steps, or a log cannot be written. */
int round_end(struct student *s, struct err *e);
void round_release(struct round *r);

#endif
